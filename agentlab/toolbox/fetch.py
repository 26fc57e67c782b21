"""``WebFetch``: the text of a page, and nothing from inside the house.

A model that may fetch any address may also be talked into fetching the ones that only your machine
can reach: a router, a cloud's metadata service, the notebook server itself. So a name is looked up
first, every address it stands for must be a public one, and the connection goes to the address
that was checked, not to the name (which might stand for another by then). Redirects are followed
by hand, each hop checked like the first. Time and size are bounded; the text is taken out of the
HTML by a library. Proxies from the environment are not used: they would look the name up again.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from agentlab.tools import Tool, ToolError, tool

MAX_BYTES = 2_000_000
TIMEOUT_S = 20.0
MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NO_TEXT = ["script", "style", "noscript", "template", "svg", "head"]
_LINES = [
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption",
    "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main",
    "nav", "ol", "p", "pre", "section", "table", "tr", "ul",
]  # fmt: skip


def web_fetch(*, allowed: Collection[str] = (), timeout_s: float = TIMEOUT_S) -> Tool:
    """``WebFetch``. ``allowed`` names hosts ("localhost", "10.0.0.7") that may be private ones."""

    @tool(name="WebFetch", is_read_only=True, permission="network")
    async def fetch(url: str) -> str:
        """Fetch a page over http or https and return its text, without markup."""
        try:
            async with asyncio.timeout(timeout_s):
                return await _fetch(url, frozenset(allowed))
        except TimeoutError:
            raise ToolError(f"{url} did not answer completely within {timeout_s:g} s.") from None

    made: Tool = fetch
    return made


async def _fetch(url: str, allowed: frozenset[str]) -> str:
    import httpx2

    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False) as client:
        for _ in range(MAX_REDIRECTS + 1):
            parts = split(url)
            address = await checked_address(parts, allowed)
            try:
                async with client.stream("GET", **_request(parts, address)) as response:
                    if response.status_code not in _REDIRECTS:
                        return await _text(url, response)
                    url = urljoin(url, response.headers.get("location", ""))
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                reason = str(error) or type(error).__name__
                raise ToolError(f"{url} could not be fetched: {reason}") from None
    raise ToolError(f"{url}: more than {MAX_REDIRECTS} redirects, so it was given up.")


def split(url: str) -> SplitResult:
    """The parts of a URL that may be fetched. Raises ToolError for any other."""
    try:
        parts = urlsplit(url.strip())
        parts.port  # noqa: B018 (raises ValueError if it is no number)
        host = host_of(parts)
    except ValueError as error:
        raise ToolError(f"{url} is not a URL that can be fetched: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ToolError(f"Only http and https addresses are fetched, not {url!r}.")
    if parts.username is not None or parts.password is not None:
        raise ToolError("A URL with a user name or password in it is not fetched.")
    return parts


def host_of(parts: SplitResult) -> str:
    """The host of a URL in ASCII, as it is looked up. Raises ValueError if it has no such form."""
    host = parts.hostname or ""
    return host if host.isascii() else host.encode("idna").decode()


async def checked_address(parts: SplitResult, allowed: Collection[str] = ()) -> str:
    """An address of the host, after all of them were judged. Raises ToolError if one is private."""
    host = host_of(parts)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host, parts.port or 0, type=socket.SOCK_STREAM
        )
    except OSError as error:
        raise ToolError(f"There is no address for {host}: {error.strerror or error}.") from None
    addresses = [str(entry[4][0]) for entry in found]
    private = [address for address in addresses if not is_public(address)]
    if private and host not in allowed:
        raise ToolError(
            f"{host} is {private[0]}, which is not a public address, so it was not fetched."
        )
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet, also by what it carries inside."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
        if ip in _NAT64:
            inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
        if not all(is_public(str(v4)) for v4 in inner if v4 is not None):
            return False
    return ip.is_global and not ip.is_multicast


def _request(parts: SplitResult, address: str) -> dict[str, Any]:
    """A request to the address that was checked, in the name of the host that was asked for."""
    host, literal = (f"[{h}]" if ":" in h else h for h in (host_of(parts), address))
    port = f":{parts.port}" if parts.port else ""
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return {
        "url": f"{parts.scheme}://{literal}{port}{path}",
        "headers": {
            "host": host + port,
            "user-agent": "agentlab",
            "accept": "text/html, text/*, application/json",
            "accept-encoding": "identity",  # what is packed cannot be bounded before it is unpacked
        },
        "extensions": {"sni_hostname": host_of(parts)},
    }


async def _text(url: str, response: Any) -> str:
    kind, _, rest = response.headers.get("content-type", "text/plain").partition(";")
    kind = kind.strip().lower()
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ToolError(f"{url} came compressed, though that was not asked for.")
    if not (kind.startswith("text/") or kind.endswith(("json", "xml"))):
        raise ToolError(f"{url} is {kind}, not text.")
    data, complete = bytearray(), True
    async for piece in response.aiter_raw():
        data += piece
        if len(data) > MAX_BYTES:
            complete = False
            break
    charset = rest.partition("charset=")[2].split(";")[0].strip(" \"'") or None
    text = await asyncio.to_thread(extract, bytes(data[:MAX_BYTES]), kind, charset)
    if response.status_code >= 400:
        raise ToolError(f"{url} answered {response.status_code}: {text[:500]}")
    return text if complete else f"{text}\n[only the first {MAX_BYTES} bytes were read]"


def extract(data: bytes, kind: str, charset: str | None = None) -> str:
    """The text of what was fetched: of HTML without markup, everything else as it is."""
    if "html" not in kind:
        try:
            return data.decode(charset or "utf-8", "replace")
        except LookupError:
            return data.decode("utf-8", "replace")
    import bs4

    page = bs4.BeautifulSoup(data, "html.parser", from_encoding=charset)
    title = page.title.get_text() if page.title else ""
    lines = (" ".join(line.split()) for line in [title, *_shown(page).splitlines()])
    return "\n".join(line for line in lines if line)


def _shown(page: Any) -> str:
    """The text of a page as it is shown, in one walk: a page may be nested as deep as it likes."""
    from bs4 import CData, NavigableString

    shown: list[str] = []
    path = [(iter(page), "")]  # open elements: what is left in them, and what ends them
    while path:
        rest, end = path[-1]
        node = next(rest, None)
        if node is None:
            path.pop()
            shown.append(end)
        elif isinstance(node, str):
            shown.append(node if type(node) in (NavigableString, CData) else "")  # no comment
        elif node.name not in _NO_TEXT:
            around = "\n" if node.name in _LINES else " " if node.name in ("td", "th") else ""
            shown.append(around)
            path.append((iter(node), around))
    return "".join(shown)

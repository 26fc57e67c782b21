"""Which hosts an address leads to, and whether a rule such as ``domain:example.com`` covers it.

One address has many spellings: upper case, a dot at the end, a port, ``user@`` in front, other
alphabets, an IP number written as one integer, a backslash that some programs take for a slash. A
``deny`` or ``ask`` rule counts every host that an address might mean, and the hosts below it; an
``allow`` rule counts one plain host, exactly. ``*.example.com`` stands for the hosts below. Where a
page redirects to is not known here. Built in chapter 05.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from urllib.parse import unquote, urlsplit

_PLAIN = re.compile(r"https?://[\w.\[\]:-]+(?:[/?#].*)?", re.ASCII | re.IGNORECASE | re.DOTALL)
_DOMAIN = re.compile(r"(?:\*\.)?(?:[\w-]+\.)*[\w-]+\.?|\[?[0-9a-fA-F:.]+\]?|\*")


def wrong_host(pattern: str) -> str | None:
    """Why a pattern of WebFetch makes no sense, or None."""
    if pattern == "*":
        return None
    kind, _, domain = pattern.partition(":")
    if kind != "domain":
        return "write WebFetch(domain:example.com)"
    return None if _DOMAIN.fullmatch(domain) else f"{domain!r} is not the name of a host"


def covers(pattern: str, url: str, *, generous: bool) -> bool:
    """Whether a rule is about the host of an address."""
    wanted = plain_host(pattern.removeprefix("domain:"))
    if generous:
        return any(_fits(wanted, host, below=True) for host in hosts(url))
    if not _PLAIN.fullmatch(url) or re.search(r"[\\\s\x00-\x1f]", url):
        return False
    found = hosts(url)
    return len(found) == 1 and _fits(wanted, found.pop(), below=False)


def hosts(url: str) -> set[str]:
    """Every host that an address might mean."""
    url = "".join(c for c in url if c >= " ").strip()
    if not re.match(r"[\w+.-]+:", url):
        url = f"http://{url.lstrip('/')}"
    found = set()
    for spelling in (url, url.replace("\\", "/")):
        try:
            host = urlsplit(spelling).hostname
        except ValueError:
            continue
        if host:
            found |= {plain_host(host), plain_host(unquote(host))}
    return found


def plain_host(host: str) -> str:
    """A host in the one spelling in which two can be compared."""
    host = unicodedata.normalize("NFKC", host).casefold().replace("。", ".").strip("[]").rstrip(".")
    if re.fullmatch(r"[0-9a-fx.]+", host):  # 2130706433, 0x7f.1 and 127.0.0.1 are one address
        try:
            return socket.inet_ntoa(socket.inet_aton(host))
        except OSError:
            pass
    try:
        address = ipaddress.ip_address(host)
        return str(getattr(address, "ipv4_mapped", None) or address)
    except ValueError:
        pass
    try:
        return host if host.startswith("*") else host.encode("idna").decode()
    except UnicodeError:
        return host


def _fits(wanted: str, host: str, *, below: bool) -> bool:
    if wanted == "*":
        return True
    if wanted.startswith("*."):
        return host.endswith(wanted[1:]) or (below and host == wanted[2:])
    return host == wanted or (below and host.endswith(f".{wanted}"))

"""Pages are fetched as text, in bounds, and never from inside the house."""

import asyncio
import gzip
import http.server
import socket
import threading
import time

import pytest

from agentlab.toolbox import web_fetch
from agentlab.toolbox.fetch import MAX_BYTES, extract, is_public
from agentlab.tools import ToolError

PAGE = b"""<!doctype html><html><head><title>A  page</title><style>p {}</style></head>
<body><script>var hidden = 1</script><h1>Rain</h1><p>It <b>rained</b> &amp; stopped.</p></body>"""


class Site(http.server.BaseHTTPRequestHandler):
    """A small site; what it was asked for is kept in ``asked``."""

    asked: list[tuple[str, str]] = []  # noqa: RUF012

    def do_GET(self):
        self.asked.append((self.path, self.headers["host"]))
        status, kind, body, more = self.page()
        self.send_response(status)
        self.send_header("content-type", kind)
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def page(self):
        port = self.server.server_address[1]
        match self.path.split("?")[0]:
            case "/":
                return 200, "text/html; charset=utf-8", PAGE, {}
            case "/latin":
                return 200, "text/plain; charset=latin-1", b"caf\xe9", {}
            case "/json":
                return 200, "application/json", b'{"a": 1}', {}
            case "/image":
                return 200, "image/png", b"\x89PNG", {}
            case "/zip":
                return 200, "text/plain", gzip.compress(b"x" * 10**6), {"content-encoding": "gzip"}
            case "/long":
                return 200, "text/plain", b"x" * (MAX_BYTES + 10**6), {}
            case "/slow":
                time.sleep(1)
                return 200, "text/plain", b"late", {}
            case "/moved":
                return 301, "text/plain", b"", {"location": "/?from=moved"}
            case "/inside":
                return 302, "text/plain", b"", {"location": f"http://127.0.0.2:{port}/"}
            case "/file":
                return 302, "text/plain", b"", {"location": "file:///etc/passwd"}
            case "/round":
                return 307, "text/plain", b"", {"location": "/round"}
        return 404, "text/plain", b"nothing here", {}

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    """The address of a site on this machine."""
    Site.asked.clear()
    with http.server.ThreadingHTTPServer(("0.0.0.0", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://localhost:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def fetch(url, allowed=("localhost",), **more):
    return asyncio.run(web_fetch(allowed=allowed, **more).function(url=url))


def test_a_page_comes_as_text(site):
    text = fetch(site + "/?day=1")
    assert text == "A page\nRain\nIt rained & stopped."
    assert Site.asked == [("/?day=1", site.removeprefix("http://"))]


@pytest.mark.parametrize(
    ("path", "text"),
    [("/latin", "café"), ("/json", '{"a": 1}'), ("/moved", "A page\nRain\nIt rained & stopped.")],
)
def test_other_text_comes_as_it_is_and_redirects_are_followed(site, path, text):
    assert fetch(site + path) == text


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/image", "is image/png, not text"),
        ("/zip", "compressed"),
        ("/nowhere", "answered 404: nothing here"),
        ("/file", "Only http and https"),
        ("/round", "more than 5 redirects"),
        ("/inside", "127.0.0.2, which is not a public address"),
    ],
)
def test_what_is_not_fetched_says_why(site, path, says):
    with pytest.raises(ToolError, match=says):
        fetch(site + path)
    assert all(host == site.removeprefix("http://") for _, host in Site.asked)


def test_size_and_time_are_bounded(site):
    text = fetch(site + "/long")
    assert text.endswith(f"[only the first {MAX_BYTES} bytes were read]")
    assert len(text) < MAX_BYTES + 100
    with pytest.raises(ToolError, match=r"within 0\.2 s"):
        fetch(site + "/slow", timeout_s=0.2)


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.0.0.1", "2130706433", "0x7f.1", "017700000001", "127.1", "[::1]", "0.0.0.0",
     "[::ffff:127.0.0.1]", "[::]", "169.254.169.254", "10.1.2.3", "[fe80::1]", "[fd00::1]"],
)  # fmt: skip
def test_private_addresses_are_refused_however_they_are_written(site, host):
    port = site.rpartition(":")[2]
    with pytest.raises(ToolError, match="not a public address"):
        fetch(f"http://{host}:{port}/", allowed=())
    assert Site.asked == []


@pytest.mark.parametrize(
    "url",
    ["", "localhost", "ftp://example.com/", "file:///etc/passwd", "http://", "//example.com",
     "http://user:pw@example.com/", "javascript:alert(1)", "http://example.com:99999999/",
     "http://[::1", "gopher://x"],
)  # fmt: skip
def test_other_addresses_are_refused(url):
    with pytest.raises(ToolError):
        fetch(url)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:4700::1111", True),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("fe80::1%eth0", False),
        ("192.168.1.1", False),
        ("255.255.255.255", False),
    ],
)
def test_which_addresses_are_public(address, public):
    assert is_public(address) == public


def test_the_connection_goes_to_the_address_that_was_checked(site, monkeypatch):
    """A name that stands for another address the second time it is looked up gains nothing."""
    port = int(site.rpartition(":")[2])
    looked_up = []
    real = socket.getaddrinfo

    def rebinding(host, *arguments, **more):
        if host == "rebind.test":
            looked_up.append(host)
            host = "127.0.0.1" if len(looked_up) == 1 else "127.0.0.9"
        return real(host, *arguments, **more)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    assert "Rain" in fetch(f"http://rebind.test:{port}/", allowed=("rebind.test",))
    assert looked_up == ["rebind.test"]
    assert Site.asked == [("/", f"rebind.test:{port}")]


def test_a_public_name_among_private_addresses_is_refused(monkeypatch):
    entries = [(2, 1, 6, "", (address, 80)) for address in ("93.184.215.14", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: entries)
    with pytest.raises(ToolError, match=r"10\.0\.0\.1, which is not"):
        fetch("http://both.test/")


def test_text_is_taken_out_of_broken_and_deep_html():
    assert extract(b"<p>a<p>b</i></div>", "text/html") == "a\nb"
    assert extract(b"<div>" * 20_000 + b"deep", "text/html") == "deep"
    assert extract(b"<table><tr><td>a<td>b<tr><td>c", "text/html") == "a b\nc"
    assert extract(b"a<!-- b --><![CDATA[c]]><br>d<script>e</script> &amp; f", "text/html") == (
        "ac\nd & f"
    )
    assert extract("<p>caf\u00e9".encode("latin-1"), "text/html", "latin-1") == "caf\u00e9"
    assert extract(b"x", "text/plain", "no-such-charset") == "x"

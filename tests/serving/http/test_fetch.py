"""Nothing inside the network is fetched: `fathom.serving.http.fetch`."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.inside_server import PUBLIC, TARGETS, InsideServer, resolve_host
from tests.serving.http.conftest import make_settings, open_client

from fathom.ingest.sources.fetch import is_public
from fathom.serving.http.app import create_app
from fathom.serving.http.fetch import Fetcher
from fathom.serving.http.problems import Problem

OK = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


def make_fetcher(inside: InsideServer, most_bytes: int = 1000) -> Fetcher:
    """Return a fetcher for every port; its public address is the server inside, as if it were
    outside.
    """

    def connect(address: str, port: int, seconds: float) -> socket.socket:
        target = ("127.0.0.1", inside.port) if address == PUBLIC else (address, port)
        return socket.create_connection(target, timeout=seconds)

    ports = frozenset({80, 443, inside.port})
    return Fetcher(most_bytes=most_bytes, ports=ports, resolve=resolve_host, connect=connect)


def test_none_of_forty_targets_inside_is_reached(
    inside: InsideServer, count_probes: Callable[[int], None]
) -> None:
    assert len(TARGETS) >= 40
    for target in TARGETS:
        count_probes(1)
        with pytest.raises(Problem) as refused:
            make_fetcher(inside).fetch(target.format(port=inside.port))
        assert refused.value.status in {422, 502}, target
    assert inside.asked == []


def test_no_redirection_from_outside_reaches_inside(
    inside: InsideServer, count_probes: Callable[[int], None]
) -> None:
    targets = [target for target in TARGETS if target.isascii() and "\t" not in target]
    for target in targets:
        count_probes(1)
        url = f"http://public.example/to/{target.format(port=inside.port)}"
        with pytest.raises(Problem):
            make_fetcher(inside).fetch(url)
    assert all(path.startswith("/to/") for path in inside.asked)


def test_a_public_address_is_fetched_with_its_redirections_and_a_name(inside: InsideServer) -> None:
    fetched = make_fetcher(inside).fetch("http://public.example/to/http://public.example/a/guide?7")
    assert (fetched.name, fetched.content) == ("guide.html", b"x" * 7)
    with pytest.raises(Problem, match="redirections"):
        make_fetcher(inside).fetch(
            "http://public.example"
            + "/to" * 1
            + "/http://public.example" * 1
            + "/to/http://public.example" * 4
        )
    with pytest.raises(Problem, match="more than"):
        make_fetcher(inside, most_bytes=10).fetch("http://public.example/a?11")


def test_ports_other_than_those_of_the_web_are_refused(inside: InsideServer) -> None:
    with pytest.raises(Problem, match="port"):
        Fetcher(most_bytes=10).fetch(f"http://public.example:{inside.port}/")


@pytest.mark.parametrize("address", [PUBLIC, "2606:2800:220:1:248:1893:25c8:1946"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("fec0::1", "fec0:0:0:ffff::1", "3fff::1", "3fff:fff::1", "5f00::1", "100:0:0:1::1"),
        *("64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "::ffff:127.0.0.1", "::127.0.0.1"),
        *("2002:7f00:1::", "2001:0:7f00:1::1", "2001:db8::1", "ff02::1", "fe80::1%eth0", "::"),
    ],
)
def test_addresses_of_ipv6_inside_or_for_examples_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_a_server_fetches_nothing_unless_configured(client: TestClient) -> None:
    reply = client.post("/api/v1/documents/from-url", json={"url": "http://example.org/"})
    assert reply.status_code == 403
    assert reply.json()["type"] == "urn:fathom:problem:fetching_off"


@pytest.mark.parametrize("head", ["Connection: close\r\n", "Content-Length: 5\r\n"])
def test_a_reply_is_read_to_its_end_however_the_end_is_marked(head: str) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(f"{OK}{head}\r\nhello".encode())
        theirs.shutdown(socket.SHUT_WR)
        fetcher = Fetcher(most_bytes=9, resolve=lambda *_: [PUBLIC], connect=lambda *_: ours)
        assert fetcher.fetch("http://brief.example/").content == b"hello"
    assert ours.fileno() == -1


def test_a_connection_without_a_reply_is_closed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(b"no HTTP\r\n\r\n")
        fetcher = Fetcher(most_bytes=1, resolve=lambda *_: [PUBLIC], connect=lambda *_: ours)
        with pytest.raises(Problem, match="gives no file: BadStatusLine"):
            fetcher.fetch("http://odd.example/")
    assert ours.fileno() == -1


@pytest.mark.parametrize(
    "begin", ["", "HTTP/1.1 200 OK\r\nX: ", f"{OK}Content-Length: 999\r\n\r\n"]
)
def test_a_fetch_ends_in_time_although_its_bytes_drip(begin: str) -> None:
    ours, theirs = socket.socketpair()
    over = threading.Event()

    def drip() -> None:
        theirs.sendall(begin.encode())
        # A fetch without an end would go on as long as the dripping, and get a different error.
        for _ in range(100):
            if over.wait(0.05):
                break
            with suppress(OSError):
                theirs.sendall(b"x")
        theirs.close()

    thread = threading.Thread(target=drip)
    thread.start()
    fetcher = Fetcher(
        most_bytes=1000, resolve=lambda *_: [PUBLIC], connect=lambda *_: ours, seconds=0.3
    )
    try:
        with pytest.raises(Problem, match=r"slow\.example gives no file: took longer than 0\.3 s"):
            fetcher.fetch("http://slow.example/a.txt")
        assert ours.fileno() == -1
        assert thread.is_alive()
    finally:
        over.set()
        thread.join()


def test_only_some_fetches_run_at_the_same_time(corpus: Path, tmp_path: Path) -> None:
    settings = make_settings(corpus, tmp_path, **{"offline": False, "serve.fetch_urls": True})
    body = {"url": "http://127.0.0.1/"}
    with open_client(create_app(settings)) as client:
        path = "/api/v1/documents/from-url"
        assert client.post(path, json=body).json()["title"] == "url refused"
        client.app.state.fetching.close()  # type: ignore[attr-defined]
        assert client.post(path, json=body).status_code == 503

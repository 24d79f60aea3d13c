"""WebDAV servers: hosts inside, redirections and names that turn inside are not reached."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.certificates import make_certificate
from tests.ingest.sources.test_remote import make_options
from tests.inside_server import (
    TARGETS,
    InsideServer,
    Redirector,
    resolve_host,
    serve_redirector,
)
from tests.source_worlds import PASSWORD, USER, make_webdav_world, open_server

from fathom.errors import SourceUnavailable
from fathom.ingest.sources.fetch import AddressGuard, AddressRefusal, WayOut

pytest.importorskip("webdav4", reason="the extra sources is not installed")

import httpx

from fathom.ingest.sources.guarded_transport import GuardedTransport
from fathom.ingest.sources.remote import RemoteSource, open_webdav

OUTSIDE = "127.0.0.1"
"""The address that a test takes for a public one."""


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take `OUTSIDE` for a public address, and no other one."""
    monkeypatch.setattr("fathom.ingest.sources.fetch.is_public", lambda one: one == OUTSIDE)


def list_names(source: RemoteSource) -> list[str]:
    """Return the names of all objects, and close the source."""
    try:
        return [item.name for item in source.list_objects()]
    finally:
        source.close()


def test_no_server_inside_is_reached_that_was_not_allowed(
    inside: InsideServer,
    tmp_path: Path,
    count_probes: Callable[[int], None],
) -> None:
    guard = AddressGuard(network=WayOut(resolve=resolve_host))
    with httpx.Client(transport=GuardedTransport(guard)) as client:
        for target in TARGETS:
            count_probes(1)
            with pytest.raises((AddressRefusal, httpx.HTTPError, httpx.InvalidURL)):
                client.get(target.format(port=inside.port))
    source = open_webdav(f"webdav://127.0.0.1:{inside.port}/team", make_options(tmp_path))
    with pytest.raises(SourceUnavailable, match=r"127\.0\.0\.1 has .* needs --allow-private$"):
        list_names(source)
    assert inside.asked == []


def test_no_redirection_of_a_server_reaches_inside(
    inside: InsideServer,
    tmp_path: Path,
    count_probes: Callable[[int], None],
) -> None:
    options = make_options(tmp_path, allow_private=True)
    with serve_redirector() as port:
        source = open_webdav(f"webdav://{OUTSIDE}:{port}/team", options)
        for target in TARGETS:
            if target.isprintable():
                count_probes(1)
                Redirector.target = target.format(port=inside.port)
                with pytest.raises(SourceUnavailable):
                    list(source.list_objects())
        source.close()
    assert inside.asked == []


@pytest.mark.usefixtures("outside")
def test_a_name_that_turns_inside_is_not_followed(
    inside: InsideServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lookups: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        lookups.append(host)
        return [OUTSIDE if len(lookups) == 1 else "127.0.0.2"]

    with open_server(make_webdav_world(tmp_path / "docs"), monkeypatch) as world:
        (tmp_path / "docs" / "a").mkdir()
        options = make_options(tmp_path, user=USER, password=PASSWORD)
        url = f"webdav://dav.example:{world.port}/team"
        source = open_webdav(url, options, WayOut(resolve=resolve))
        with pytest.raises(SourceUnavailable, match=r"dav\.example has an address that is not"):
            list_names(source)
        assert lookups == ["dav.example"] * 2
        lookups.clear()
        (tmp_path / "docs" / "a").rmdir()
        (tmp_path / "docs" / "a.md").write_text("# A\n")
        source = open_webdav(url, options, WayOut(resolve=resolve))
        assert list_names(source) == ["a.md"]  # the system knows no such name
    assert inside.asked == []


@pytest.mark.usefixtures("outside")
def test_the_certificate_must_be_that_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path / "server.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    network = WayOut(resolve=lambda _host, _port: [OUTSIDE])
    with serve_redirector(str(certificate)) as port:
        # The name is that of the certificate; encryption is not left.
        Redirector.target = f"http://localhost:{port}/team"
        for host, message in (
            ("localhost", "redirected to another host, port or scheme"),
            ("dav.example", "CERTIFICATE_VERIFY_FAILED"),
        ):
            source = open_webdav(f"webdavs://{host}:{port}/team", make_options(tmp_path), network)
            with pytest.raises(SourceUnavailable, match=message):
                list_names(source)


def test_the_proxy_of_the_environment_is_the_way_out(
    inside: InsideServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", f"127.0.0.1:{inside.port}")
    source = open_webdav("webdav://dav.example/team", make_options(tmp_path))
    with pytest.raises(SourceUnavailable):
        list_names(source)
    assert inside.asked == ["http://dav.example/team"]
    monkeypatch.setenv("no_proxy", "dav.example")
    network = WayOut(resolve=lambda _host, _port: ["10.0.0.1"])
    source = open_webdav("webdav://dav.example/team", make_options(tmp_path), network)
    with pytest.raises(SourceUnavailable, match="not public"):
        list_names(source)

"""Sources on servers: what they refuse, and secrets that appear nowhere."""

import http.server
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.certificates import make_certificate
from tests.inside_server import PUBLIC, TARGETS, resolve_host
from tests.source_worlds import (
    PASSWORD,
    USER,
    BucketWorld,
    ImapWorld,
    ServerWorld,
    make_sftp_world,
    make_webdav_world,
    open_server,
)

from fathom.documents.discover import FileFilter
from fathom.errors import FathomError, SourceUnavailable, UsageError
from fathom.ingest.sources.base import SourceOptions
from fathom.ingest.sources.fetch import WayOut
from fathom.ingest.sources.kinds import open_source
from fathom.ingest.sources.remote import explain_errors, open_sftp
from fathom.testing import make_engine


def make_options(folder: Path, **values: Any) -> SourceOptions:
    fixed: dict[str, Any] = {"name": "a", "file_filter": FileFilter(), "most_bytes": 1 << 20}
    return SourceOptions(folder=folder, **fixed, **values)


@pytest.mark.parametrize(
    "url", ["s3://bucket/a", "webdavs://example.org/a", "sftp://h/a", "imaps://h/INBOX"]
)
def test_offline_no_server_is_named(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="offline"):
        open_source(url, make_options(tmp_path, offline=True))
    with pytest.raises(UsageError, match="no host"):
        open_source(url.partition("://")[0] + "://", make_options(tmp_path))


@pytest.mark.parametrize(
    ("url", "package"),
    [
        ("s3://bucket/a", "s3fs"),
        ("webdavs://h/a", "webdav4"),
        ("sftp://h/a", "sshfs"),
        ("imaps://h/INBOX", "imapclient"),
    ],
)
def test_a_missing_package_is_named_with_its_command(
    url: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fathom.ingest.sources.remote.find_spec", lambda name: name != package or None
    )
    with pytest.raises(UsageError, match=r"pip install 'fathom-qa\[sources\]'"):
        open_source(url, make_options(tmp_path))


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """A handler that writes no log."""

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@contextmanager
def open_http_server(handler: type[QuietHandler]) -> Iterator[str]:
    """Yield the address of a server."""
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def redirecting() -> Iterator[str]:
    """Return the address of a server that sends every request to another host."""

    class Handler(QuietHandler):
        def do_PROPFIND(self) -> None:
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.2:9/latest/meta-data")
            self.end_headers()

    with open_http_server(Handler) as address:
        yield address


def test_a_server_that_redirects_to_another_host_is_not_followed(
    redirecting: str, tmp_path: Path
) -> None:
    pytest.importorskip("webdav4", reason="the extra sources is not installed")
    options = make_options(tmp_path, allow_private=True)
    source = open_source(f"webdav://{redirecting}/team", options)
    with pytest.raises(SourceUnavailable, match="another host"):
        list(source.list_objects())
    source.close()


def test_names_that_look_like_parts_of_addresses_are_read_by_webdav(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wsgidav", reason="wsgidav, the server of the tests, is not installed")
    pytest.importorskip("webdav4", reason="the extra sources is not installed")
    texts = {name: f"Text of {name}." for name in ("no. #1/a?.md", "100% é.md", "b%41;x=1.md")}
    with open_server(make_webdav_world(tmp_path / "docs"), monkeypatch) as world:
        world.write(texts)
        options = make_options(tmp_path, user=USER, password=PASSWORD, allow_private=True)
        source = open_source(world.url, options)
        for item in source.list_objects():
            source.fetch(item, tmp_path / "fetched")
            assert (tmp_path / "fetched").read_text() == texts.pop(item.name)
        source.close()
    assert texts == {}


LATIN_FOLDERS = {
    "/t%E9am": ("/t%E9am/caf%E8", "/t%E9am/caf%E9", "/t%E9am/%FF.md"),
    "/t%E9am/caf%E8": ("/t%E9am/caf%E8/a.md",),
    "/t%E9am/caf%E9": ("/t%E9am/caf%E9/a.md", "/t%E9am/caf%E9/caf%C3%A9.md"),
}
"""The members of each folder of a server whose names are in Latin-1."""


class LatinHandler(QuietHandler):
    """A WebDAV server whose names are in Latin-1; the text of a file is its path."""

    def do_PROPFIND(self) -> None:
        """List a folder or a file."""
        path = self.path.rstrip("/")
        members = (path, *LATIN_FOLDERS.get(path, ()))
        if path not in LATIN_FOLDERS and not path.endswith(".md"):
            self.send_error(404)
            return
        replies = "".join(map(describe_member, members))
        self.reply(207, f'<D:multistatus xmlns:D="DAV:">{replies}</D:multistatus>')

    def do_GET(self) -> None:
        """Send the path of a file."""
        self.reply(200, self.path)

    def do_HEAD(self) -> None:
        """Send the headers of a file."""
        self.do_GET()

    def reply(self, status: int, text: str) -> None:
        """Send a text."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())


def describe_member(path: str) -> str:
    """Return the properties of a file or a folder."""
    is_folder = path in LATIN_FOLDERS
    kind = "<D:collection/>" if is_folder else ""
    size = f"<D:getcontentlength>{len(path)}</D:getcontentlength>"
    properties = f"<D:resourcetype>{kind}</D:resourcetype>{'' if is_folder else size}"
    href = f"<D:href>{path}{'/' if is_folder else ''}</D:href>"
    return f"<D:response>{href}<D:propstat><D:prop>{properties}</D:prop></D:propstat></D:response>"


def test_names_of_a_webdav_server_that_are_not_utf8_are_read(tmp_path: Path) -> None:
    pytest.importorskip("webdav4", reason="the extra sources is not installed")
    options = make_options(tmp_path, allow_private=True)
    texts = {}
    with open_http_server(LatinHandler) as address:
        source = open_source(f"webdav://{address}/t%E9am", options)
        for item in source.list_objects():
            source.fetch(item, tmp_path / "fetched")
            texts[item.name] = (tmp_path / "fetched").read_text()
            assert item.address == f"http://{address}{texts[item.name]}"
        source.close()
    assert texts == {
        "caf\\xe8/a.md": "/t%E9am/caf%E8/a.md",
        "caf\\xe9/a.md": "/t%E9am/caf%E9/a.md",
        "caf\\xe9/caf\u00e9.md": "/t%E9am/caf%E9/caf%C3%A9.md",
        "\\xff.md": "/t%E9am/%FF.md",
    }


def test_a_host_whose_key_is_unknown_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sshfs", reason="the extra sources is not installed")
    monkeypatch.setenv("HOME", str(tmp_path / "stranger"))
    with open_server(make_sftp_world(tmp_path / "docs", tmp_path / "home"), monkeypatch) as world:
        options = make_options(tmp_path / "kept", user=USER, password=PASSWORD, **world.options)
        source = open_source(world.url, options)
        with pytest.raises(SourceUnavailable, match="ost key"):
            list(source.list_objects())
        source.close()


def test_an_ssh_server_inside_must_be_allowed_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sshfs", reason="the extra sources is not installed")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    network = WayOut(resolve=resolve_host, connect=connect_nowhere)
    hosts = {urlsplit(target).hostname for target in TARGETS if target.startswith("http")}
    for host in sorted(filter(None, hosts)):
        source = open_sftp(f"sftp://ana@{write_host(host)}/a", make_options(tmp_path), network)
        with pytest.raises(SourceUnavailable, match=r"is not public; .* --allow-private"):
            list(source.list_objects())


def connect_nowhere(address: str, port: int, _seconds: float) -> socket.socket:
    raise AssertionError(f"{address} port {port} is reached")


def write_host(host: str) -> str:
    """Return a host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def test_the_connection_to_an_ssh_server_goes_to_the_checked_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sshfs", reason="the extra sources is not installed")
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    with open_server(make_sftp_world(tmp_path / "docs", home), monkeypatch) as world:
        (tmp_path / "docs" / "a.md").write_text("# A\n")
        known_hosts = home / ".ssh" / "known_hosts"
        known_hosts.write_text(known_hosts.read_text().replace("127.0.0.1", "files.example"))
        lookups: list[tuple[str, int]] = []

        def connect(address: str, _port: int, seconds: float) -> socket.socket:
            lookups.append((address, world.port))
            return socket.create_connection(("127.0.0.1", world.port), seconds)

        network = WayOut(resolve=resolve_public, connect=connect)
        options = make_options(tmp_path / "kept", user=USER, password=PASSWORD)
        source = open_sftp(f"sftp://files.example:{world.port}/", options, network)
        assert [item.name for item in source.list_objects()] == ["a.md"]
        source.close()
        assert lookups == [(PUBLIC, world.port)]
        # The configuration of SSH may name the host of an alias, which is checked in its place.
        (home / ".ssh" / "config").write_text("Host files\n  HostName private.example\n")
        network = WayOut(resolve=resolve_host, connect=connect_nowhere)
        source = open_sftp("sftp://files/", options, network)
        with pytest.raises(SourceUnavailable, match=r"private\.example has an address that is not"):
            list(source.list_objects())
        # So may it name a program as the way, which is the operator's own.
        (home / ".ssh" / "config").write_text("Host files\n  ProxyCommand echo no server of SSH\n")
        source = open_sftp("sftp://files/", options, network)
        with pytest.raises(SourceUnavailable, match="onnection"):
            list(source.list_objects())


def test_a_closed_connection_is_named_and_not_a_pipe() -> None:
    with (
        pytest.raises(SourceUnavailable, match=r"sftp://h/: .*the connection was closed by"),
        explain_errors("sftp://h/"),
    ):
        raise BrokenPipeError(32, "Broken pipe")


def resolve_public(_host: str, _port: int) -> list[str]:
    return [PUBLIC]


def open_world(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ServerWorld:
    """Start a server of a kind whose source needs a password."""
    package = {"webdav": "wsgidav", "bucket": "moto", "sftp": "sshfs", "imaps": "pymap"}[kind]
    pytest.importorskip(package, reason=f"{package} is not installed")
    if kind == "webdav":
        return make_webdav_world(folder / "docs")
    if kind == "imaps":
        certificate = make_certificate(folder / "server.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        return ImapWorld(folder / "docs", certificate)
    if kind == "sftp":
        monkeypatch.setenv("HOME", str(folder / "home"))
        return make_sftp_world(folder / "docs", folder / "home")
    world = BucketWorld(folder / "docs")
    monkeypatch.setenv("AWS_ENDPOINT_URL", world.endpoint)
    return world


@pytest.mark.parametrize(
    "kind",
    [
        "webdav",
        "imaps",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("bucket", "sftp")),
    ],
)
def test_a_password_is_in_no_file_log_or_error(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    messages = []
    with open_server(open_world(kind, tmp_path, monkeypatch), monkeypatch) as world:
        world.write({"a.md": "# Fees\n\nA mooring permit costs 40 crowns a year.\n"})
        with make_engine(tmp_path / "index") as engine:
            secret_url = f"{kind}://{USER}:{PASSWORD}@example.org/team"
            with pytest.raises(FathomError) as refused:
                engine.sources.add(secret_url)
            messages.append(str(refused.value))
            engine.sources.add(world.url, name="world", **world.options)
            assert engine.sources.sync("world").ingested.new == 1
            engine.ask("What does a mooring permit cost?")
            monkeypatch.setenv("SOURCE_WORLD_PASSWORD", f"{PASSWORD}-wrong")
            messages.append(engine.sources.sync("world").fault)
            world.stop()
            messages.append(engine.sources.sync("world").fault)
            messages += [str(source) for source in engine.sources.list()]
    assert messages[2]
    assert messages[1] or kind == "bucket"  # the S3 server of the tests checks no password
    messages += [record.getMessage() for record in caplog.records]
    assert not [message for message in messages if PASSWORD in message]
    files = [file for file in (tmp_path / "index").rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if PASSWORD.encode() in file.read_bytes()]

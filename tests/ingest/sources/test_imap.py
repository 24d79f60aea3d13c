"""Folders of IMAP servers: what names a message, what is refused, and servers that lie."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count, repeat
from pathlib import Path

import pytest
from tests.certificates import make_certificate
from tests.source_worlds import PASSWORD, USER, ImapWorld, check_reply, open_server

from fathom.documents.discover import FileFilter
from fathom.errors import SourceUnavailable, UsageError
from fathom.ingest.sources import imap
from fathom.ingest.sources.base import ObjectFailure, SourceOptions
from fathom.ingest.sources.fetch import WayOut
from fathom.ingest.sources.imap import ImapSource
from fathom.testing import make_engine

pytest.importorskip("imapclient", reason="the extra sources is not installed")
Reply = Iterable[bytes] | Callable[[], Iterable[bytes]]
"""The lines of a reply; the last one begins with its status."""
HEADS = (
    b"* 1 FETCH (UID 5 FLAGS (\\Seen) BODY[HEADER.FIELDS (MESSAGE-ID)] {21}\r\n"
    b"Message-ID: <a@x>\r\n\r\n)\r\n",
    b'* 1 FETCH (FLAGS (\\Seen "(" work))\r\n',
    b'* 2 FETCH (BODY[HEADER.FIELDS ("MESSAGE-ID")] "" FLAGS () UID 9)\r\n',
    b"* 3 FETCH (UID 11 BODY[HEADER.FIELDS (MESSAGE-ID)] NIL FLAGS ())\r\n",
    b"OK done\r\n",
)
CONTENT = [b"* 1 FETCH (UID 5 BODY[] {3}\r\nOne)\r\n", b"OK done\r\n"]
FIXED: Mapping[str, Reply] = {
    "CAPABILITY": [b"* CAPABILITY IMAP4rev1\r\n", b"OK done\r\n"],
    "LOGIN": [b"OK done\r\n"],
    "EXAMINE": [b"* 3 EXISTS\r\n", b"* OK [UIDVALIDITY 7] numbers\r\n", b"OK done\r\n"],
    "FETCH": HEADS,
    "UID": CONTENT,
    "LOGOUT": [b"* BYE\r\n", b"OK done\r\n"],
}


@pytest.fixture(scope="module")
def certificate_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("certificate") / "server.pem")


@pytest.fixture
def certificate(certificate_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate_file))
    return certificate_file


@pytest.fixture
def world(
    tmp_path: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ImapWorld]:
    pytest.importorskip("pymap", reason="pymap, the mail server of the tests, is missing")
    with open_server(ImapWorld(tmp_path / "docs", certificate), monkeypatch) as server:
        assert isinstance(server, ImapWorld)
        yield server


def make_options(**values: object) -> SourceOptions:
    fixed = {"name": "world", "folder": Path("kept"), "file_filter": FileFilter()}
    given = {"most_bytes": 1 << 20, "allow_private": True, "password": PASSWORD}
    return SourceOptions(**{**fixed, **given, **values})  # type: ignore[arg-type]


@contextmanager
def open_imap(url: str, network: WayOut | None = None, **values: object) -> Iterator[ImapSource]:
    source = ImapSource(url, make_options(**values), network)
    try:
        yield source
    finally:
        source.close()


def append(world: ImapWorld, *messages: str, folder: str = "INBOX") -> None:
    with world.open_inbox() as session:
        for message in messages:
            content = message.replace("\n", "\r\n").encode()
            check_reply(session.append(folder, "", "", content))


def test_each_message_has_an_address_of_its_own(world: ImapWorld) -> None:
    append(
        world,
        "Message-ID: <a/b#c@x>\n\nOne.",
        "Message-ID: <a/b#c@x>\n\nTwo.",
        "Subject: none\n\nThree.",
        "Message-ID:\n <.long@x>\n\nFour.",
        f"Message-ID: <{'x' * 900}@x>\n\nFive.",
    )
    with open_imap(f"{world.url}/") as source:
        items = list(source.list_objects())
    stems = [item.address.removeprefix(f"{world.url}/") for item in items]
    assert stems[:2] == ["a%2Fb%23c@x", "a%2Fb%23c@x-2"]
    assert stems[2].startswith("message-")
    assert stems[3] == "%2Elong@x"
    assert len(stems[4]) == 32
    assert len({item.token for item in items}) == 5


def test_a_message_that_is_marked_as_deleted_is_gone_and_none_is_marked_as_read(
    world: ImapWorld, tmp_path: Path
) -> None:
    append(world, "Message-ID: <a>\n\nOne.", "Message-ID: <b>\n\nTwo.")
    with world.open_inbox() as session:
        check_reply(session.store("1", "+FLAGS", r"(\Deleted)"))
    with open_imap(world.url) as source:
        (item,) = source.list_objects()
        source.fetch(item, tmp_path / "b")
    assert item.name == "b.eml"
    assert (tmp_path / "b").read_text().endswith("\n\nTwo.")
    with world.open_inbox() as session:
        assert b"Seen" not in check_reply(session.fetch("2", "(FLAGS)"))


def test_a_folder_may_have_any_name(world: ImapWorld) -> None:
    with world.open_inbox() as session:
        check_reply(session.create('"Vertr&AOQ-ge &- mehr"'))
    append(world, "Message-ID: <a>\n\nOne.", folder='"Vertr&AOQ-ge &- mehr"')
    with open_imap(world.url.replace("INBOX", "Vertr%C3%A4ge%20&%20mehr")) as source:
        assert [item.name for item in source.list_objects()] == ["a.eml"]
    with (
        open_imap(world.url.replace("INBOX", "No%22%0D%0Ax")) as source,
        pytest.raises(SourceUnavailable, match="does not open the folder"),
    ):
        list(source.list_objects())


def test_messages_that_are_numbered_anew_keep_their_documents(
    world: ImapWorld, tmp_path: Path
) -> None:
    world.write({"a": "# One\n\nText of one.", "b": "# Two\n\nText of two."})
    with make_engine(tmp_path / "index") as engine:
        engine.sources.add(world.url, name="world", **world.options)
        engine.sources.sync("world")
        before = {item.path: item.id for item in engine.documents.list()}
        with open_imap(world.url) as source:
            items = list(source.list_objects())
            world.stop()
            (numbers,) = world.folder.rglob("dovecot-uidlist")
            numbers.unlink()
            world.start()
            source.close()
            with pytest.raises(ObjectFailure, match="new number"):
                source.fetch(items[0], tmp_path / "a")
        report = engine.sources.sync("world")
        assert (report.fetched, report.ingested.changed, report.ingested.removed) == (2, 0, 0)
        assert {item.path: item.id for item in engine.documents.list()} == before


def test_a_large_message_is_refused_and_the_next_one_is_read(
    world: ImapWorld, tmp_path: Path
) -> None:
    append(world, f"Message-ID: <a>\n\n{'x' * 200_000}", "Message-ID: <b>\n\nTwo.")
    with open_imap(world.url, most_bytes=1000) as source:
        large, small = source.list_objects()
        with pytest.raises(ObjectFailure, match="more than"):
            source.fetch(large, tmp_path / "a")
        source.fetch(small, tmp_path / "b")
        world.remove("b")
        source.close()
        with pytest.raises(ObjectFailure, match="gone"):
            source.fetch(small, tmp_path / "c")
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "b").stat().st_size < 1000


def test_a_connection_that_nobody_used_is_opened_anew(
    world: ImapWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(world, "Message-ID: <a>\n\nOne.")
    with open_imap(world.url) as source:
        (item,) = source.list_objects()
        world.stop()
        world.start()
        monkeypatch.setattr(imap, "IDLE_S", 0.0)
        source.fetch(item, tmp_path / "a")


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("imaps://ana@mail.example.org/", {}, "names no folder"),
        ("imaps://ana@mail.example.org:x/INBOX", {}, "port"),
        ("imaps:///INBOX", {}, "names no host"),
        ("imaps://ana@mail.example.org/INBOX", {"offline": True}, "offline"),
    ],
)
def test_a_url_that_cannot_be_read_is_refused_at_once(
    url: str, options: Mapping[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        ImapSource(url, make_options(**options))


def test_a_server_in_a_private_network_must_be_allowed_by_name() -> None:
    for address in ("127.0.0.1", "10.1.2.3", "169.254.169.254", "::ffff:192.168.0.1", "fd00::1"):
        network = WayOut(resolve=lambda *_, last=address: ["93.184.215.14", last])
        with (
            open_imap("imaps://ana@mail.example.org/INBOX", network, allow_private=False) as source,
            pytest.raises(SourceUnavailable, match="--allow-private"),
        ):
            list(source.list_objects())


def test_the_connection_goes_to_the_checked_address() -> None:
    connected = []

    def connect(address: str, port: int, _seconds: float) -> socket.socket:
        connected.append((address, port))
        raise ConnectionRefusedError

    network = WayOut(resolve=lambda _host, _port: ["93.184.215.14"], connect=connect)
    with (
        open_imap("imaps://ana@mail.example.org/INBOX", network, allow_private=False) as source,
        pytest.raises(SourceUnavailable, match="ConnectionRefused"),
    ):
        list(source.list_objects())
    assert connected == [("93.184.215.14", 993)]


def test_a_server_whose_certificate_is_unknown_learns_no_password(
    world: ImapWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with (
        open_imap(world.url) as source,
        pytest.raises(SourceUnavailable, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        list(source.list_objects())


def test_without_a_password_the_variables_are_named() -> None:
    with (
        open_imap("imaps://ana@mail.example.org/INBOX", password="") as source,
        pytest.raises(SourceUnavailable, match="SOURCE_NAME_PASSWORD"),
    ):
        list(source.list_objects())


@contextmanager
def serve_script(certificate: Path, script: Mapping[str, Reply]) -> Iterator[str]:
    """Serve fixed replies to commands, as a server that lies would; yield the URL."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    replies = {**FIXED, **script}

    def converse(connection: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as session:
            session.sendall(b"* OK ready\r\n")
            for line in session.makefile("rb"):
                tag, command = line.split()[:2]
                reply = replies[command.decode()]
                for text in reply() if callable(reply) else reply:
                    status = tag + b" " if text[:3] in {b"OK ", b"NO "} else b""
                    session.sendall(status + text)

    def accept(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=converse, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener,), daemon=True)
        thread.start()
        yield f"imaps://{USER}@127.0.0.1:{listener.getsockname()[1]}/INBOX"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_replies_are_read_in_every_form_that_servers_use(certificate: Path, tmp_path: Path) -> None:
    with serve_script(certificate, {}) as url, open_imap(url) as source:
        items = list(source.list_objects())
        assert [(item.name, item.token) for item in items] == [
            ("a@x.eml", "7:5"),
            ("message-9.eml", "7:9"),
            ("message-11.eml", "7:11"),
        ]
        source.fetch(items[0], tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == b"One"
        with pytest.raises(ObjectFailure, match="gone"):  # it sends another message
            source.fetch(items[1], tmp_path / "b")


def test_a_folder_that_changes_during_a_listing_is_listed_again(certificate: Path) -> None:
    tries = count(1)

    def list_later() -> Iterable[bytes]:
        moved = [b"* 1 EXPUNGE\r\n", *HEADS]
        return {1: moved, 2: [HEADS[0], b"NO [EXPUNGEISSUED] gone\r\n"]}.get(next(tries), HEADS)

    with serve_script(certificate, {"FETCH": list_later}) as url, open_imap(url) as source:
        assert len(list(source.list_objects())) == 3
    assert next(tries) == 4


@pytest.mark.parametrize(
    ("command", "reply", "message"),
    [
        ("FETCH", [b"* 1 EXPUNGE\r\n", *HEADS], "changed while it was listed"),
        ("FETCH", [HEADS[0], b"OK done\r\n"], "changed while it was listed"),
        ("FETCH", [b"* 1 FETCH (" + b"(" * 9000 + b"\r\n", b"OK done\r\n"], "Error"),
        ("FETCH", [b"* 1 FETCH (UID 5 BODY[] {99999999999}\r\n"], "more than was asked"),
        ("EXAMINE", repeat(b"* OK wait\r\n" * 1000), "more than was asked"),
        ("EXAMINE", [b"* OK " + b"x" * (2 << 20)], "more than was asked|unterminated"),
        ("EXAMINE", [b"* 2 EXISTS\r\n", b"OK done\r\n"], "does not open"),
        ("EXAMINE", [b"NO no such folder\r\n"], "no such folder"),
        ("LOGIN", [f"NO {PASSWORD} is wrong\r\n".encode()], r"refuses .*\[redacted\] is wrong"),
        ("CAPABILITY", [b"gibberish\r\n"], "unexpected"),
    ],
)  # fmt: skip
def test_a_server_that_lies_is_refused(
    command: str, reply: Reply, message: str, certificate: Path
) -> None:
    with (
        serve_script(certificate, {command: reply}) as url,
        open_imap(url) as source,
        pytest.raises(SourceUnavailable, match=message),
    ):
        list(source.list_objects())


def drip(text: bytes) -> Iterator[bytes]:
    """Yield bytes one by one, each before anybody is tired of waiting."""
    for number in text:
        time.sleep(0.05)
        yield bytes([number])


@pytest.mark.parametrize("reply", [list, lambda: drip(b"* OK wait a little" * 99)])
def test_a_server_that_never_ends_its_reply_is_left(
    reply: Callable[[], Iterable[bytes]], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap, "READ_S", 0.3)
    monkeypatch.setattr(imap, "CONNECT_S", 0.3)
    started = time.monotonic()
    with (
        serve_script(certificate, {"EXAMINE": reply}) as url,
        open_imap(url) as source,
        pytest.raises(SourceUnavailable, match="Timeout"),
    ):
        list(source.list_objects())
    assert time.monotonic() - started < 20


def test_a_message_larger_than_its_server_may_send_costs_a_connection_and_no_memory(
    certificate: Path, tmp_path: Path
) -> None:
    replies = iter([[b"* 1 FETCH (UID 5 BODY[] {99999999999}\r\n"], CONTENT])
    script: Mapping[str, Reply] = {"UID": lambda: next(replies)}
    with serve_script(certificate, script) as url, open_imap(url) as source:
        item = next(iter(source.list_objects()))
        with pytest.raises(ObjectFailure, match="more than"):
            source.fetch(item, tmp_path / "a")
        source.fetch(item, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"One"


def test_letters_of_any_language_may_be_in_a_password(world: ImapWorld, certificate: Path) -> None:
    secret = "pässwörd-canary-91"
    world.set_password(secret)
    with open_imap(world.url, password=secret) as source:
        assert list(source.list_objects()) == []
    with (  # a server that knows only the oldest way takes none
        serve_script(certificate, {}) as url,
        open_imap(url, password=secret) as source,
        pytest.raises(SourceUnavailable, match="refuses the user name") as refused,
    ):
        list(source.list_objects())
    assert "ä" not in str(refused.value)

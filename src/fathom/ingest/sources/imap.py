"""A source that is a folder of an IMAP server: each message is a document.

A message never changes: its number (UID) with the validity of the numbers of its folder
(UIDVALIDITY) names one content for ever, so a listing tells every change without a content. The
address of a message is made of its id, which stays when a server numbers its messages anew.
"""

import imaplib
import io
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from fathom.documents.disk_set import DiskSet
from fathom.errors import SourceUnavailable, UsageError
from fathom.ingest.sources.base import (
    MOST_SECONDS,
    ObjectFailure,
    SourceObject,
    SourceOptions,
    describe_size_limit,
)
from fathom.ingest.sources.fetch import AddressRefusal, WayOut, connect_guarded, set_timeout
from fathom.ingest.sources.listing import DiskListing
from fathom.ingest.sources.mail import make_message_object, read_message_id
from fathom.ingest.sources.remote import CONNECT_S, READ_S, check_connection, explain_errors
from fathom.redaction import SECRETS, hide_secrets

PORT = 993
PAGE = 500
"""The number of messages that one command lists."""
MOST_TRIES = 3
"""The number of listings of a folder that changes meanwhile."""
IDLE_S = 300.0
"""The age at which a connection is opened anew: servers end those that nobody uses."""
REPLY_BYTES = 1 << 20
"""The bytes of a reply without messages, and of one line."""
PAGE_BYTES = 64 << 20
"""The bytes of a listed page: servers limit headers to about 100 kB."""
MARGIN_BYTES = 1 << 16
"""The bytes of a reply around a message."""
_HEAD = "BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]"  # PEEK: no message is marked as read
_MessageReply = Mapping[bytes, Any]
"""The fields of a message that a server tells, by their names."""


class _ReplyOverflow(Exception):
    """A reply that is larger than any honest one."""

    def __init__(self) -> None:
        super().__init__("the server sends more than was asked for")


class _ReplyStream(io.RawIOBase):
    """The bytes that a server sends, bounded in number and time for each command."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.expect(REPLY_BYTES, READ_S)

    def expect(self, most_bytes: int, seconds: float) -> None:
        """Bound what is read from now on; a pause of more than `READ_S` ends it too."""
        self.left, self._end = most_bytes, time.monotonic() + seconds

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        set_timeout(self._connection, min(self._end, time.monotonic() + READ_S))
        size = self._connection.recv_into(buffer)
        self.left -= size
        if self.left < 0:
            raise _ReplyOverflow
        return size


class _Session(imaplib.IMAP4):
    """A session over an open connection."""

    def __init__(self, connection: socket.socket) -> None:
        """Read the greeting of the server.

        Args:
            connection: The connection, with TLS; it is closed if the greeting is none.
        """
        self._connection = connection
        self.replies = _ReplyStream(connection)
        self._reader = io.BufferedReader(self.replies)
        super().__init__()

    @override
    def open(self, host: str = "", port: int = PORT, timeout: float | None = None) -> None:
        self.host, self.port, self.sock = host, port, self._connection

    @override
    def read(self, size: int) -> bytes:
        if size > self.replies.left:  # the server says so before it sends them
            raise _ReplyOverflow
        return self._reader.read(size)

    @override
    def readline(self) -> bytes:
        return self._reader.readline(REPLY_BYTES)

    @override
    def shutdown(self) -> None:
        self._connection.close()

    def sign_on(self, user: str, password: str) -> None:
        """Sign on, with letters of any language if the server takes them.

        Raises:
            imaplib.IMAP4.error: If the server refuses.
        """
        if "AUTH=PLAIN" in self.capabilities:
            secret = f"\0{user}\0{password}".encode()
            self.authenticate("PLAIN", lambda _challenge: secret)
        else:
            self.login(user, password)

    def fetch_page(self, first: int, last: int) -> Sequence[_MessageReply] | None:
        """Return what names the messages of a folder from the first place to the last one.

        Returns:
            The messages in the order of their places, or `None` if the places have moved.
        """
        self.replies.expect(PAGE_BYTES, READ_S)
        status, data = self.fetch(f"{first}:{last}", f"(UID FLAGS {_HEAD})")
        by_place = _parse_messages(data) if status == "OK" else {}
        messages = [by_place.get(place, {}) for place in range(first, last + 1)]
        is_moved = self.response("EXPUNGE")[1] != [None]
        is_whole = all(
            b"UID" in message and _find_head(message) is not None for message in messages
        )
        return messages if is_whole and not is_moved else None

    def fetch_content(self, uid: int, most_bytes: int) -> bytes | None:
        """Return a message, or `None` if it is gone.

        Raises:
            _ReplyOverflow: If it is larger; then the session is over.
        """
        self.replies.expect(most_bytes + MARGIN_BYTES, MOST_SECONDS)
        status, data = self.uid("FETCH", str(uid), "(UID BODY.PEEK[])")
        messages = _parse_messages(data) if status == "OK" else {}
        contents = (
            message[b"BODY[]"]
            for message in messages.values()
            if message.get(b"UID") == uid and b"BODY[]" in message
        )
        return next(contents, None)


def _parse_messages(data: Sequence[Any]) -> Mapping[int, _MessageReply]:
    from imapclient.response_parser import parse_fetch_response

    messages: Mapping[int, _MessageReply] = parse_fetch_response(data, uid_is_key=False)
    return messages


def _find_head(message: _MessageReply) -> bytes | None:
    """Return the header with the id of a message, `None` if the server does not tell it.

    Servers write the name of the field variously, and NIL in place of an empty header.
    """
    heads = (message[name] or b"" for name in message if name.startswith(b"BODY[HEADER"))
    return next(heads, None)


@dataclass(frozen=True, slots=True)
class _Folder:
    """An open folder: the validity of its numbers, and how many messages it has."""

    session: _Session
    validity: str
    count: int


class ImapSource:
    """The messages of a folder of an IMAP server, by their ids."""

    has_sidecars = False  # no file lies beside a message

    def __init__(self, url: str, options: SourceOptions, network: WayOut | None = None) -> None:
        """Create the source; no connection is opened yet.

        Args:
            url: `imaps://USER@HOST/FOLDER`; the user name may be one of the options.
            options: The options.
            network: The ways out of this machine.

        Raises:
            UsageError: If no connection may be opened, a package is missing, or the URL names no
                folder.
        """
        check_connection(url, options, "imapclient")
        self._url, self._options, self._network = url.rstrip("/"), options, network or WayOut()
        parts = urlsplit(self._url)
        self._user = unquote(parts.username or "") or options.user
        self._name = unquote(parts.path).strip("/")
        try:
            self._host, self._port = str(parts.hostname), parts.port or PORT
        except ValueError:
            raise UsageError(f"{url}: its port is no number from 1 to 65535") from None
        if not self._name:
            raise UsageError(f"{url} names no folder; write one, such as imaps://HOST/INBOX")
        self._session: _Session | None = None
        self._folder: _Folder | None = None
        self._used = 0.0

    def list_objects(self) -> Iterator[SourceObject]:
        """Yield the messages in their order, but for those that are marked as deleted.

        Raises:
            SourceUnavailable: If the server cannot be reached, refuses the folder, or the folder
                changes during each of several listings.
        """
        with explain_errors(self._url), closing(self._list_whole()) as listing:
            yield from listing

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Fetch a message.

        Raises:
            ObjectFailure: If it is gone or too large.
            SourceUnavailable: If the server cannot be reached.
        """
        validity, _, uid = item.token.partition(":")
        with explain_errors(self._url):
            if time.monotonic() > self._used + IDLE_S:
                self.close()
            folder = self._folder or self._open_folder()
            if folder.validity != validity:
                raise ObjectFailure("has a new number since it was listed; the next sync reads it")
            try:
                content = folder.session.fetch_content(int(uid), self._options.most_bytes)
            except _ReplyOverflow:
                self.close()
                raise ObjectFailure(describe_size_limit(self._options.most_bytes)) from None
            self._used = time.monotonic()
        if content is None:
            raise ObjectFailure("is gone since it was listed, or the server refuses it")
        if len(content) > self._options.most_bytes:
            raise ObjectFailure(describe_size_limit(self._options.most_bytes))
        file.write_bytes(content)

    def close(self) -> None:
        """End the session, politely if the server lives."""
        session, self._session, self._folder = self._session, None, None
        if session is not None:
            session.replies.expect(REPLY_BYTES, CONNECT_S)
            with suppress(OSError, imaplib.IMAP4.error, _ReplyOverflow):
                session.logout()
            session.shutdown()

    def _list_whole(self) -> DiskListing:
        # A listing names messages by their places, which move when one is removed; so it is done in
        # one go, before the first message is fetched.
        for _ in range(MOST_TRIES):
            with ExitStack() as failure:
                listing = failure.enter_context(DiskListing())
                if self._fill(listing):
                    failure.pop_all()
                    return listing
        raise SourceUnavailable(f"{self._url}: changed while it was listed; sync again")

    def _fill(self, listing: DiskListing) -> bool:
        """List the folder, and return whether no message was removed meanwhile."""
        folder = self._open_folder()
        with DiskSet() as addresses:
            for first in range(1, folder.count + 1, PAGE):
                page = folder.session.fetch_page(first, min(first + PAGE - 1, folder.count))
                if page is None:
                    return False
                for message in page:
                    if not _is_deleted(message):
                        listing.add(self._make_object(folder, message, addresses))
        self._used = time.monotonic()
        return True

    def _make_object(
        self, folder: _Folder, message: _MessageReply, addresses: DiskSet
    ) -> SourceObject:
        uid = message[b"UID"]
        headers = BytesHeaderParser().parsebytes(_find_head(message) or b"")
        name = read_message_id(headers) or f"message-{uid}"
        return make_message_object(self._url, name, f"{folder.validity}:{uid}", addresses)

    def _open_folder(self) -> _Folder:
        """Open the folder for reading, in the session that there is or in a new one."""
        from imapclient.imap_utf7 import encode

        self._session = session = self._session or self._open_session()
        session.replies.expect(REPLY_BYTES, READ_S)
        name = encode(self._name).decode().replace("\\", r"\\").replace('"', r"\"")
        status, data = session.select(f'"{name}"', readonly=True)
        validity = session.response("UIDVALIDITY")[1][-1]
        if status != "OK" or not data[-1] or not validity:
            text = _decode_text(data[-1])
            raise SourceUnavailable(f"{self._url}: the server does not open the folder: {text}")
        self._folder = _Folder(session, validity.decode(), int(data[-1]))
        return self._folder

    def _open_session(self) -> _Session:
        user, password = self._user, self._options.password
        if not (user and password):
            raise SourceUnavailable(
                f"{self._url}: needs a user name and a password; export SOURCE_NAME_USER and "
                "SOURCE_NAME_PASSWORD, with the source's name in place of NAME"
            )
        session = _Session(self._connect())
        try:
            session.sign_on(user, password)
        except (imaplib.IMAP4.error, UnicodeError) as error:
            session.shutdown()
            # The error of a letter that cannot be sent names the letter.
            text = "" if isinstance(error, UnicodeError) else _decode_text(*error.args[:1])
            text = SECRETS.redact(hide_secrets(text, (password,)))
            raise SourceUnavailable(
                f"{self._url}: the server refuses the user name or the password: {text}"
            ) from None
        return session

    def _connect(self) -> socket.socket:
        private_host = self._host if self._options.allow_private else ""
        end = time.monotonic() + CONNECT_S
        try:
            raw = connect_guarded(
                self._host, self._port, end, self._network, private_host=private_host
            )
        except AddressRefusal as refusal:
            hint = "a server of one's own network needs --allow-private"
            raise SourceUnavailable(f"{self._url}: is not reached: {refusal}; {hint}") from None
        return ssl.create_default_context().wrap_socket(raw, server_hostname=self._host)


def _is_deleted(message: _MessageReply) -> bool:
    flags = message.get(b"FLAGS") or ()
    return any(flag.lower() == b"\\deleted" for flag in flags if isinstance(flag, bytes))


def _decode_text(text: object = b"") -> str:
    """Return what a server says, in one line."""
    line = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text or "")
    return " ".join(line.split())[:300]

"""A source that is a folder of an IMAP server: each message is a document.

A message never changes. Its number (UID) and the number of its folder's numbering (UIDVALIDITY)
together always stand for the same content, so the token of a message consists of them and no
content is needed to find changes. The address of a message contains its id instead, which stays the
same if a server numbers its messages anew.
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
"""The port of IMAP over TLS."""
PAGE = 500
"""The number of messages that one command lists."""
MOST_TRIES = 3
"""The number of times that a folder is listed if messages are removed meanwhile."""
IDLE_S = 300.0
"""The time in seconds after which an unused connection is opened anew: servers end such ones."""
REPLY_BYTES = 1 << 20
"""The largest size in bytes of a reply without messages, and of one line."""
PAGE_BYTES = 64 << 20
"""The largest size in bytes of the reply that lists a page of messages."""
MARGIN_BYTES = 1 << 16
"""The largest size in bytes of what a reply has besides the message that was asked for."""
_HEAD = "BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]"  # PEEK: no message is marked as read
_MessageReply = Mapping[bytes, Any]
"""The fields of a message in the reply of a server, by their names."""


class _ReplyOverflow(Exception):
    """The error that a reply is larger than what was asked for can be."""

    def __init__(self) -> None:
        super().__init__("the server sends more than was asked for")


class _ReplyStream(io.RawIOBase):
    """The bytes that a server sends, with a limit of size and time that each command sets."""

    def __init__(self, connection: socket.socket) -> None:
        """Read from a connection, with the limits of a short reply."""
        self._connection = connection
        self.expect(REPLY_BYTES, READ_S)

    def expect(self, most_bytes: int, seconds: float) -> None:
        """Set the limits of what is read from now on.

        Args:
            most_bytes: The number of bytes after which `_ReplyOverflow` is raised.
            seconds: The time after which a read raises `TimeoutError`; a pause of more than
                `READ_S` seconds does so too.
        """
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
    """An IMAP session over an open connection, with limits of size and time."""

    def __init__(self, connection: socket.socket) -> None:
        """Read the greeting of the server.

        Args:
            connection: The TLS connection; it is closed if the greeting is not one of IMAP.
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
        if size > self.replies.left:  # the server announces the size before the bytes
            raise _ReplyOverflow
        return self._reader.read(size)

    @override
    def readline(self) -> bytes:
        return self._reader.readline(REPLY_BYTES)

    @override
    def shutdown(self) -> None:
        self._connection.close()

    def sign_on(self, user: str, password: str) -> None:
        """Sign on; letters beyond ASCII need a server that offers AUTH=PLAIN.

        Raises:
            imaplib.IMAP4.error: If the server refuses the user name or the password.
            UnicodeError: If they have such letters and the server does not offer AUTH=PLAIN.
        """
        if "AUTH=PLAIN" in self.capabilities:
            secret = f"\0{user}\0{password}".encode()
            self.authenticate("PLAIN", lambda _challenge: secret)
        else:
            self.login(user, password)

    def fetch_page(self, first: int, last: int) -> Sequence[_MessageReply] | None:
        """Return numbers, flags and ids of the messages at a range of places in the open folder.

        Args:
            first: The first place, from 1.
            last: The last place, inclusive.

        Returns:
            The messages in the order of their places; `None` if a message was removed meanwhile, so
            that the places have changed, or if the server does not tell all of them.
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
        """Return the content of a message of the open folder; `None` if the server has none.

        Args:
            uid: The number of the message.
            most_bytes: The largest size in bytes.

        Raises:
            _ReplyOverflow: If the message is larger; the session cannot be used after that.
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
    """Return the messages of a reply by their places."""
    from imapclient.response_parser import parse_fetch_response

    messages: Mapping[int, _MessageReply] = parse_fetch_response(data, uid_is_key=False)
    return messages


def _find_head(message: _MessageReply) -> bytes | None:
    """Return the header with the id of a message; `None` if the reply does not have it.

    Servers write the name of this field in several ways, and NIL in place of an empty header.
    """
    heads = (message[name] or b"" for name in message if name.startswith(b"BODY[HEADER"))
    return next(heads, None)


@dataclass(frozen=True, slots=True)
class _Folder:
    """An open folder.

    Attributes:
        session: The session in which it is open.
        validity: The number of its numbering (UIDVALIDITY).
        count: The number of its messages.
    """

    session: _Session
    validity: str
    count: int


class ImapSource:
    """The messages of a folder of an IMAP server, by their ids."""

    has_sidecars = False  # there are no files beside messages

    def __init__(self, url: str, options: SourceOptions, network: WayOut | None = None) -> None:
        """Create the source; no connection is opened yet.

        Args:
            url: `imaps://USER@HOST/FOLDER`; without `USER@`, the user name of the options counts.
            options: The options.
            network: The functions that look up hosts and connect; by default those of the system.

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
        """Yield the messages in the order of the folder, without those marked as deleted.

        Raises:
            SourceUnavailable: If the server cannot be reached or refuses the folder, or if messages
                are removed during each of `MOST_TRIES` listings.
        """
        with explain_errors(self._url), closing(self._list_whole()) as listing:
            yield from listing

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Fetch a message, in a new session if the last one is too old.

        Raises:
            ObjectFailure: If the message is gone or too large, or the folder was numbered anew.
            SourceUnavailable: If the server cannot be reached or refuses the folder.
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
        """Sign off if the server still answers, and close the connection."""
        session, self._session, self._folder = self._session, None, None
        if session is not None:
            session.replies.expect(REPLY_BYTES, CONNECT_S)
            with suppress(OSError, imaplib.IMAP4.error, _ReplyOverflow):
                session.logout()
            session.shutdown()

    def _list_whole(self) -> DiskListing:
        """Return all messages of the folder; the caller closes the listing.

        Raises:
            SourceUnavailable: If messages are removed during each of several tries.
        """
        # Messages are listed by their places, which change when one is removed. So all are listed
        # before the first one is fetched.
        for _ in range(MOST_TRIES):
            with ExitStack() as failure:
                listing = failure.enter_context(DiskListing())
                if self._fill(listing):
                    failure.pop_all()
                    return listing
        raise SourceUnavailable(f"{self._url}: changed while it was listed; sync again")

    def _fill(self, listing: DiskListing) -> bool:
        """List the folder; return False if a message was removed meanwhile."""
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
        """Return a listed message as an object; its number is its name if it has no id."""
        uid = message[b"UID"]
        headers = BytesHeaderParser().parsebytes(_find_head(message) or b"")
        name = read_message_id(headers) or f"message-{uid}"
        return make_message_object(self._url, name, f"{folder.validity}:{uid}", addresses)

    def _open_folder(self) -> _Folder:
        """Open the folder for reading, in the present session or in a new one.

        Raises:
            SourceUnavailable: If the server refuses the folder or the password, or is not reached.
        """
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
        """Connect to the server and sign on.

        Raises:
            SourceUnavailable: If user name or password are missing or refused, or the server may
                not be reached.
        """
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
            # The message of a `UnicodeError` would show a letter of the password.
            text = "" if isinstance(error, UnicodeError) else _decode_text(*error.args[:1])
            text = SECRETS.redact(hide_secrets(text, (password,)))
            raise SourceUnavailable(
                f"{self._url}: the server refuses the user name or the password: {text}"
            ) from None
        return session

    def _connect(self) -> socket.socket:
        """Return a TLS connection to a checked address of the server.

        Raises:
            SourceUnavailable: If one of the addresses of the server may not be reached.
            OSError: If it does not answer.
        """
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
    """Return whether a message is marked as deleted; the server may still have it."""
    flags = message.get(b"FLAGS") or ()
    return any(flag.lower() == b"\\deleted" for flag in flags if isinstance(flag, bytes))


def _decode_text(text: object = b"") -> str:
    """Return a text of a server as one line of at most 300 characters."""
    line = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text or "")
    return " ".join(line.split())[:300]

"""A source that is a mailbox file (mbox) of this machine. Each message is a document."""

import hashlib
import mailbox
import re
from collections.abc import Iterator
from contextlib import closing
from email.message import Message
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from fathom.documents.discover import format_path, make_absolute
from fathom.documents.disk_set import DiskSet
from fathom.errors import SourceUnavailable
from fathom.ingest.sources.base import (
    ObjectFailure,
    SourceObject,
    SourceOptions,
    describe_size_limit,
)

SCHEME = "mbox://"
LONGEST_ID = 200
"""The largest length of the id of a message in characters; a digest replaces a longer one."""
_READING_MARKS = ("status", "x-status", "x-mozilla-status", "x-mozilla-status2")
"""The headers that mail programs change when a message is read; they do not change its token."""


class _Message(NamedTuple):
    """A message of a mailbox.

    Attributes:
        item: The message as an object of the source.
        content: Its bytes.
    """

    item: SourceObject
    content: bytes


class MailboxSource:
    """The messages of a mailbox file, whose addresses contain their ids."""

    has_sidecars = False  # there are no files beside messages

    def __init__(self, url: str, options: SourceOptions) -> None:
        """Create the source; nothing is read yet.

        Args:
            url: `mbox:///PATH`, with quoted characters in the path.
            options: The options.
        """
        self._file = make_absolute(Path(unquote(url.removeprefix(SCHEME))))
        self._options = options
        self._last: _Message | None = None

    def list_objects(self) -> Iterator[SourceObject]:
        """Yield the messages in the order of the file.

        Raises:
            SourceUnavailable: If the file cannot be read; at the end if it has changed meanwhile.
        """
        state = self._read_state()
        for message in self._iterate_messages():
            self._last = message
            yield message.item
        # While a program writes the file anew, some of the messages are missing in it.
        if self._read_state() != state:
            raise SourceUnavailable(f"{self._file}: was written while it was read; sync again")

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Write a message; unless it is the last listed one, the file is searched for it.

        Raises:
            ObjectFailure: If the message is gone, has changed, or is too large.
            SourceUnavailable: If the file cannot be read.
        """
        message = self._last
        if message is None or message.item != item:
            messages = self._iterate_messages()
            message = next((other for other in messages if other.item == item), None)
        if message is None:
            raise ObjectFailure("is gone since it was listed")
        if len(message.content) > self._options.most_bytes:
            raise ObjectFailure(describe_size_limit(self._options.most_bytes))
        file.write_bytes(message.content)

    def close(self) -> None:
        """Drop the message that is kept in memory."""
        self._last = None

    def _read_state(self) -> tuple[int, int, int]:
        """Return what differs after every change of the file: inode, size and time of change.

        Raises:
            SourceUnavailable: If the file cannot be read.
        """
        try:
            status = self._file.stat()
        except OSError as error:
            raise SourceUnavailable(f"{self._file}: {error.strerror}") from None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _iterate_messages(self) -> Iterator[_Message]:
        """Yield the messages in the order of the file, one at a time in memory.

        Raises:
            SourceUnavailable: If the file cannot be read.
        """
        try:
            with (
                closing(mailbox.mbox(self._file, create=False)) as box,
                DiskSet() as addresses,
            ):
                for key in box.iterkeys():
                    yield self._read_message(box.get_bytes(key), addresses)
        except mailbox.NoSuchMailboxError:
            raise SourceUnavailable(f"{self._file}: no such mailbox file") from None
        except OSError as error:
            raise SourceUnavailable(f"{self._file}: {error.strerror or error}") from None

    def _read_message(self, content: bytes, addresses: DiskSet) -> _Message:
        """Return a message; its token is a digest of all but the headers of mail programs.

        Args:
            content: The bytes of the message.
            addresses: The addresses of the messages before it; its own is added.
        """
        headers = BytesHeaderParser().parsebytes(content)
        body = content.partition(b"\n\n")[2]
        fixed = [
            f"{name}: {value}"
            for name, value in headers.items()
            if name.lower() not in _READING_MARKS
        ]
        head = "\n".join(fixed).encode("utf-8", "surrogateescape")
        digest = hashlib.sha256(head + b"\n\n" + body).hexdigest()[:32]
        root = f"{SCHEME}{quote(format_path(self._file))}"
        name = read_message_id(headers) or digest
        return _Message(make_message_object(root, name, digest, addresses), content)


def read_message_id(headers: Message) -> str:
    """Return the `Message-ID` of a message without its brackets; empty if it has none."""
    return str(headers.get("Message-ID", "")).strip("<> \t\r\n")


def make_message_object(root: str, name: str, token: str, addresses: DiskSet) -> SourceObject:
    """Return a message of a mailbox as an object.

    Args:
        root: The address of the mailbox, without a slash at its end.
        name: The id of the message, or another text that names it.
        token: The token of its content.
        addresses: The addresses of the messages before it; its own is added.
    """
    if len(name) > LONGEST_ID:
        name = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    # A name that begins with a dot would be that of a hidden file.
    stem = re.sub(r"^\.", "%2E", quote(name, safe="@"))
    address, number = f"{root}/{stem}", 1
    while not addresses.add(address):  # several messages may have one id
        number += 1
        address = f"{root}/{stem}-{number}"
    return SourceObject(name=f"{stem}.eml", address=address, token=token)

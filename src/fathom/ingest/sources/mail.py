"""A source that is a mailbox file (mbox) of this machine: each message is a document."""

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
"""The characters of an id of a message above which a digest stands for it."""
_READING_MARKS = ("status", "x-status", "x-mozilla-status", "x-mozilla-status2")
"""Headers that programs of mail change when somebody reads a message."""


class _Message(NamedTuple):
    """A message of a mailbox, as an object and in its bytes."""

    item: SourceObject
    content: bytes


class MailboxSource:
    """The messages of a mailbox file, by their ids."""

    has_sidecars = False  # no file lies beside a message

    def __init__(self, url: str, options: SourceOptions) -> None:
        """Create the source; nothing is read yet.

        Args:
            url: `mbox:///PATH`.
            options: The options.
        """
        self._file = make_absolute(Path(unquote(url.removeprefix(SCHEME))))
        self._options = options
        self._last: _Message | None = None

    def list_objects(self) -> Iterator[SourceObject]:
        """Yield the messages in their order.

        Raises:
            SourceUnavailable: If the file cannot be read, or is written meanwhile.
        """
        state = self._read_state()
        for message in self._iterate_messages():
            self._last = message
            yield message.item
        # A program that writes the file anew shows a part of the messages meanwhile.
        if self._read_state() != state:
            raise SourceUnavailable(f"{self._file}: was written while it was read; sync again")

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Write a message, which the listing may just have read."""
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
        """Forget the message that was read last."""
        self._last = None

    def _read_state(self) -> tuple[int, int, int]:
        try:
            status = self._file.stat()
        except OSError as error:
            raise SourceUnavailable(f"{self._file}: {error.strerror}") from None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _iterate_messages(self) -> Iterator[_Message]:
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
    """Return the id that a message names itself by; empty if there is none."""
    return str(headers.get("Message-ID", "")).strip("<> \t\r\n")


def make_message_object(root: str, name: str, token: str, addresses: DiskSet) -> SourceObject:
    """Return a message of a mailbox as an object.

    Args:
        root: The address of the mailbox.
        name: The id of the message.
        token: The token of its content.
        addresses: The addresses of the messages before it; its own is added.
    """
    if len(name) > LONGEST_ID:
        name = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    # With a dot before it, a message would be hidden.
    stem = re.sub(r"^\.", "%2E", quote(name, safe="@"))
    address, number = f"{root}/{stem}", 1
    while not addresses.add(address):  # several messages may have one id
        number += 1
        address = f"{root}/{stem}-{number}"
    return SourceObject(name=f"{stem}.eml", address=address, token=token)

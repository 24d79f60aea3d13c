"""Messages of a mailbox file are told apart, whatever their ids and marks are."""

from pathlib import Path

import pytest

from fathom.documents.discover import FileFilter
from fathom.errors import SourceUnavailable
from fathom.ingest.sources.base import ObjectFailure, SourceOptions
from fathom.ingest.sources.mail import MailboxSource


def write_mailbox(file: Path, *messages: str) -> None:
    file.write_text("".join(f"From ana Fri Nov 27 10:00:00 2026\n{text}\n\n" for text in messages))


def open_mailbox(file: Path, most_bytes: int = 1 << 20) -> MailboxSource:
    fixed = {"name": "a", "file_filter": FileFilter(), "folder": file.parent}
    return MailboxSource(f"mbox://{file}", SourceOptions(most_bytes=most_bytes, **fixed))  # type: ignore[arg-type]


def test_each_message_has_an_address_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "In box"
    same = "Message-ID: <a/b#c@example.org>\n\n"
    write_mailbox(file, f"{same}One.", f"{same}Two.", "Subject: x\n\nThree.", "\n\nFour.")
    items = list(open_mailbox(file).list_objects())
    root = f"mbox://{tmp_path}/In%20box"
    assert [item.address for item in items[:2]] == [
        f"{root}/a%2Fb%23c@example.org",
        f"{root}/a%2Fb%23c@example.org-2",
    ]
    assert len({item.address for item in items}) == len({item.token for item in items}) == 4
    assert {item.name.rpartition(".")[2] for item in items} == {"eml"}


def test_reading_a_message_does_not_change_it(tmp_path: Path) -> None:
    file = tmp_path / "box"
    write_mailbox(file, "Message-ID: <a>\n\nOne.", "Message-ID: <b>\n\nTwo.")
    before = list(open_mailbox(file).list_objects())
    write_mailbox(file, "Message-ID: <b>\nStatus: RO\n\nTwo.", "Message-ID: <a>\n\nOther.")
    after = list(open_mailbox(file).list_objects())
    assert after[0] == before[1]
    assert (after[1].address, after[1].token != before[0].token) == (before[0].address, True)


def test_any_listed_message_can_be_fetched(tmp_path: Path) -> None:
    file = tmp_path / "box"
    write_mailbox(file, "Message-ID: <a>\n\nOne.", f"Message-ID: <b>\n\n{'x' * 2000}")
    source = open_mailbox(file, most_bytes=1000)
    first, second = source.list_objects()
    source.fetch(first, tmp_path / "first")
    assert (tmp_path / "first").read_bytes().endswith(b"\n\nOne.\n")
    with pytest.raises(ObjectFailure, match="more than"):
        source.fetch(second, tmp_path / "second")
    write_mailbox(file, "Message-ID: <c>\n\nThree.")
    source.close()
    with pytest.raises(ObjectFailure, match="gone"):
        source.fetch(first, tmp_path / "gone")


def test_a_mailbox_that_is_missing_or_written_meanwhile_is_not_whole(tmp_path: Path) -> None:
    file = tmp_path / "box"
    with pytest.raises(SourceUnavailable):
        list(open_mailbox(file).list_objects())
    write_mailbox(file, "Message-ID: <a>\n\nOne.", "Message-ID: <b>\n\nTwo.")
    items = open_mailbox(file).list_objects()
    next(items)
    file.write_text(file.read_text() + "From ana Fri Nov 27 10:00:00 2026\n\nThree.\n")
    with pytest.raises(SourceUnavailable, match="written while"):
        list(items)


def test_no_id_hides_a_message_or_makes_its_address_long(tmp_path: Path) -> None:
    file = tmp_path / "box"
    write_mailbox(file, "Message-ID: <.a@x>\n\nOne.", f"Message-ID: <{'b' * 900}>\n\nTwo.")
    hidden, long = open_mailbox(file).list_objects()
    assert hidden.name == "%2Ea@x.eml"
    assert len(long.address) < len(f"mbox://{file}") + 50

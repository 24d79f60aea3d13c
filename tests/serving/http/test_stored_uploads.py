import os
from io import BytesIO
from pathlib import Path

import pytest
from starlette.datastructures import UploadFile

from fathom.serving.http.uploads import store_files


def test_a_stored_file_and_its_name_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync
    synced: list[tuple[str, bool]] = []

    def note_sync(handle: int) -> None:
        is_there = (folder / "a" / "fees.md").exists()
        synced.append((os.path.realpath(f"/proc/self/fd/{handle}"), is_there))
        sync(handle)

    folder = tmp_path / "uploads"
    monkeypatch.setattr(os, "fsync", note_sync)
    stored = store_files([UploadFile(BytesIO(b"# Fees"), filename="a/fees.md")], folder)
    assert list(stored.names.values()) == ["a/fees.md"]
    assert (folder / "a" / "fees.md").read_bytes() == b"# Fees"
    # The folders have names on the disk, then the content is there, then the file has its name.
    *folders, (part, is_there), last = synced
    assert {place for place, _ in folders} == {str(tmp_path), str(folder)}
    assert part.startswith(f"{folder}/a/.")
    assert not is_there
    assert last == (str(folder / "a"), True)

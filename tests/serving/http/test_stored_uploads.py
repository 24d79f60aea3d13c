import os
from io import BytesIO
from pathlib import Path

import pytest
from starlette.datastructures import UploadFile

from fathom.serving.http.uploads import StoredUpload, store_files


def store(folder: Path, *names: str) -> StoredUpload:
    files = [UploadFile(BytesIO(b"# Fees"), filename=name) for name in names]
    return store_files(files, folder)


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
    assert list(store(folder, "a/fees.md").names.values()) == ["a/fees.md"]
    assert (folder / "a" / "fees.md").read_bytes() == b"# Fees"
    # The folders have names on the disk, then the content is there, then the file has its name.
    *folders, (part, is_there), last = synced
    assert {place for place, _ in folders} == {str(tmp_path), str(folder)}
    assert part.startswith(f"{folder}/a/.")
    assert not is_there
    assert last == (str(folder / "a"), True)


def test_a_file_may_have_the_name_of_a_folder_that_removals_emptied(tmp_path: Path) -> None:
    store(tmp_path, "a/b/fees.md", "a/c/fees.md")
    (tmp_path / "a" / "c" / "fees.md").unlink()
    (refused,) = store(tmp_path, "a").refused
    assert refused["reason"] == "a folder has this name"
    (tmp_path / "a" / "b" / "fees.md").unlink()
    assert list(store(tmp_path, "a").names.values()) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"# Fees"


def test_the_name_of_a_refused_file_is_shown_with_its_spaces(tmp_path: Path) -> None:
    (refused,) = store(tmp_path, ".the\u00a0fees \u3000of\u202f2024\n\x1b\u202e.md").refused
    assert refused["path"] == ".the\u00a0fees \u3000of\u202f2024\ufffd\ufffd\ufffd.md"

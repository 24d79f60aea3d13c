"""A file's content names its document."""

from hashlib import sha256
from pathlib import Path

from fathom.documents.identity import content_digest, document_id


def test_equal_files_have_one_id_wherever_they_lie(tmp_path: Path) -> None:
    one, twin, other = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt"
    one.write_bytes(b"same")
    twin.write_bytes(b"same")
    other.write_bytes(b"Same")
    assert content_digest(one) == content_digest(twin) == sha256(b"same").hexdigest()
    assert document_id(content_digest(one)) != document_id(content_digest(other))
    assert len(document_id(content_digest(one))) == 16

import errno
import io
import os
import zipfile

import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.zipguard import ZipLimits, open_zip, unpack_member


def make_archive(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as target:
        for name, content in members.items():
            target.writestr(name, content)
    return out.getvalue()


def test_the_members_of_an_ordinary_zip_are_returned() -> None:
    with open_zip(make_archive({"a.txt": b"one", "b/c.txt": b"two"})) as opened:
        assert opened.namelist() == ["a.txt", "b/c.txt"]
        assert opened.read("b/c.txt") == b"two"


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/passwd", "a\\b", "C:/x"])
def test_members_with_unsafe_names_are_not_listed(name: str) -> None:
    with open_zip(make_archive({name: b"x", "good.txt": b"y"})) as opened:
        assert opened.namelist() == ["good.txt"]


def test_a_dense_member_is_refused() -> None:
    with pytest.raises(ParseRefusal, match="100 times") as refusal:
        open_zip(make_archive({"bomb": bytes(11_000_000)}))
    assert refusal.value.outcome == "failed"


def test_a_dense_but_small_member_is_accepted() -> None:
    with open_zip(make_archive({"zeros": bytes(1_000_000)})) as opened:
        assert len(opened.read("zeros")) == 1_000_000


def test_many_dense_members_are_refused_together() -> None:
    with pytest.raises(ParseRefusal, match="100 times"):
        open_zip(make_archive({f"m{i}": bytes(6_000_000) for i in range(2)}))


def test_total_and_count_are_capped() -> None:
    data = make_archive({"a": b"12345", "b": b"67890"}, zipfile.ZIP_STORED)
    with pytest.raises(ParseRefusal, match="more than 1 members"):
        open_zip(data, ZipLimits(members=1))
    with pytest.raises(ParseRefusal, match="inflates to more than"):
        open_zip(data, ZipLimits(total=9))


def test_overlapping_members_are_refused() -> None:
    data = bytearray(make_archive({"a": b"0123456789" * 30}, zipfile.ZIP_STORED))
    entry = data.index(b"PK\x01\x02")
    data[entry + 20 : entry + 24] = (100_000).to_bytes(4, "little")
    with pytest.raises(ParseRefusal, match="overlap"):
        open_zip(bytes(data))


def test_encrypted_members_are_refused_as_such() -> None:
    data = bytearray(make_archive({"a": b"secret"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ParseRefusal) as refusal:
        open_zip(bytes(data))
    assert refusal.value.outcome == "encrypted"


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"not a zip"])
def test_a_damaged_zip_is_refused(data: bytes) -> None:
    with pytest.raises(ParseRefusal, match="damaged zip"):
        open_zip(data)


PACKINGS = [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("mark", [b"\xff", b"\x00"])
def test_a_damaged_member_is_reported_alike_for_every_compression(
    packing: int, mark: bytes
) -> None:
    whole = make_archive({"a": os.urandom(500), "b": b"good"}, packing)
    torn = whole[:31] + mark * 400 + whole[431:]
    with open_zip(torn) as opened:
        with pytest.raises(zipfile.BadZipFile):
            unpack_member(opened, "a")
        assert unpack_member(opened, "b") == b"good"
        assert unpack_member(opened, "b", 2) == b"go"
        with pytest.raises(KeyError):
            unpack_member(opened, "c")


def test_an_unreadable_disk_is_no_damage() -> None:
    class BrokenDisk(io.BytesIO):
        fails = False

        def read(self, size: int | None = -1) -> bytes:
            if self.fails:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

    disk = BrokenDisk(make_archive({"a": b"x"}))
    with zipfile.ZipFile(disk) as opened:
        disk.fails = True
        with pytest.raises(OSError, match="Input/output"):
            unpack_member(opened, "a")

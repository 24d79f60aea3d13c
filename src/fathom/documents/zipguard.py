"""Checks of a zip's directory against bombs, before anything is inflated.

Nothing is ever extracted to disk, and archives inside archives are never opened. Members with
unsafe names are taken out of the listing.
"""

import io
import lzma
import zipfile
import zlib
from dataclasses import dataclass

from fathom.documents.base import ParseRefusal

_DIRECTORY_MARK = b"PK\x01\x02"
_ENCRYPTED = 0x1
_MEGABYTE = 1_000_000
_DAMAGED = (zlib.error, lzma.LZMAError, EOFError, NotImplementedError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipLimits:
    """The limits for a zip; sizes in bytes.

    Attributes:
        members: The largest number of entries in the directory.
        total: The largest size of all members together, inflated.
        ratio: The largest number of inflated bytes for a stored byte, checked only above
            `ratio_from`.
        ratio_from: The inflated size up to which any ratio is allowed.
    """

    members: int = 20_000
    total: int = 1_000 * _MEGABYTE
    ratio: int = 100
    ratio_from: int = 10 * _MEGABYTE


_DEFAULT = ZipLimits()


def open_zip(data: bytes, limits: ZipLimits = _DEFAULT) -> zipfile.ZipFile:
    """Open a zip for reading, after checks of its directory.

    Args:
        data: The bytes of the zip.
        limits: The limits.

    Returns:
        A zip that lists only members with safe names.

    Raises:
        ParseRefusal: `failed` for a damaged zip or a bomb, `encrypted` for protected members.
    """
    # Counted before zipfile builds an object for each entry: a million would fill the memory.
    if data.count(_DIRECTORY_MARK) > limits.members:
        raise ParseRefusal("failed", f"zip holds more than {limits.members} members")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise ParseRefusal("failed", f"damaged zip: {error}") from error
    check_zip(archive.infolist(), len(data), limits)
    safe = [info for info in archive.infolist() if has_safe_name(info)]
    archive.filelist = safe
    archive.NameToInfo = {info.filename: info for info in safe}
    return archive


def check_zip(members: list[zipfile.ZipInfo], size: int, limits: ZipLimits = _DEFAULT) -> None:
    """Check that the directory of a zip is within the limits.

    Args:
        members: The entries of the directory.
        size: The size of the zip itself in bytes.
        limits: The limits.

    Raises:
        ParseRefusal: `encrypted` for protected members, `failed` for members that are too many, too
            big, too dense or overlapping.
    """
    if any(info.flag_bits & _ENCRYPTED for info in members):
        raise ParseRefusal("encrypted", "zip members are encrypted; save it without a password")
    if len(members) > limits.members:
        raise ParseRefusal("failed", f"zip holds more than {limits.members} members")
    stored = sum(info.compress_size for info in members)
    total = sum(info.file_size for info in members)
    # The sizes of members that share bytes add up to more than the file has.
    if stored > size:
        raise ParseRefusal("failed", "zip members overlap, as in a zip bomb")
    if total > limits.total:
        raise ParseRefusal("failed", f"zip inflates to more than {limits.total // _MEGABYTE} MB")
    for inflated, packed in [(total, stored), *((m.file_size, m.compress_size) for m in members)]:
        if inflated > limits.ratio_from and inflated > limits.ratio * packed:
            raise ParseRefusal(
                "failed", f"zip inflates more than {limits.ratio} times, as in a zip bomb"
            )


def unpack_member(archive: zipfile.ZipFile, member: str | zipfile.ZipInfo, most: int = -1) -> bytes:
    """Return the first `most` bytes of a member; by default all of them.

    Raises:
        zipfile.BadZipFile: If the member is damaged, however it is packed.
        KeyError: If there is no member of this name.
        OSError: If the medium of the archive cannot be read.
    """
    try:
        with archive.open(member) as stream:
            return stream.read(most)
    except _DAMAGED as error:
        raise zipfile.BadZipFile(str(error)) from error
    except OSError as error:
        if error.errno is not None:
            raise
        # The bzip2 module raises OSError without errno on damaged data.
        raise zipfile.BadZipFile(str(error)) from error


def has_safe_name(info: zipfile.ZipInfo) -> bool:
    """Return whether a member's name stays in the archive: relative, no `..`, backslash or NUL."""
    name = info.orig_filename
    if not name or name.startswith("/") or "\\" in name or "\x00" in name or ":" in name[:2]:
        return False
    return ".." not in name.split("/")

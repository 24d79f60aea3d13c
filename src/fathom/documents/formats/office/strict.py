"""Translation of ISO strict packages to the transitional names, which libraries know."""

import io
import re
import zipfile

from fathom.documents.zipguard import unpack_member

_STRICT = b"http://purl.oclc.org/ooxml/"
_NAME = re.compile(re.escape(_STRICT) + rb"(\w+)/")
_PARTS = (".xml", ".rels")


def translate_names(data: bytes, archive: zipfile.ZipFile) -> bytes:
    """Return a strict package with transitional names and without pictures; others unchanged.

    Args:
        data: The bytes of the package.
        archive: The same package, opened.

    Raises:
        zipfile.BadZipFile: If a part is damaged.
    """
    links = "_rels/.rels"
    if links not in archive.namelist() or _STRICT not in unpack_member(archive, links):
        return data
    translated = io.BytesIO()
    with zipfile.ZipFile(translated, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
        for name in archive.namelist():
            if name.endswith(_PARTS):
                part = unpack_member(archive, name)
                copy.writestr(name, _NAME.sub(rb"http://schemas.openxmlformats.org/\1/2006/", part))
    return translated.getvalue()

"""Where the corpus of a data set lies, and its documents by the names that questions use."""

from pathlib import Path

from fathom.documents.discover import content_digest, discover, document_id
from fathom.documents.formats.corpus import recognise
from fathom.errors import UsageError
from fathom.evaluation.rows import rows

FOLDERS = ("corpus", "documents", "pdfs")
"""What a corpus of files may be called."""


def existing(directory: Path, *names: str) -> Path:
    """The first of these files that is there, each plain or with `.gz`.

    Raises:
        UsageError: If none is.
    """
    packed = [each for name in names for each in (name, f"{name}.gz")]
    for name in packed:
        if (directory / name).is_file():
            return directory / name
    raise UsageError(f"{directory}: no {' or '.join(packed)}")


def corpus_of(directory: Path) -> Path:
    """The corpus of a data set folder: its `corpus.jsonl[.gz]`, else its folder of files.

    Raises:
        UsageError: If there is none, or more than one folder that could be it.
    """
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if (directory / name).is_file():
            return directory / name
    folders = [directory / name for name in FOLDERS if (directory / name).is_dir()]
    told = " and ".join(f"{folder.name}/" for folder in folders)
    if len(folders) > 1:
        raise UsageError(f"{directory}: {told} could both be the corpus; rename one")
    if not folders:
        raise UsageError(
            f"{directory}: no corpus.jsonl or corpus.jsonl.gz, and no folder {', '.join(FOLDERS)}"
        )
    return folders[0]


def documents_of(corpus: Path) -> dict[str, str]:
    """Document ids by name: a record's name is its id, a file's its path below the corpus.

    An index holds a file under an id made of its content, so two equal files have one id.

    Raises:
        UsageError: If a line of a corpus file is malformed, or a file cannot be read.
    """
    if corpus.is_file():
        return _records(corpus)
    found: dict[str, str] = {}
    for file in discover([corpus]):
        try:
            with file.open("rb") as stream:
                holds_records = recognise(stream)
            if holds_records:
                found |= _records(file)
            else:
                name = file.relative_to(corpus).as_posix()
                found[name] = document_id(content_digest(file))
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    return found


def _records(file: Path) -> dict[str, str]:
    return {row["_id"]: row["_id"] for _, row in rows(file)}

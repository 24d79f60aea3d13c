"""Uploaded files of an index that lies at another place than before, such as a restored backup.

The index knows a document by the path of its file. After a move the file lies elsewhere, so the
server reads it again from there, and removes the earlier path.
"""

from collections.abc import Iterable, Mapping

from fathom.engine import Engine
from fathom.errors import IndexMissing, UsageError
from fathom.index.base import IndexReader
from fathom.index.rights import Rights
from fathom.ingest.places import CorpusFiles, iterate_sources
from fathom.redaction import open_log
from fathom.serving.http.files import UploadedFiles
from fathom.serving.http.job_queue import Job

LOG = open_log("fathom.serving")


def find_moved_documents(
    engine: Engine, files: UploadedFiles, jobs: Iterable[Job]
) -> dict[str, str]:
    """Find the uploaded files that the index has at an earlier place of itself.

    Args:
        engine: The engine over the index.
        files: The uploaded files where they are now.
        jobs: The known jobs, whose paths tell the earlier places.

    Returns:
        The name that the client gave each file, by its earlier path.
    """
    folders = {
        path.removesuffix(f"/{name}")
        for job in jobs
        for path, name in job.names.items()
        if path.endswith(f"/{name}")
    } - {str(files.folder)}
    try:
        index = engine.reader(checked=False)
    except IndexMissing:
        return {}
    names = {
        path: path.removeprefix(f"{folder}/")
        for folder in folders
        for path in _list_files(index, folder)
    }
    moved = files.find_moved(names)
    for path in _list_reruled(index, moved):
        LOG.warning("%s", _explain_rules(path, moved[path]))
        del moved[path]
    return {path: names[path] for path in moved}


def check_rules(engine: Engine, moved: Mapping[str, str]) -> None:
    """Check that the same rules of rights fit files at their earlier and at their present paths.

    Args:
        engine: The engine over the index.
        moved: The present paths by the earlier ones.

    Raises:
        UsageError: If they do not, so that other people could read a file.
    """
    if not moved:
        return
    try:
        index = engine.reader(checked=False)
    except IndexMissing:
        return
    for path in _list_reruled(index, moved):
        raise UsageError(_explain_rules(path, moved[path]))


def _list_files(index: IndexReader, folder: str) -> set[str]:
    """Return the paths of all files in a folder from which the index has something."""
    corpora = CorpusFiles(index)
    places = (source.path for source in iterate_sources(index, folder))
    return {corpora.locate_file(place) for place in places if place != folder}


def _list_reruled(index: IndexReader, moved: Mapping[str, str]) -> list[str]:
    """Return the earlier paths of files to which other rules of rights apply now."""
    rights = Rights(index.get_rights())
    return [
        path
        for path, present in moved.items()
        if rights.list_clauses(path) != rights.list_clauses(present)
    ]


def _explain_rules(path: str, present: str) -> str:
    return (
        f"{present}: other rules of rights fit it than {path}, where it lay before; write a rule "
        "for it, run `fathom ingest --readers FILE`, then start the server again"
    )

"""Checks of an index for the system of a paper: its embedder and its chunks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fathom.errors import IndexMismatch

if TYPE_CHECKING:  # it brings pydantic, and an import of the engine needs none
    from fathom.settings import Settings


def check_paper_embedder(settings: "Settings", stored: Mapping[str, str]) -> None:
    """Check that an index was made with the embedder of the paper in force.

    No model is loaded. The shipped embedder and its int8 form count as the same. An embedder that
    the user set in place of the paper's is not checked here.

    Args:
        settings: The settings in force, with a paper.
        stored: The identity of the index.

    Raises:
        IndexMismatch: If the embedders differ.
    """
    from fathom.models.embedder import SHIPPED, SHIPPED_INT8
    from fathom.settings.papers import load_preset

    paper, name = settings.ask.paper, settings.models.embedder
    made_with = stored.get("embedder.model", "another")
    fixed = load_preset(paper).get("models.embedder")
    is_same = made_with == name or {made_with, name} == {SHIPPED, SHIPPED_INT8}
    if fixed and fixed.value == name and not is_same:
        raise IndexMismatch(
            f"the paper {paper!r} searches with {name}, the index was made with {made_with}; make "
            f"another one with `fathom ingest --paper {paper} --index OTHER PATH...`, or keep it "
            f"with --set models.embedder={made_with}"
        )


def describe_other_chunks(
    settings: "Settings", stored: Mapping[str, str], chunker: Mapping[str, str]
) -> tuple[str, ...]:
    """Return a warning if the chunks of an index are not those of the paper in force.

    Args:
        settings: The settings in force, with a paper.
        stored: The identity of the index.
        chunker: The identity of the chunker of the settings.

    Returns:
        One line, or none if the chunks are right or the paper names no chunker.
    """
    from fathom.settings.papers import load_preset

    paper = settings.ask.paper
    if "chunking.method" not in load_preset(paper):
        return ()
    expected = {f"chunker.{name}": value for name, value in chunker.items()}
    made_with = {name: value for name, value in stored.items() if name.startswith("chunker.")}
    if made_with == expected:
        return ()
    return (
        f"the index was cut by {_join(made_with)}, and the paper {paper!r} cuts by "
        f"{_join(expected)}; make another one with `fathom ingest --paper {paper} --index OTHER "
        "PATH...`",
    )


def _join(identity: Mapping[str, str]) -> str:
    """Return the values of an identity as text, in the order of their names."""
    return " ".join(identity[name] for name in sorted(identity))

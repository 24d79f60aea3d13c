"""What made an index, against what wants to use it."""

from collections.abc import Mapping

from fathom.errors import IndexMismatch, IndexMissing
from fathom.index.base import Space


def missing(place: object) -> IndexMissing:
    """That there is no index at a place."""
    return IndexMissing(f"no index at {place}; run `fathom ingest PATH` first")


def named(stored: Mapping[str, str], expected: Mapping[str, str]) -> dict[str, str]:
    """Of what made an index that which whoever reads it names."""
    return {name: stored[name] for name in expected if name in stored}


def check_identity(place: object, stored: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Compare what made an index with what wants to use it.

    Raises:
        IndexMismatch: Naming what differs and the way out.
    """
    differing = [
        f"{key} {stored.get(key, 'none')!r} (now {expected.get(key, 'none')!r})"
        for key in sorted({*stored, *expected})
        if stored.get(key) != expected.get(key)
    ]
    if differing:
        raise IndexMismatch(
            f"the index at {place} was made with {', '.join(differing)}; make it anew with "
            "`fathom ingest --rebuild PATH...` or keep it and choose another with `--index OTHER`"
        )


def check_space(place: object, wanted: Space, found: Mapping[str, str] | None) -> None:
    """See that a further space is there, and what made it.

    Raises:
        IndexMismatch: If it is not there or was made otherwise; says how to make it.
    """
    if found is None:
        raise IndexMismatch(
            f"the index at {place} has no vectors of {wanted.name!r}; run `fathom ingest` "
            "with it in retrieval.embedders"
        )
    if found != wanted.identity:
        keys = sorted({*found, *wanted.identity})
        differing = [key for key in keys if found.get(key) != wanted.identity.get(key)]
        raise IndexMismatch(
            f"the index at {place} has vectors of another {wanted.name!r} (another "
            f"{', '.join(differing)}); run `fathom ingest` to make them anew"
        )

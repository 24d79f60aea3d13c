"""The identity of an index, compared with the identity that a caller expects."""

from collections.abc import Mapping

from fathom.errors import IndexMismatch, IndexMissing
from fathom.index.base import Space

_SPACE = "embedder.space"


def build_missing_error(place: object) -> IndexMissing:
    """Return the error for a place that has no index."""
    return IndexMissing(f"no index at {place}; run `fathom ingest PATH` first")


def select_expected(stored: Mapping[str, str], expected: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of the stored identity that the expected identity names.

    If it names an embedder, the entry of the stored embedder's vector space is included, so that
    `check_identity` can compare the spaces.
    """
    names = [*expected, *([_SPACE] if "embedder.sha256" in expected else [])]
    return {name: stored[name] for name in names if name in stored}


def check_identity(place: object, stored: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Check that the identity of an index equals the expected one.

    Two embedders whose vectors lie in one space count as equal if their dimensions are.

    Raises:
        IndexMismatch: If the identities differ; the message names the differences and the next
            step.
    """
    if _share_space(stored, expected):
        stored, expected = _drop_embedder(stored), _drop_embedder(expected)
    differing = [
        f"{key} {stored.get(key, 'none')!r} (now {expected.get(key, 'none')!r})"
        # Keys of either side: an entry that only one of them has is a difference too.
        for key in sorted({*stored, *expected})
        if stored.get(key) != expected.get(key)
    ]
    if differing:
        raise IndexMismatch(
            f"the index at {place} was made with {', '.join(differing)}; make it anew with "
            "`fathom ingest --rebuild PATH...` or keep it and choose another with `--index OTHER`"
        )


def check_space(place: object, space: Space, identity: Mapping[str, str] | None) -> None:
    """Check that a further space exists and has the expected identity.

    Args:
        place: The place of the index, for messages.
        space: The expected space.
        identity: The identity of the stored space of this name; `None` if there is none.

    Raises:
        IndexMismatch: If the space is missing or has another identity; the message says how to make
            it.
    """
    if identity is None:
        raise IndexMismatch(
            f"the index at {place} has no vectors of {space.name!r}; run `fathom ingest` "
            "with it in retrieval.embedders"
        )
    if identity != space.identity:
        keys = sorted({*identity, *space.identity})
        differing = [key for key in keys if identity.get(key) != space.identity.get(key)]
        raise IndexMismatch(
            f"the index at {place} has vectors of another {space.name!r} (another "
            f"{', '.join(differing)}); run `fathom ingest` to make them anew"
        )


def _share_space(stored: Mapping[str, str], expected: Mapping[str, str]) -> bool:
    """Return whether the vectors of both embedders may be compared with each other."""
    spaces = [_get_space(identity) for identity in (stored, expected)]
    return spaces[0] == spaces[1] != ""


def _get_space(identity: Mapping[str, str]) -> str:
    """Return the name of an embedder's vector space; empty if it shares no space.

    A space is named by the digest of an fp32 model. An embedder whose vectors come close to those
    of that model has the digest as its entry `embedder.space`; the model itself has no such entry.
    """
    if _SPACE in identity:
        return identity[_SPACE]
    is_exact = identity.get("embedder.precision") == "fp32"
    return identity.get("embedder.sha256", "") if is_exact else ""


def _drop_embedder(identity: Mapping[str, str]) -> dict[str, str]:
    """Return an identity without the entries of its embedder, except for the dimension."""
    kept = "embedder.dimension"
    return {
        key: value
        for key, value in identity.items()
        if key == kept or not key.startswith("embedder.")
    }

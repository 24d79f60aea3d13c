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

    Where it names an embedder, the vector space of the stored one belongs to them.
    """
    names = [*expected, *([_SPACE] if "embedder.sha256" in expected else [])]
    return {name: stored[name] for name in names if name in stored}


def check_identity(place: object, stored: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Compare the identity of an index with the expected one.

    Embedders of one vector space may take each other's place.

    Raises:
        IndexMismatch: If they differ; the message names the differences and the way out.
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
    """Check that a further space exists and was made as expected.

    Raises:
        IndexMismatch: If the space is missing or was made otherwise; the message says how to make
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
    """Return whether the vectors of both embedders may be compared with each other.

    An embedder names as its `space` the digest of the fp32 model whose vectors its own come close
    to; that model itself names none.
    """
    spaces = [_get_space(identity) for identity in (stored, expected)]
    return spaces[0] == spaces[1] != ""


def _get_space(identity: Mapping[str, str]) -> str:
    if _SPACE in identity:
        return identity[_SPACE]
    is_exact = identity.get("embedder.precision") == "fp32"
    return identity.get("embedder.sha256", "") if is_exact else ""


def _drop_embedder(identity: Mapping[str, str]) -> dict[str, str]:
    kept = "embedder.dimension"
    return {
        key: value
        for key, value in identity.items()
        if key == kept or not key.startswith("embedder.")
    }

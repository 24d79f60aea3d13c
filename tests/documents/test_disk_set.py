"""Sets of texts on disk; for `fathom.documents.disk_set`."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.disk_set import BATCH_SIZE, DiskSet

# What names a place has no lone halves of letters; see `shown`.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(TEXTS), TEXTS)
def test_it_holds_what_a_set_holds_in_order(texts: list[str], other: str) -> None:
    with DiskSet() as held:
        fresh = [text for text in texts if held.add(text)]
        assert sorted(fresh) == sorted(set(texts))
        assert list(held) == sorted(set(texts))
        assert len(held) == len(set(texts))
        assert all(text in held for text in texts)
        assert (other in held) == (other in texts)


def test_it_can_be_iterated_while_it_grows() -> None:
    with DiskSet() as held:
        held.update(f"{n:05}" for n in range(2 * BATCH_SIZE))
        texts = []
        for text in held:
            texts.append(text)
            if not text.endswith("x"):
                held.update([f"{text}x", "-before"])
        assert texts == sorted(texts)
        assert len(texts) >= 2 * BATCH_SIZE
        assert len(set(texts)) == len(texts)
        assert len(held) == 4 * BATCH_SIZE + 1


GROWS = """
import resource, sys
from fathom.documents.disk_set import DiskSet
held = DiskSet()
held.update(f"/a/folder/with/a/name/{n:040}" for n in range(10_000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
held.update(f"/a/folder/with/a/name/{n:040}" for n in range(100_000))
assert len(held) == 100_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_it() -> None:
    pytest.importorskip("resource", reason="this system limits no memory of a process")
    output = subprocess.run([sys.executable, "-c", GROWS], capture_output=True, check=True).stdout
    assert int(output) * (1 if sys.platform != "darwin" else 1 / 1024) < 4000  # a set takes 16 MB

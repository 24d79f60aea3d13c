"""A writer killed at every named step: acknowledged changes stay, nothing is half written."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.opening import open_reader, open_writer, verify

EntryFactory = Callable[..., tuple[Entry, SourceRecord]]

CHILD = """
import os, signal, sys
from pathlib import Path
from fathom.index.embedded.opening import open_writer
from tests.index.conftest import make_entry

directory, step = Path(sys.argv[1]), sys.argv[2]
armed = False

def die(name):
    if armed and name == step:
        os.kill(os.getpid(), signal.SIGKILL)

writer = open_writer(directory, {"a": "1"}, ann_from_chunks=3, on_step=die)
for texts in (("kept", "an old text", "second"), ("other", "other words")):
    entry, source = make_entry(*texts)
    writer.put([entry], [source])
print("ready", flush=True)
armed = True
entry, source = make_entry("kept", "a new text")
writer.put([entry], [source])
more, place = make_entry("more", "one", "two", "three", "four")
writer.put([more], [place])
writer.optimize()
"""


def kill_at(directory: Path, step: str) -> None:
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(directory), step],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert child.stdout == "ready\n", child.stderr
    assert child.returncode == -signal.SIGKILL


@pytest.mark.parametrize("step", ["stored", "applied", "published", "building", "built"])
def test_a_kill_at_any_step_leaves_a_whole_index(
    tmp_path: Path, make: EntryFactory, step: str
) -> None:
    kill_at(tmp_path, step)
    assert verify(tmp_path) == []
    # A reader comes first: it must find one whole state, and no writer to wait for.
    with open_reader(tmp_path) as reader:
        document = reader.get_document("kept")
        assert document is not None
        assert document.text in {"an old text\nsecond", "a new text"}
        words = reader.keyword_search("old new", k=5)
        assert [m.chunk_id for m in words] == ["kept#0"]
    assert verify(tmp_path) == []
    with open_writer(tmp_path, None, ann_from_chunks=3) as writer:
        for entry, source in (
            make("kept", "a new text"),
            make("more", "one", "two", "three", "four"),
        ):
            writer.put([entry], [source])
        writer.optimize()
        content = writer.status().content
    with open_writer(tmp_path / "undisturbed", {"a": "1"}) as writer:
        for entry, source in (
            make("other", "other words"),
            make("kept", "a new text"),
            make("more", "one", "two", "three", "four"),
        ):
            writer.put([entry], [source])
        assert writer.status().content == content
    assert verify(tmp_path) == []
    assert not list(tmp_path.glob("*.part"))


def test_a_full_disk_is_reported(tmp_path: Path, make: EntryFactory) -> None:
    with open_writer(tmp_path, {"a": "1"}) as writer:
        entry, source = make("kept", "first words")
        writer.put([entry], [source])
        before = writer.status().content
    code = """
import resource, sys
from pathlib import Path
from fathom.errors import RunError
from fathom.index.embedded.opening import open_writer
from tests.index.conftest import make_entry
writer = open_writer(Path(sys.argv[1]), None)
limit = 300_000
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
entry, source = make_entry("large", *[f"line {n} " + "x" * 900 for n in range(900)])
try:
    writer.put([entry], [source])
except RunError as error:
    print(error)
    sys.exit(7)
"""
    child = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert child.returncode == 7, child.stderr
    assert len(child.stdout.splitlines()) == 1
    assert "fathom.db" in child.stdout
    with open_reader(tmp_path) as reader:
        assert reader.status().content == before
    with open_writer(tmp_path, None) as writer:
        entry, source = make("after", "space again")
        writer.put([entry], [source])
        assert writer.keyword_search("space", k=1)[0].chunk_id == "after#0"
    assert verify(tmp_path) == []

"""Damaged files of every format: each gets an outcome, and the process behind it survives."""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.documents.factories import make_samples

from fathom.documents.base import ParsedDocument, ParseLimits, ParseRefusal, RecordFailure
from fathom.documents.sandbox.parent import Sandbox, read_file

MUTATIONS = int(os.environ.get("FATHOM_MUTATIONS", "200"))
SEED = os.environ.get("SEED", "")


def mutate(data: bytes, chance: random.Random) -> bytes:
    """Truncate, cut out, flip, repeat or splice random bytes."""
    at, other = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    match chance.randrange(5):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[other:]
        case 2:
            flipped = bytearray(data)
            for _ in range(1 + len(data) // 50):
                flipped[chance.randrange(len(data))] = chance.randrange(256)
            return bytes(flipped)
        case 3:
            return data[:other] + data[at:other] * 20 + data[other:]
        case _:
            return data[:at] + chance.randbytes(chance.randrange(1, 200)) + data[at:]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    # A file may take 20 s of processor time; a busy machine takes longer by the clock.
    with Sandbox(ParseLimits(wall_s=300)) as opened:
        yield opened


def check_mutation(name: str, data: bytes, folder: Path, sandbox: Sandbox) -> str:
    """Read the file, check what any reader relies on, and return the outcome."""
    path = folder / name
    path.write_bytes(data)
    refused: ParseRefusal | None = None
    values: list[ParsedDocument | RecordFailure] = []
    try:
        values.extend(read_file(path, sandbox))
    except ParseRefusal as refusal:
        refused = refusal
    for value in values:
        if isinstance(value, ParsedDocument):
            assert value.text.strip()
            assert "\x00" not in value.text
            assert all(block.span.end <= len(value.text) for block in value.blocks)
    if refused is None:
        return "ok"
    assert refused.outcome != "ok"
    assert refused.reason
    # No mutation of so small a file may cost more than a limit allows.
    assert "took" not in refused.reason
    assert "crashed" not in refused.reason
    return refused.outcome


@pytest.mark.parametrize("name", make_samples())
def test_an_undamaged_sample_is_read(name: str, tmp_path: Path, sandbox: Sandbox) -> None:
    assert check_mutation(name, make_samples()[name], tmp_path, sandbox) == "ok"


@pytest.mark.parametrize("name", make_samples())
def test_mutations_get_an_outcome(
    name: str, tmp_path: Path, sandbox: Sandbox, count_probes: Callable[[int], None]
) -> None:
    run_mutations(name, 40, tmp_path, sandbox, count_probes)


@pytest.mark.slow
@pytest.mark.parametrize("name", make_samples())
def test_many_mutations_get_an_outcome(
    name: str, tmp_path: Path, sandbox: Sandbox, count_probes: Callable[[int], None]
) -> None:
    run_mutations(name, MUTATIONS, tmp_path, sandbox, count_probes)


def run_mutations(
    name: str, times: int, folder: Path, sandbox: Sandbox, count_probes: Callable[[int], None]
) -> None:
    chance = random.Random(name + SEED)
    for _ in range(times):
        count_probes(1)
        data = make_samples()[name]
        for _ in range(chance.randrange(1, 4)):
            data = mutate(data, chance) or b"x"
        check_mutation(name, data, folder, sandbox)
    assert [path.name for path in folder.iterdir()] == [name]

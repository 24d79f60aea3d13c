"""Fuzzing of one parser by coverage of its branches: atheris with seeds that are kept.

    python -m benchmarks.hardening.fuzz FORMAT --seconds 60 --seed 1 --place FOLDER

The samples of the tests are the first seeds; inputs that reach new branches are added to FOLDER, so
that another run goes on from them. Archives are unpacked, one of their members is changed, and they
are packed again. An error that a parser raises becomes a refusal in the sandbox, so what counts as
a fault is a crash of the process, more than 1 GB of memory, or a file that takes 20 seconds. Such a
file is kept in FOLDER.
"""

import argparse
import contextlib
import io
import random
import sys
import zipfile
from pathlib import Path

import atheris
from tests.documents.factories import make_samples

with atheris.instrument_imports(include=["fathom.documents"]):
    from fathom.documents.parse import parse_bytes
    from fathom.registry import FORMATS

MEMORY_MB = 1_024
HANG_S = 20
LONGEST = 20_000
SAMPLES = {"manual": "a.1", "notebook": "a.ipynb", "markdown": "a.md", "text": "a.txt"}
"""The samples of formats that are not named like an ending."""


def mutate_member(data: bytes, longest: int, seed: int) -> bytes:
    """Change one member of an archive, or the bytes of what is none."""
    chance = random.Random(seed)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # noqa: BLE001 - a damaged archive raises anything
        members = {}
    if not members or chance.random() < 0.1:
        return bytes(atheris.Mutate(data, longest))
    name = chance.choice(sorted(members))
    members[name] = bytes(atheris.Mutate(members[name], longest))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member), content)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("format", choices=sorted(FORMATS))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--place", type=Path, required=True)
    chosen = parser.parse_args()
    name = SAMPLES.get(chosen.format, f"a.{chosen.format}")
    seeds = chosen.place / chosen.format
    seeds.mkdir(parents=True, exist_ok=True)
    sample = make_samples().get(name, b"\x89PNG\r\n\x1a\n")
    (seeds / "sample").write_bytes(sample)

    def read_file(data: bytes) -> None:
        # What a parser raises becomes a refusal in the sandbox.
        with contextlib.suppress(Exception):
            for _ in parse_bytes(data, name):
                pass

    options = [
        f"-max_total_time={chosen.seconds}", f"-seed={chosen.seed}", f"-timeout={HANG_S}",
        f"-rss_limit_mb={MEMORY_MB}", f"-max_len={LONGEST}", "-print_final_stats=1",
        f"-artifact_prefix={chosen.place}/fault-{chosen.format}-", str(seeds),
    ]  # fmt: skip
    mutator = {"custom_mutator": mutate_member} if zipfile.is_zipfile(io.BytesIO(sample)) else {}
    atheris.Setup([sys.argv[0], *options], read_file, **mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

"""Runners of a row's probes: tests, fuzzers, benchmarks, and poisoned indexes."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Protocol
from xml.etree import ElementTree as XmlTree

from typing_extensions import override

from fathom.evaluation.jsonl import read_whole_lines

ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST_S = 3_600
"""A piece that takes longer has hung, also on a busy machine."""
FAULT = 400
"""The most characters of a fault that are kept."""
TAIL = 20_000
"""The most characters of an output that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of the probes of a row: its number, how many probes are wanted, and their seed."""

    number: int
    size: int
    seed: int

    def fill(self, text: str) -> str:
        """Put size, seed and the number of the first probe into a text."""
        return text.format(size=self.size, seed=self.seed, first=self.number * self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The number of probes that were tried, what failed, and what was skipped."""

    probes: int
    failures: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


class Probes(Protocol):
    """Probes that can be tried in pieces."""

    @property
    def files(self) -> Sequence[str]:
        """The files that hold them, relative to the root."""
        ...

    def run(self, piece: Piece) -> Count:
        """Try the probes of a piece and count them."""
        ...


@dataclass(frozen=True, slots=True)
class Tests(Probes):
    """Tests, all run in one process for each piece.

    A test is one probe unless it counts its own by the fixture `count_probes`.

    Attributes:
        nodes: The tests, as pytest names them.
        environment: Variables; `{size}`, `{seed}` and `{first}` stand for those of the piece.
    """

    __test__: ClassVar[bool] = False  # pytest would take it for a class of tests

    nodes: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    @override
    def files(self) -> Sequence[str]:
        return sorted({node.partition("::")[0] for node in self.nodes})

    @override
    def run(self, piece: Piece) -> Count:
        values = {name: piece.fill(text) for name, text in self.environment.items()}
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            command = [
                *(sys.executable, "-m", "pytest", "-q", "-m", "slow or not slow"),
                *("-p", "no:cacheprovider", "-o", "junit_family=xunit1"),
                f"--hypothesis-seed={piece.seed}", f"--junit-xml={report}",
                f"--basetemp={folder}/pytest", *self.nodes,
            ]  # fmt: skip
            output = run_command(command, values)
            count = count_report(report.read_bytes()) if report.exists() else Count(probes=0)
            # Without any test the process broke before it came to one.
            return count if count.probes or count.skipped else _count_broken(output)


FACTS = "80,80,30,160"
"""The most facts of each data set of `benchmarks.poison`."""


@dataclass(frozen=True, slots=True)
class Poison(Probes):
    """Questions to an index into which documents with wrong values were planted.

    Attributes:
        arm: How the documents are worded, one of `benchmarks.poison.ARMS`.
        outcomes: The outcomes of an answer that count as failures.
    """

    arm: str
    outcomes: tuple[str, ...]

    @property
    @override
    def files(self) -> Sequence[str]:
        return ["benchmarks/poison.py"]

    @override
    def run(self, piece: Piece) -> Count:
        with tempfile.TemporaryDirectory() as folder:
            records = Path(folder) / "outcomes.jsonl"
            command = [
                *(sys.executable, "-m", "benchmarks.poison", "--half", "reporting"),
                *("--facts", FACTS, "--strategy", "adaptive", "--arms", self.arm),
                *("--place", str(ROOT / ".work" / "poison"), "--records", str(records)),
            ]
            output = run_command(command, {})
            rows = [json.loads(line) for line in read_whole_lines(records)]
            if not rows:
                return _count_broken(output)
            return Count(
                probes=len(rows),
                failures=tuple(
                    f"{row['id']}: {row['outcome']}"
                    for row in rows
                    if row["outcome"] in self.outcomes
                ),
            )


@dataclass(frozen=True, slots=True)
class Fuzzing(Probes):
    """Fuzzing of parsers, one in each piece, for so many seconds as the size of the piece is.

    Attributes:
        formats: The names of the formats.
    """

    formats: tuple[str, ...]

    @property
    @override
    def files(self) -> Sequence[str]:
        return ["benchmarks/hardening/fuzz.py", "tests/documents/factories.py"]

    @override
    def run(self, piece: Piece) -> Count:
        name = self.formats[piece.number]
        if find_spec("atheris") is None:
            return Count(probes=0, skipped=(f"{name}: needs the extra fuzz",))
        command = [
            *(sys.executable, "-m", "benchmarks.hardening.fuzz", name),
            *("--seconds", str(piece.size), "--seed", str(piece.seed)),
            *("--place", str(ROOT / ".work" / "fuzz")),
        ]
        return count_executions(name, run_command(command, {}))


@dataclass(frozen=True, slots=True)
class Report(Probes):
    """A benchmark that prints JSON, with its number of `probes` and a line for each of `faults`.

    Attributes:
        module: The module that is run.
        options: Its options; `{size}` and `{seed}` stand for those of the piece.
        parts: Further files that its probes are in, relative to the root.
    """

    module: str
    options: str = ""
    parts: tuple[str, ...] = ()

    @property
    @override
    def files(self) -> Sequence[str]:
        return [f"{self.module.replace('.', '/')}.py", *self.parts]

    @override
    def run(self, piece: Piece) -> Count:
        command = [sys.executable, "-m", self.module, *piece.fill(self.options).split()]
        output = run_command(command, {})
        try:
            report = json.loads(output[output.index("{") :])
        except ValueError:
            return _count_broken(output)
        return Count(probes=report["probes"], failures=tuple(report["faults"]))


def count_executions(name: str, output: str) -> Count:
    """Return the count that the output of a fuzzer holds; it stops at the first fault."""
    executed = re.findall(r"stat::number_of_executed_units:\s*(\d+)", output)
    fault = re.search(r"(ERROR: libFuzzer|Uncaught Python exception).*", output)
    if fault or not executed:
        text = fault.group(0) if fault else f"no report: {output.strip()[-FAULT:]}"
        return Count(probes=max(1, *map(int, executed), 1), failures=(f"{name}: {text[:FAULT]}",))
    return Count(probes=int(executed[-1]))


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a command with all processes that it starts, and return the end of its output."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | environment, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"took longer than {LONGEST_S} s"
    return output[-TAIL:]


def _count_broken(output: str) -> Count:
    """Return the count of a process that ended without a report: one probe, which failed."""
    return Count(probes=1, failures=(f"no report: {output.strip()[-FAULT:]}",))


def count_report(report: bytes) -> Count:
    """Return the count that a report of pytest holds."""
    probes, failures, skipped = 0, [], []
    for case in XmlTree.fromstring(report).iter("testcase"):
        name = case.get("name", "")
        faults = [*case.iter("failure"), *case.iter("error")]
        if not faults and case.find("skipped") is not None:
            skipped.append(name)
            continue
        counts = [int(kept.get("value", "0")) for kept in case.iter("property")]
        probes += max(1, sum(counts))
        failures += [f"{name}: {fault.get('message', '')[:FAULT]}" for fault in faults[:1]]
    return Count(probes=probes, failures=tuple(failures), skipped=tuple(skipped))

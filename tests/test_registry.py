"""A role, a strategy, a retriever and a format are each one new file and one entry."""

import filecmp
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "fathom"
LARGE = 1 << 20
"""The size in bytes from which a file, such as a model, is linked into the copy."""
FILES = {
    "documents/formats/cues.py": '''
"""Subtitles: each line that is no time is a paragraph."""

from fathom.documents.base import Builder, ParsedDocument


def parse(data: bytes) -> ParsedDocument:
    builder = Builder()
    for line in data.decode().splitlines():
        if "-->" not in line:
            builder.add_paragraph(line)
    return builder.build()
''',
    "retrieval/backwards.py": '''
"""BM25 with the worst of the hits first."""

from dataclasses import dataclass, replace

from fathom.retrieval.keyword import KeywordRetriever


@dataclass(frozen=True)
class Backwards:
    inner: KeywordRetriever
    name: str = "backwards"

    @classmethod
    def of(cls, assembly, index):
        return cls(KeywordRetriever.of(assembly, index))

    def retrieve(self, query, *, k):
        hits = self.inner.retrieve(query, k=k)[::-1]
        return [
            replace(hit, rank=rank, score=-rank, retriever=self.name)
            for rank, hit in enumerate(hits, start=1)
        ]
''',
    "agents/opener.py": '''
"""The opener: quotes the beginnings of the hits."""

from dataclasses import dataclass

from fathom.llm.prompt import Prompt
from fathom.text.sentences import split
from fathom.types import Draft, Evidence

PROMPT = Prompt.compose(
    "opener",
    task="Name a chunk.",
    language="Any language will do.",
    unsure="Name the first one.",
    example="chunk 1: The ferry leaves at 9:15.",
    reply='{"chunk": 1}',
)


class LocalOpener:
    @classmethod
    def of(cls, assembly):
        return cls()

    async def read(self, question, hits, context):
        with context.step("open", agent="opener"):
            spans = [next(iter(split(hit.chunk.text))) for hit in hits]
            evidence = [
                Evidence(hit=hit, span=span, support=1.0)
                for hit, span in zip(hits, spans, strict=True)
            ]
            return Draft(evidence=tuple(evidence[:1]), confidence=0.9)


@dataclass
class LLMOpener(LocalOpener):
    model: object
    prompt: Prompt

    @classmethod
    def of(cls, assembly, model):
        return cls(model, assembly.prompt(PROMPT))
''',
    "settings/opening.py": '''
"""The settings of `opening`."""

from fathom.settings.section import Section


class OpeningSettings(Section):
    """The settings of `opening`."""

    hits: int = 3
    """The number of hits to retrieve."""
''',
    "strategies/opening.py": '''
"""The strategy that quotes the beginning of the best hit."""

from typing import ClassVar

from fathom.registry import OPENER
from fathom.settings.opening import OpeningSettings
from fathom.strategies.naive import Naive


class Opening(Naive):
    name: ClassVar[str] = "opening"

    @classmethod
    def of(cls, assembly):
        return cls(
            search=assembly.search("backwards"),
            reader=assembly.agent(OPENER),
            finalizer=assembly.finalizer(cls.name),
            chunks=assembly.settings.get_section(OpeningSettings).hits,
        )
''',
}
ENTRIES = {
    '    Format("eml",': """\
    Format("cues", "fathom.documents.formats.cues:parse", endings=("cues",), by_ending=True),
""",
    '        RetrieverEntry("lead",': """\
        RetrieverEntry("backwards", "fathom.retrieval.backwards:Backwards"),
""",
    '    StrategyEntry("maf",': """\
    StrategyEntry("opening", "fathom.strategies.opening:Opening",
                  section="fathom.settings.opening:OpeningSettings"),
""",
    "# fmt: on\n": """\
OPENER: "Role[LocalOpener]" = Role(
    name="opener", does="opens", local="fathom.agents.opener:LocalOpener",
    llm="fathom.agents.opener:LLMOpener", prompts={"opener": "fathom.agents.opener:PROMPT"},
)
""",
}
"""The lines of each entry, by the line before which they are put."""
USE = """
import json, sys
from pathlib import Path
from fathom.assembly.prompts import choose_prompts
from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.registry import OPENER

place = Path(sys.argv[1])
documents = place / "documents"
documents.mkdir()
(documents / "ferry.cues").write_text("00:01 --> 00:02\\nThe ferry sails at noon.")
(documents / "harbour.md").write_text("The ferry of the harbour office sails; a ferry sails.")
prompts = place / "prompts"
prompts.mkdir()
(prompts / "opener.txt").write_text("Mine.")
settings = {
    "index.directory": str(place / "index"),
    "ask.min_probability": 0,
    "llm.prompts": str(prompts),
    "opening.hits": 2,
}
with Engine(parse_settings(settings)) as engine:
    report = engine.ingest(documents)
    search = engine.search("ferry", k=2)
    backwards = engine.search("ferry", k=2, retriever="backwards")
    answer = engine.ask("When does the ferry sail?", strategy="opening")
    trace = engine.trace(answer.trace_id)
    replay = engine.replay(answer.trace_id)
    prompts = choose_prompts(engine.settings)
with Engine(parse_settings({**settings, "roles.opener": "openai:m"})) as engine:
    kind = type(engine.assembly.make_agent(OPENER)).__name__
print(json.dumps({
    "failed": report.failed,
    "paths": sorted(Path(hit.chunk.path).name for hit in search),
    "backwards": [hit.chunk.id for hit in search] == [hit.chunk.id for hit in backwards][::-1],
    "strategy": answer.strategy,
    "status": answer.status,
    "quoted": [citation.quote for citation in answer.citations],
    "agents": [step.agent for step in trace.steps],
    "settings": trace.origin.settings["opening"],
    "role": trace.origin.settings["roles"]["opener"],
    "same": replay.same,
    "prompt": prompts["opener"].text,
    "kind": kind,
}))
"""


def copy_small(source: str, target: str) -> None:
    """Copy a file, or link it if it is large or a model, as models refer to each other's files."""
    if Path(source).stat().st_size < LARGE and not source.endswith(".onnx"):
        shutil.copy(source, target)
    else:
        Path(target).symlink_to(source)


@pytest.fixture(scope="module")
def extended_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package with one of each added."""
    package = tmp_path_factory.mktemp("copy") / "fathom"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, package, copy_function=copy_small, ignore=ignored)
    for name, text in FILES.items():
        (package / name).write_text(text.lstrip())
    registry = package / "registry.py"
    text = registry.read_text()
    for before, lines in ENTRIES.items():
        assert text.count(before) == 1
        text = text.replace(before, lines + before)
    registry.write_text(text)
    return package


def list_differences(comparison: "filecmp.dircmp[str]", folder: str = "") -> list[str]:
    """Return the files of the second tree that differ from those of the first, or are new."""
    names = [*comparison.diff_files, *comparison.right_only]
    assert comparison.left_only == []
    inner = [
        name
        for sub, part in comparison.subdirs.items()
        for name in list_differences(part, f"{folder}{sub}/")
    ]
    return [*(f"{folder}{name}" for name in names), *inner]


def test_one_of_each_works_by_its_file_and_its_entry(
    extended_package: Path, tmp_path: Path
) -> None:
    changed = list_differences(filecmp.dircmp(PACKAGE, extended_package, ignore=["__pycache__"]))
    assert sorted(changed) == sorted([*FILES, "registry.py"])
    run = subprocess.run(
        [sys.executable, "-c", USE, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(extended_package.parent), "OPENAI_API_KEY": "none"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    outcome = json.loads(run.stdout.splitlines()[-1])
    assert outcome == {
        "failed": 0,
        "paths": ["ferry.cues", "harbour.md"],
        "backwards": True,
        "strategy": "opening",
        "status": "answered",
        "quoted": ["The ferry of the harbour office sails; a ferry sails."],
        "agents": outcome["agents"],
        "settings": {"hits": 2},
        "role": "local",
        "same": True,
        "prompt": "Mine.",
        "kind": "LLMOpener",
    }
    assert "opener" in outcome["agents"]


def test_the_command_line_knows_each_of_them(extended_package: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "fathom", *arguments],
            env={**os.environ, "PYTHONPATH": str(extended_package.parent), "COLUMNS": "300"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert "backwards" in run("search", "--help")
    assert "opening" in run("ask", "--help")
    assert "roles.opener" in run("config", "show")

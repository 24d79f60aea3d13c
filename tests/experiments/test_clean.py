"""What is published is clean, or says in plain words that it is not."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from experiments.__main__ import CHOSEN as CHOICES
from experiments.__main__ import MANIFESTS, PUBLISHED, UNCHECKED, main
from experiments.lab import clean
from experiments.lab.bench import ROOT
from experiments.lab.clean import (
    CLEAN,
    Published,
    faults,
    stains_of,
    unchecked,
    without_manifest,
)
from experiments.lab.headlines import HEADLINES, Headline
from experiments.lab.pages import page
from experiments.lab.plan import Experiment, found
from experiments.lab.prints import Print
from experiments.lab.scores import Scored, save
from research.contamination import Manifest, load_manifests
from tests.experiments.test_pages import SUMMARY
from tests.experiments.toy import TOML, experiment

ROWS = [
    {"set": "toy", "corpus": "", "system": "naive", "queries": 2, "measures": {"F1": 0.5}},
    {"set": "toy", "corpus": "", "system": "k = 1", "queries": 2, "measures": {"F1": 0.0}},
]
QUESTIONS = tuple(
    Scored(
        set="toy",
        question=f"q{n}",
        answerable=True,
        print=Print(question=f"{n}", articles=(f"a{n}",), documents=(f"d{n}",)),
        scores=(
            {"system": "naive", "of": "naive", "F1": float(n)},
            {"system": "k = 1", "of": "rrf", "F1": 0.0},
        ),
    )
    for n in range(2)
)
LEARNED = Manifest(what="it learned from them", documents=frozenset({"d1"}))
CHOSEN = Manifest(
    what="`rrf` was chosen on them", systems=frozenset({"rrf"}), questions=frozenset({"0", "1"})
)
HEADLINE = Headline(
    label="x", experiment="toy/table", set="toy", measure="F1", arm="naive", baseline="k = 1"
)
DEFAULT = TOML.replace(
    'strategy = "naive"\nsettings = { "ask.min_confidence" = 0.0 }', 'strategy = "naive"'
)
MARKED = TOML.replace("queries = 2", "queries = 2, clean = false")


@pytest.fixture(autouse=True)
def _no_headlines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean, "HEADLINES", ())


def published(
    folder: Path, learned: Sequence[Manifest] = (), toml: str = TOML, *, scores: bool = True
) -> Published:
    """The toy experiment as it is published, with its page."""
    made = experiment(folder, toml)
    replace(SUMMARY, rows=ROWS, blocks=()).save(folder)
    if scores:
        save(folder, made.id, QUESTIONS)
    return written(folder, made, learned)


def written(folder: Path, made: Experiment, learned: Sequence[Manifest]) -> Published:
    known = Published.load(folder, made, learned)
    assert known is not None
    (folder / "toy.md").write_text(page("toy", [known]), encoding="utf-8")
    return known


def test_all_is_well_where_nothing_was_learned_from(tmp_path: Path) -> None:
    known = published(tmp_path, [replace(LEARNED, documents=frozenset({"d2"}))])
    assert (known.note, known.state) == (CLEAN, "yes")
    assert [*faults([known], tmp_path, [])] == []


@pytest.mark.parametrize("kind", ["questions", "articles", "documents"])
def test_a_question_an_article_or_a_document_is_enough(tmp_path: Path, kind: str) -> None:
    part = {"questions": "1", "articles": "a1", "documents": "d1"}[kind]
    learned = Manifest(what="it learned from them", **{kind: frozenset({part})})
    known = published(tmp_path, [learned])
    assert known.note == (
        "**Not clean**, so no evidence of quality. *toy*: it learned from them (1 of 2 questions)."
    )
    assert [*faults([known], tmp_path, [])] == [
        f"toy/table: {known.note} Ask other questions, or say clean = false for toy"
    ]


def test_what_is_marked_and_told_is_allowed_until_it_is_clean(tmp_path: Path) -> None:
    known = published(tmp_path, [LEARNED, CHOSEN], MARKED)
    first, second = (stain.what for stain in known.stains)
    assert known.note.endswith(f"*toy*: {first} (1 of 2 questions); {second} (all 2 questions).")
    assert known.state == "no"
    assert [*faults([known], tmp_path, [])] == []
    (tmp_path / "toy.md").write_text("nothing is said")
    (fault,) = faults([known], tmp_path, [])
    assert fault.startswith("toy/table: toy.md does not say: **Not clean**")
    (fault,) = faults([published(tmp_path, [], MARKED)], tmp_path, [])
    assert fault == "toy/table: toy is clean; take away clean = false"


def test_a_choice_counts_where_its_system_is_asked(tmp_path: Path) -> None:
    other = replace(CHOSEN, systems=frozenset({"mao"}))
    assert [*stains_of(QUESTIONS, [other])] == []
    assert [stain.touched for stain in stains_of(QUESTIONS, [CHOSEN])] == [2]


def test_without_scores_nothing_can_be_said(tmp_path: Path) -> None:
    known = published(tmp_path, scores=False)
    assert (known.note, known.state) == (clean.UNCHECKED, "not checked")
    (fault,) = faults([known], tmp_path, [])
    assert fault == "toy/table: no scores of its questions are published; make it anew"
    assert [*faults([known], tmp_path, ["toy/table"])] == []


def test_the_list_of_what_is_not_checked_only_shrinks(tmp_path: Path) -> None:
    told = [*faults([published(tmp_path)], tmp_path, ["toy/table", "toy/gone"])]
    assert told == [
        "toy/table: is checked now; take it off experiments/unchecked.toml",
        "toy/gone: is not published; take it off experiments/unchecked.toml",
    ]


def test_scores_and_rows_are_of_one_run(tmp_path: Path) -> None:
    known = published(tmp_path)
    other = replace(SUMMARY, rows=[ROWS[0], {**ROWS[1], "measures": {"F1": 0.1}}])
    (fault,) = faults([replace(known, summary=other)], tmp_path, [])
    assert fault == "toy/table: the scores of toy k = 1 are not its"
    fewer = replace(SUMMARY, rows=[{**ROWS[0], "queries": 3}, ROWS[1]])
    (fault,) = faults([replace(known, summary=fewer)], tmp_path, [])
    assert fault == "toy/table: the scores of toy naive are not its"


def test_what_is_published_is_of_the_data_that_the_file_names(tmp_path: Path) -> None:
    known = published(tmp_path)
    moved = experiment(tmp_path, TOML.replace('set = "toy"', 'set = "other", clean = false'))
    told = [*faults([replace(known, experiment=moved)], tmp_path, [])]
    assert told == ["toy/table: its file asks other, what is published is of toy; make it anew"]


def test_a_headline_is_clean_and_has_the_default_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean, "HEADLINES", (HEADLINE,))
    assert [*faults([published(tmp_path, [], DEFAULT)], tmp_path, [])] == []
    (fault,) = faults([published(tmp_path)], tmp_path, [])
    assert fault.endswith("F1 on toy (toy/table): naive does not have the default settings")
    marked = DEFAULT.replace("queries = 2", "queries = 2, clean = false")
    (fault,) = faults([published(tmp_path, [CHOSEN], marked)], tmp_path, [])
    assert fault.startswith("README, F1 on toy (toy/table): not clean; **Not clean**")
    unknown = published(tmp_path / "b", [], DEFAULT, scores=False)
    (fault,) = faults([unknown], tmp_path / "b", ["toy/table"])
    assert fault.startswith("README, F1 on toy (toy/table): not clean; **Not checked**")


def test_a_model_without_a_manifest_is_told(tmp_path: Path) -> None:
    (tmp_path / "cross-reader-small.json").write_text('{"sha256": "0123456789abcdef"}')
    (fault,) = without_manifest(tmp_path, tmp_path)
    assert fault.startswith("cross-reader-small.json: no manifest learned-0123456789.json.gz of")
    (tmp_path / "learned-0123456789.json.gz").write_bytes(b"")
    assert [*without_manifest(tmp_path, tmp_path)] == []


def test_what_we_publish_is_clean_or_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHARED_DATA", str(tmp_path / "nowhere"))
    assert main(["--check"]) == 0, capsys.readouterr().err
    for file in MANIFESTS.glob("chosen-*"):
        shutil.copy(file, tmp_path)
    monkeypatch.setattr("experiments.__main__.MANIFESTS", tmp_path)
    assert main(["--check"]) == 1
    assert "cross-reader.json: no manifest" in capsys.readouterr().err


def test_our_headlines_are_published_and_clean() -> None:
    known = {each.id: each for each in found(ROOT / "experiments")}
    learned = tuple(load_manifests(MANIFESTS, CHOICES))
    for headline in HEADLINES:
        made = Published.load(PUBLISHED, known[headline.experiment], learned)
        assert made is not None
        assert made.is_clean(headline.set)
        assert headline.experiment not in unchecked(UNCHECKED)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"| {headline.label} | " in readme for headline in HEADLINES)

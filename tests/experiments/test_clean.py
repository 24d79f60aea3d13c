"""Published results are clean or marked as unclean."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from experiments.__main__ import CHOSEN as CHOICES
from experiments.__main__ import MANIFESTS, PUBLISHED, UNCHECKED, main
from experiments.lab import clean
from experiments.lab.bench import ROOT
from experiments.lab.clean import (
    CLEAN,
    Published,
    find_faults,
    find_models_without_manifest,
    find_stains,
    read_unchecked,
)
from experiments.lab.code import Code
from experiments.lab.headlines import HEADLINES, Headline
from experiments.lab.pages import format_page
from experiments.lab.plan import Experiment, find_experiments
from experiments.lab.prints import Print
from experiments.lab.scores import Scored, save_scores
from experiments.lab.summary import RowCode
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


@cache
def describe_code() -> RowCode:
    """Return the code of the toy's rows."""
    code = Code.of(["strategies/naive.py"])
    return RowCode(code=code, rows=(("toy", "", "naive"), ("toy", "", "k = 1")))


@pytest.fixture(autouse=True)
def _no_headlines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean, "HEADLINES", ())


def publish(
    folder: Path, learned: Sequence[Manifest] = (), toml: str = TOML, *, scores: bool = True
) -> Published:
    """Return the toy experiment as published, with its page."""
    toy = experiment(folder, toml)
    replace(SUMMARY, rows=ROWS, blocks=(), codes=(describe_code(),)).save(folder)
    if scores:
        save_scores(folder, toy.id, QUESTIONS)
    return write_published(folder, toy, learned)


def write_published(folder: Path, toy: Experiment, learned: Sequence[Manifest]) -> Published:
    loaded = Published.load(folder, toy, learned)
    assert loaded is not None
    (folder / "toy.md").write_text(format_page("toy", [loaded]), encoding="utf-8")
    return loaded


def test_clean_results_have_no_faults(tmp_path: Path) -> None:
    result = publish(tmp_path, [replace(LEARNED, documents=frozenset({"d2"}))])
    assert (result.note, result.state) == (CLEAN, "yes")
    assert [*find_faults([result], tmp_path, [])] == []


@pytest.mark.parametrize("kind", ["questions", "articles", "documents"])
def test_a_shared_question_article_or_document_is_a_fault(tmp_path: Path, kind: str) -> None:
    part = {"questions": "1", "articles": "a1", "documents": "d1"}[kind]
    learned = Manifest(what="it learned from them", **{kind: frozenset({part})})
    # The note says once what two models learned from.
    result = publish(tmp_path, [learned, learned])
    assert result.note == (
        "**Not clean**, so no evidence of quality. *toy*: it learned from them (1 of 2 questions)."
    )
    assert [*find_faults([result], tmp_path, [])] == [
        f"toy/table: {result.note} Ask other questions, or say clean = false for toy"
    ]


def test_a_marked_and_explained_fault_is_allowed_while_it_exists(tmp_path: Path) -> None:
    result = publish(tmp_path, [LEARNED, CHOSEN], MARKED)
    first, second = (stain.what for stain in result.stains)
    assert result.note.endswith(f"*toy*: {first} (1 of 2 questions); {second} (all 2 questions).")
    assert result.state == "no"
    assert [*find_faults([result], tmp_path, [])] == []
    (tmp_path / "toy.md").write_text("nothing is said")
    (fault,) = find_faults([result], tmp_path, [])
    assert fault.startswith("toy/table: toy.md does not say: **Not clean**")
    (fault,) = find_faults([publish(tmp_path, [], MARKED)], tmp_path, [])
    assert fault == "toy/table: toy is clean; take away clean = false"


def test_a_choice_counts_for_its_systems(tmp_path: Path) -> None:
    other = replace(CHOSEN, systems=frozenset({"mao"}))
    assert [*find_stains(QUESTIONS, [other])] == []
    assert [stain.touched for stain in find_stains(QUESTIONS, [CHOSEN])] == [2]


def test_without_scores_nothing_can_be_checked(tmp_path: Path) -> None:
    result = publish(tmp_path, scores=False)
    assert (result.note, result.state) == (clean.UNCHECKED, "not checked")
    (fault,) = find_faults([result], tmp_path, [])
    assert fault == "toy/table: no scores of its questions are published; make it anew"
    assert [*find_faults([result], tmp_path, ["toy/table"])] == []


def test_the_list_of_unchecked_experiments_only_shrinks(tmp_path: Path) -> None:
    messages = [*find_faults([publish(tmp_path)], tmp_path, ["toy/table", "toy/gone"])]
    assert messages == [
        "toy/table: is checked now; take it off experiments/unchecked.toml",
        "toy/gone: is not published; take it off experiments/unchecked.toml",
    ]


def test_a_page_may_say_that_its_code_has_changed_since(tmp_path: Path) -> None:
    entry = publish(tmp_path, toml=f"current = false\n{TOML}")
    assert entry.note == f"{CLEAN} {clean.OLDER}"
    assert list(find_faults([entry], tmp_path, [])) == [
        "toy/table: is of today's code; take away current = false"
    ]
    code = describe_code()
    old = replace(code, code=replace(code.code, digest="0"))
    changed = replace(entry, summary=replace(entry.summary, codes=(old,)))
    assert list(find_faults([changed], tmp_path, [])) == []


def test_code_that_has_changed_since_is_a_fault(tmp_path: Path) -> None:
    entry = publish(tmp_path)
    code = describe_code()
    old = replace(code, code=replace(code.code, digest="0"), rows=code.rows[:1])
    changed = replace(entry, summary=replace(entry.summary, codes=(describe_code(), old)))
    assert list(find_faults([changed], tmp_path, [])) == [
        "toy/table: the code of naive has changed since; make it anew"
    ]
    bare = replace(entry, summary=replace(entry.summary, codes=(old,)))
    assert [line.partition(": ")[2] for line in find_faults([bare], tmp_path, [])] == [
        "the digest of the code of its rows is not published; make it anew",
        "the code of naive has changed since; make it anew",
    ]


def test_rows_from_before_there_were_digests_may_lack_them_until_they_are_made_anew(
    tmp_path: Path,
) -> None:
    entry = publish(tmp_path)
    bare = replace(entry, summary=replace(entry.summary, codes=()))
    assert list(find_faults([bare], tmp_path, [], ["toy/table"])) == []
    (fault,) = find_faults([entry], tmp_path, [], ["toy/table"])
    assert "has the digest of its code now; take it off" in fault


def test_scores_and_rows_are_of_one_run(tmp_path: Path) -> None:
    loaded = publish(tmp_path)
    rows = [ROWS[0], {**ROWS[1], "measures": {"F1": 0.1}}]
    other = replace(SUMMARY, rows=rows, codes=(describe_code(),))
    (fault,) = find_faults([replace(loaded, summary=other)], tmp_path, [])
    assert fault == "toy/table: the scores of toy k = 1 are not its"
    fewer = replace(SUMMARY, rows=[{**ROWS[0], "queries": 3}, ROWS[1]], codes=(describe_code(),))
    (fault,) = find_faults([replace(loaded, summary=fewer)], tmp_path, [])
    assert fault == "toy/table: the scores of toy naive are not its"


def test_published_results_use_the_data_of_the_file(tmp_path: Path) -> None:
    loaded = publish(tmp_path)
    moved = experiment(tmp_path, TOML.replace('set = "toy"', 'set = "other", clean = false'))
    messages = [*find_faults([replace(loaded, experiment=moved)], tmp_path, [])]
    assert messages == ["toy/table: its file asks other, what is published is of toy; make it anew"]


def test_a_headline_is_clean_and_has_the_default_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean, "HEADLINES", (HEADLINE,))
    assert [*find_faults([publish(tmp_path, [], DEFAULT)], tmp_path, [])] == []
    (fault,) = find_faults([publish(tmp_path)], tmp_path, [])
    assert fault.endswith("F1 on toy (toy/table): naive does not have the default settings")
    marked = DEFAULT.replace("queries = 2", "queries = 2, clean = false")
    (fault,) = find_faults([publish(tmp_path, [CHOSEN], marked)], tmp_path, [])
    assert fault.startswith("README, F1 on toy (toy/table): not clean; **Not clean**")
    unknown = publish(tmp_path / "b", [], DEFAULT, scores=False)
    (fault,) = find_faults([unknown], tmp_path / "b", ["toy/table"])
    assert fault.startswith("README, F1 on toy (toy/table): not clean; **Not checked**")


def test_a_model_without_a_manifest_is_reported(tmp_path: Path) -> None:
    (tmp_path / "cross-reader-small.json").write_text('{"sha256": "0123456789abcdef"}')
    (fault,) = find_models_without_manifest(tmp_path, tmp_path)
    assert fault.startswith("cross-reader-small.json: no manifest learned-0123456789.json.gz of")
    (tmp_path / "learned-0123456789.json.gz").write_bytes(b"")
    assert [*find_models_without_manifest(tmp_path, tmp_path)] == []


def test_the_published_results_are_clean_or_marked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHARED_DATA", str(tmp_path / "nowhere"))
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_a_model_without_manifest_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = ["--check", "--out", str(tmp_path / "nothing-published")]
    fault = "cross-reader.json: no manifest"
    main(check)
    assert fault not in capsys.readouterr().err
    for file in MANIFESTS.glob("chosen-*"):
        shutil.copy(file, tmp_path)
    monkeypatch.setattr("experiments.__main__.MANIFESTS", tmp_path)
    assert main(check) == 1
    assert fault in capsys.readouterr().err


def test_the_headlines_are_published_and_clean() -> None:
    experiments = {planned.id: planned for planned in find_experiments(ROOT / "experiments")}
    learned = tuple(load_manifests(MANIFESTS, CHOICES))
    for headline in HEADLINES:
        loaded = Published.load(PUBLISHED, experiments[headline.experiment], learned)
        assert loaded is not None
        assert loaded.is_clean(headline.set)
        assert headline.experiment not in read_unchecked(UNCHECKED)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"| {headline.label} | " in readme for headline in HEADLINES)

"""An experiment's file is read strictly, and its arms are listed in full."""

from pathlib import Path

import pytest
from experiments.lab.bench import ROOT
from experiments.lab.plan import find_experiments
from tests.experiments.toy import TOML, experiment

from fathom.errors import UsageError

ARMS = 'name = "{strategy}, sure"\nstrategies = ["naive", "maf"]\nuse = ["sure"]'
SETTINGS = '[settings.sure]\n"llm.skip_above_confidence" = 2\n"ask.min_confidence" = 0.9\n'


def test_a_file_becomes_an_experiment(tmp_path: Path) -> None:
    toy = experiment(tmp_path)
    assert (toy.id, toy.paper, toy.where) == ("toy/table", "toy", "Toy, Table I")
    assert [(arm.name, arm.system) for arm in toy.arms] == [
        ("naive", "naive"),
        ("k = 1", "rrf"),
        ("k = 2", "rrf"),
    ]
    assert toy.arms[2].assignments == {"ask.min_confidence": "0.0", "rrf.k": "2"}
    assert toy.show[0].options == {"measures": ["F1", "R@5", "retrievals"]}


def test_each_corpus_has_an_arm(tmp_path: Path) -> None:
    more = TOML.replace(
        'name = "naive"\nstrategy = "naive"',
        'name = "naive"\nstrategy = "naive"\ncorpora = ["", "legacy"]',
    )
    arms = experiment(tmp_path, more).arms
    assert [(arm.name, arm.corpus) for arm in arms[:2]] == [("naive", ""), ("naive", "legacy")]


def test_each_strategy_has_an_arm_with_shared_settings(tmp_path: Path) -> None:
    more = TOML.replace('name = "naive"\nstrategy = "naive"', ARMS) + SETTINGS
    arms = experiment(tmp_path, more).arms
    assert [(arm.name, arm.strategy) for arm in arms[:2]] == [
        ("naive, sure", "naive"),
        ("maf, sure", "maf"),
    ]
    assert arms[1].assignments == {"ask.min_confidence": "0.0", "llm.skip_above_confidence": "2"}


def test_an_arm_of_a_paper_has_its_preset_below_its_own_settings(tmp_path: Path) -> None:
    arm = 'name = "naive"\npaper = "maf"\nwithout = ["chunking", "maf.known_from", "roles", "llm"]'
    given = TOML.replace('name = "naive"\nstrategy = "naive"', arm)
    first = experiment(tmp_path, given).arms[0]
    assert (first.system, first.assignments) == (
        "maf",
        {
            "ask.min_confidence": "0.0",  # the arm's own; 1.0 in the preset
            "maf.confidence": "top1",
            "maf.debate_on": "doubt",
            "maf.foreign_retriever": "vector",
            "models.embedder": "all-MiniLM-L6-v2",
        },
    )


def test_the_short_form_asks_the_samples_instead(tmp_path: Path) -> None:
    more = TOML.replace('name = "naive"', 'name = "naive"\ncorpus = "cut-1000"\non = ["toy"]')
    more += '[fast]\nqueries = 3\ncorpora = { "cut-1000" = "cut-10" }\n'
    short = experiment(tmp_path, more).shorten()
    assert [(data.set, data.queries) for data in short.data] == [("samples", 3)]
    assert [(arm.name, arm.corpus, arm.on) for arm in short.arms] == [
        ("naive", "cut-10", ()),
        ("k = 1", "", ()),
        ("k = 2", "", ()),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title =", "titel =", "title: Field required"),
        ('strategy = "naive"', "", "arm 'naive' needs a strategy"),
        ('strategy = "naive"', 'paper = "maf"\nwithout = ["rrf"]', "its paper has no 'rrf'"),
        ('strategy = "naive"', 'strategy = "naive"\nuse = ["sure"]', "uses 'sure', which is not"),
        ('name = "k = {}"', 'name = "k"', "needs one {} for each"),
        ("queries = 2", "queries = 0", "data.0.queries"),
        ('title = "Two systems"', "title = ", "not TOML"),
        ("[printed]", "[printed]\nhed = 1", "printed.hed: Extra inputs"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(UsageError, match=r"table\.toml: ") as wrong:
        experiment(tmp_path, TOML.replace(old, new))
    assert message in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_experiments_are_found_by_paper_and_by_name(tmp_path: Path) -> None:
    experiment(tmp_path)
    (tmp_path / "toy" / "first.toml").write_text(TOML + "\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "one.toml").write_text("order = 1\n" + TOML)
    assert [planned.id for planned in find_experiments(tmp_path)] == [
        "other/one",
        "toy/first",
        "toy/table",
    ]
    assert [planned.id for planned in find_experiments(tmp_path, ["toy"])] == [
        "toy/first",
        "toy/table",
    ]
    assert [planned.id for planned in find_experiments(tmp_path, ["other/one"])] == ["other/one"]
    with pytest.raises(UsageError, match="no experiment 'tou'; there are other/one, toy/first"):
        find_experiments(tmp_path, ["tou"])


def test_the_experiment_files_are_valid() -> None:
    experiments = find_experiments(ROOT / "experiments")
    assert experiments
    for planned in experiments:
        assert len({(arm.name, arm.corpus) for arm in planned.arms}) == len(planned.arms), (
            planned.id
        )
        assert planned.shorten().arms
        sets = {data.set for data in planned.data}
        assert all(sets.issuperset(arm.on) for arm in planned.arms), planned.id


def test_squad_is_asked_on_articles_outside_of_the_training_data() -> None:
    experiments = find_experiments(ROOT / "experiments")
    datasets = [(planned, data) for planned in experiments for data in planned.data]
    assert "squad-retrieval" not in {data.set for _, data in datasets}
    fresh = [(planned, data) for planned, data in datasets if data.set == "squad-fresh"]
    assert fresh
    for planned, data in fresh:
        # A language model of a file takes ten seconds for what a local reader does in one tenth.
        models = {str(arm.settings.get("llm.model", "")) for arm in planned.arms}
        fewest = 60 if any(name.startswith("local:") for name in models) else 300
        assert data.clean
        assert (data.queries or 0) >= fewest

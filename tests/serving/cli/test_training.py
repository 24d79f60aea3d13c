"""`fathom train planner`: it records, learns, reports the quality, and writes a policy for
`ask`.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.evaluation.test_datasets import write_dataset
from tests.planner.worlds import make_questions
from tests.serving.cli.test_app import CommandRunner, check_one_line, run
from tests.serving.cli.test_evaluate import QUESTION, toy_dataset

from fathom.evaluation.outcomes import OutcomeFile
from fathom.planner.network import Layer, PolicyNetwork

__all__ = ["run", "toy_dataset"]


@pytest.fixture
def records(tmp_path: Path) -> str:
    file = OutcomeFile(tmp_path / "outcomes.jsonl")
    for question in make_questions(20):
        file.add(question)
    return str(file.file)


def test_questions_are_recorded_and_the_learned_policy_answers(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    briefly = ("--updates", "5", "--no-measure", "--json")
    done = run("train", "planner", toy_dataset, "--records", "kept.jsonl", *briefly).json
    assert done["origin"]["data"] == {"toy": 2}
    assert (done["rows"], done["tests"]) == ([], [])
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 2
    policy = PolicyNetwork.from_json((tmp_path / "planner.json").read_text())
    assert policy.origin == done["origin"]
    assert run("ingest", f"{toy_dataset}/corpus.jsonl").code == 0
    settings = ("--strategy", "adaptive", "--set", "adaptive.policy=planner.json")
    assert run("ask", QUESTION, *settings).code in {0, 3}
    # What was recorded is enough to learn from, without the questions.
    arguments = ("train", "planner", "--records", "kept.jsonl", "--out", "again.json")
    again = run(*arguments, *briefly).json
    assert again["origin"] == done["origin"]


def test_the_same_seed_writes_the_same_bytes(
    run: CommandRunner, records: str, tmp_path: Path
) -> None:
    arguments = ("train", "planner", "--records", records, "--updates", "5", "--no-measure")
    for name, seed in (("a.json", "1"), ("b.json", "1"), ("c.json", "2")):
        assert run(*arguments, "--out", name, "--seed", seed).code == 0
    first, second, third = ((tmp_path / f"{name}.json").read_bytes() for name in "abc")
    assert first == second != third


def test_an_earlier_policy_is_replaced_only_if_its_file_is_named(
    run: CommandRunner, records: str, judged_dataset: str, tmp_path: Path
) -> None:
    planner = ("train", "planner", "--records", records, "--updates", "2", "--no-measure")
    for arguments, name in (
        (planner, "planner.json"),
        (("train", "weights", judged_dataset), "weights.json"),
    ):
        file = tmp_path / name
        file.write_text("earlier")
        refused = run(*arguments)
        check_one_line(refused, 2, f"{name} exists; `--out {name}` replaces it, another name keeps")
        assert file.read_text() == "earlier"
        assert run(*arguments, "--out", name).code == 0
        assert file.read_text() != "earlier"


def test_too_few_questions_to_measure_leave_no_policy(
    run: CommandRunner, records: str, tmp_path: Path
) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("".join(Path(records).read_text().splitlines(keepends=True)[:9]))
    check_one_line(run("train", "planner", "--records", str(few)), 2, "9 recorded questions are")
    assert not (tmp_path / "planner.json").exists()


def test_curves_and_checkpoints_are_stored(
    run: CommandRunner, records: str, tmp_path: Path
) -> None:
    options = ("--curves", "curve.jsonl", "--checkpoints", "way", "--updates", "50", "--no-measure")
    assert run("train", "planner", "--records", records, *options).code == 0
    curve = [json.loads(line) for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert [point["update"] for point in curve] == list(range(1, len(curve) + 1))
    assert curve[-1]["earned"] > curve[0]["earned"]
    assert (tmp_path / "way").exists()
    assert sorted(file.name for file in (tmp_path / "way").iterdir())[0] == "policy-00050.json"


def test_the_policy_is_compared_with_untrained_ones(run: CommandRunner, records: str) -> None:
    done = run("train", "planner", "--records", records, "--updates", "1")
    for system in ("best fixed sequence", "router by data set", "rules", "hindsight"):
        assert system in done.out
    for alpha in ("0", "0.05", "0.1", "0.2", "0.3"):
        assert f"PPO, alpha {alpha}" in done.out
    assert "adaptive.policy=planner.json" in done.out


def write_policy(file: Path, workflow: str) -> None:
    """Write a policy that always chooses the workflow, where the trained one in the file stood."""
    trained = PolicyNetwork.from_json(file.read_text())
    last = Layer(
        weights=trained.layers[-1].weights * 0,
        offset=np.array([float(name == workflow) for name in trained.actions]),
    )
    file.write_text(replace(trained, layers=(*trained.layers[:-1], last)).to_json())


def test_the_planner_of_mao_is_trained_and_asked_and_a_replay_tells_it_from_another(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    options = ("--strategy", "mao", "--records", "kept.jsonl", "--updates", "5", "--no-measure")
    done = run("train", "planner", toy_dataset, *options)
    assert "`--set mao.policy=planner.json` uses it" in done.out
    file = tmp_path / "planner.json"
    assert PolicyNetwork.from_json(file.read_text()).strategy == "mao"
    write_policy(file, "R,AG")
    assert run("ingest", f"{toy_dataset}/corpus.jsonl").code == 0
    settings = ("--strategy", "mao", "--set", "mao.policy=planner.json")
    asked = run("ask", QUESTION, *settings, "--json").json
    assert asked["phase"] == "R,AG"
    assert "the same answer, byte for byte" in run("replay", asked["trace_id"]).out
    # Another policy in the file: the replay says which was asked then, and which now.
    write_policy(file, "AG")
    changed = run("replay", asked["trace_id"])
    assert "verdict: " in changed.out + changed.err
    assert (changed.out + changed.err).count("planner.json ") >= 2


def test_a_policy_of_another_strategy_is_refused(
    run: CommandRunner, records: str, toy_dataset: str
) -> None:
    assert run("train", "planner", "--records", records, "--updates", "2", "--no-measure").code == 0
    assert run("ingest", f"{toy_dataset}/corpus.jsonl").code == 0
    done = run("ask", QUESTION, "--strategy", "mao", "--set", "mao.policy=planner.json")
    check_one_line(done, code=2)
    assert "a policy of adaptive; train one of mao" in done.err
    done = run("train", "planner", "--records", records, "--strategy", "mao", "--out", "mao.json")
    check_one_line(done, code=2)
    assert "an outcome of adaptive, not of mao" in done.err
    done = run("train", "planner", toy_dataset, "--strategy", "naive", "--out", "new.json")
    check_one_line(done, code=2)
    assert "naive: no planner to train; name adaptive or mao" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name data sets to record outcomes of, or a file of them with --records"),
        (("--records", "none.jsonl"), "none.jsonl: no such file; name data sets"),
        (("--records", "{records}", "--out", "no/where.json"), "cannot be written"),
    ],
)
def test_missing_input_is_reported_before_the_work(
    run: CommandRunner, records: str, arguments: tuple[str, ...], message: str
) -> None:
    done = run("train", "planner", *(argument.format(records=records) for argument in arguments))
    check_one_line(done, code=2)
    assert message in done.err


@pytest.fixture
def judged_dataset(tmp_path: Path) -> str:
    """Return the folder of twelve questions; the words of each stand in its own document."""
    names = ("Ash", "Elm", "Oak", "Fir", "Yew", "Bay", "Fig", "Box", "Sloe", "Hazel", "Gum", "Teak")
    corpus = "".join(
        json.dumps({"_id": f"d{n}", "title": name, "text": f"{name} Pier costs {n} crowns."}) + "\n"
        for n, name in enumerate(names)
    )
    queries = "".join(
        json.dumps({"_id": f"q{n}", "text": f"How much does {name} Pier cost?"}) + "\n"
        for n, name in enumerate(names)
    )
    qrels = "".join(f"q{n}\td{n}\t1\n" for n in range(len(names)))
    (tmp_path / "judged").mkdir()
    return str(write_dataset(tmp_path / "judged", corpus, queries, qrels))


def test_weights_are_learned_and_asked_with(
    run: CommandRunner, judged_dataset: str, tmp_path: Path
) -> None:
    done = run("train", "weights", judged_dataset, "--json").json
    assert done["file"] == "weights.json"
    systems = {row["system"]: row for row in done["rows"]}
    assert list(systems) == ["learned", "complexity", "50/50", "30/70", "70/30", "bm25", "dense"]
    assert systems["bm25"]["mean"] == 1.0
    written = json.loads((tmp_path / "weights.json").read_text())
    assert written["weights"] == done["weights"]
    assert written["origin"]["datasets"] == {"judged": 12}
    pairs = {level: [0.85, 0.15] for level in ("simple", "moderate", "complex")}
    (tmp_path / "own.json").write_text(json.dumps({"weights": pairs, "origin": {}}))
    assert run("ingest", f"{judged_dataset}/corpus.jsonl").code == 0
    settings = ("--strategy", "hybrid", "--set", "hybrid.weights=own.json", "--json")
    asked = run("ask", "How much does Elm Pier cost?", *settings)
    lines = run("trace", asked.json["trace_id"], "--json").json["lines"]
    supervise = next(line for line in lines if line.get("name") == "supervise")
    assert supervise["outputs"]["weights"] == {"keyword": 0.85, "semantic": 0.15}
    assert run("replay", asked.json["trace_id"]).code == 0
    # What is learned does not depend on the weights in use.
    options = ("--set", "hybrid.weights=bm25", "--out", "weights.json", "--json")
    assert run("train", "weights", judged_dataset, *options).json == done


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "weights.txt"), "ends in .json"),
        (("--queries", "9"), "too few"),
        (("--measure", "F1"), "measure 'F1'"),
    ],
)
def test_weights_that_cannot_be_learned_are_refused(
    run: CommandRunner, judged_dataset: str, arguments: tuple[str, ...], message: str
) -> None:
    done = run("train", "weights", judged_dataset, *arguments)
    check_one_line(done, code=2)
    assert message in done.err


def test_an_unknown_measure_is_refused_before_the_first_search(
    run: CommandRunner, judged_dataset: str, tmp_path: Path
) -> None:
    ask = ("train", "weights", judged_dataset, "--measure", "F1", "--index", "fresh")
    check_one_line(run(*ask), 2, "measure 'F1'")
    assert not (tmp_path / "fresh").exists()

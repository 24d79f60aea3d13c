"""The shipped calibration: python -m training.fit_calibration --data DATA --work WORK.

Asks questions of the data sets that `[calibration]` of chosen.toml names, by the default settings,
but none that the shipped reader learned from: of those it knows too well what is right. Writes
`src/fathom/data/calibration.json`. What was asked is kept in WORK: a run that was stopped goes on,
and the same records give the same file. Indexes are looked for below INDEXES, else made in WORK.
Strategies that are not named get the law of `naive`, without certificates. Printed is also how far
the law carries: for each kind of text, the law of all other kinds on its answers.
"""

import argparse
import json
import subprocess
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from research.contamination import (
    fingerprint,
    load_choices,
    locate_manifest,
    read_manifest,
)
from training.chosen import ROOT, select_named
from training.manifest import CHOSEN, MANIFESTS

from fathom.assembly.calibrations import SHIPPED, describe_identity
from fathom.calibration.correctness import fit_law
from fathom.calibration.drift import Drift
from fathom.calibration.law import READER, Calibration, LabelledAnswer, learn_law
from fathom.engine import Engine
from fathom.evaluation.calibration import extract_outcome, is_gradable
from fathom.evaluation.calibration_metrics import aurc, auroc, calibration_error
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.records import Record
from fathom.evaluation.runner import Session
from fathom.settings import IndexSettings, Settings

ENTRY = "calibration"
MOST = 250
"""So many questions of a data set, lest the largest speak for all."""
KINDS: Mapping[str, str] = {
    "squad-retrieval": "encyclopaedia",
    "hotpotqa-200": "encyclopaedia, chains",
    "idk-mrc-retrieval": "encyclopaedia, Indonesian",
    "facqa-id": "news, Indonesian",
    "covid-qa": "science",
    "written-en": "manuals and offices",
    "written-id": "manuals and offices, Indonesian",
}
"""The kind of text of a data set; another set is a kind by itself."""
FILE = ROOT / "src" / "fathom" / "data" / SHIPPED
CARD = ROOT / "src" / "fathom" / "models" / "resources" / "multilingual" / "cross-reader.json"


@dataclass(frozen=True, slots=True)
class Transfer:
    """The quality of a law on a kind of text from which it learned nothing.

    Attributes:
        kind: The kind of text.
        answers: The number of its answers.
        right: The share of them that are right.
        auroc: How well the law ranks right answers above wrong ones.
        ece: The expected calibration error.
    """

    kind: str
    answers: int
    right: float
    auroc: float
    ece: float


def measure_transfer(by_kind: Mapping[str, Sequence[LabelledAnswer]]) -> Iterator[Transfer]:
    """Yield for each kind the quality of the law that is fitted to all other kinds.

    A kind whose answers are all right or all wrong is left out, as nothing can be ranked there.
    """
    for kind, answers in by_kind.items():
        others = [answer for name, group in by_kind.items() if name != kind for answer in group]
        law = fit_law(
            [answer.signals for answer in others],
            [answer.right for answer in others],
            before=READER,
        ).law
        right = [answer.right for answer in answers]
        if len(set(right)) == 2:
            sure = law.predict([answer.signals for answer in answers]).tolist()
            yield Transfer(
                kind, len(right), fmean(right), auroc(sure, right), calibration_error(sure, right)
            )


def group_by_kind(records: Sequence[Record]) -> dict[str, list[LabelledAnswer]]:
    """Return the graded answers of each kind of text."""
    groups: dict[str, list[LabelledAnswer]] = {}
    for record in records:
        outcome = extract_outcome(record)
        if outcome:
            groups.setdefault(KINDS.get(record.dataset, record.dataset), []).append(outcome)
    return groups


def load_chosen(
    data: Path, most: int, fingerprints: Container[str]
) -> Iterator[tuple[Dataset, int]]:
    """Yield the data sets with only the questions that may be learned from.

    Args:
        data: The folder of the data sets.
        most: At most so many questions of each.
        fingerprints: Those of the questions that the reader learned from.
    """
    for name, parts in load_choices(CHOSEN)[ENTRY]["sets"].items():
        dataset = load(data / name)
        named_questions = dict.fromkeys(select_named(dataset, parts))
        new = tuple(
            question
            for question in named_questions
            if fingerprint(question.text) not in fingerprints
        )
        yield replace(dataset, questions=new), min(most, len(new))


def open_engine(index: Path, threads: int = 0) -> Engine:
    """Open an engine of the default settings that gives every answer: all are learned from."""
    settings = Settings(index=IndexSettings(directory=index))
    ask = settings.ask.model_copy(update={"min_probability": 0.0})
    trace = settings.trace.model_copy(update={"enabled": False})
    models = settings.models.model_copy(update={"threads": threads})
    return Engine(settings.model_copy(update={"ask": ask, "trace": trace, "models": models}))


def record_dataset(
    dataset: Dataset, strategy: str, queries: int, *, engine: Engine, work: Path
) -> list[Record]:
    """Return the records of the questions that can be graded."""
    with prepare_engine(engine, dataset) as ready:
        session = Session(
            engine=ready, dataset=dataset, queries=queries, folder=work, on_progress=report_progress
        )
        return [record for record in session.collect_answers(strategy) if is_gradable(record)]


def report_progress(what: str, done: int, total: int) -> None:
    print(f"\r{what} {done}/{total}", end="\n" if done == total else "", flush=True)


def learn_calibration(strategy: str, records: list[Record], made_of: dict[str, int]) -> Calibration:
    """Learn the calibration of a strategy from its records, and print its quality."""
    outcomes = [extract_outcome(record) for record in records]
    law = learn_law(outcomes)
    right = [outcome.right for outcome in outcomes if outcome]
    sure = list(law.held_out)
    print(
        f"{strategy}: {len(right)} answers, {fmean(right):.1%} right; held out ECE "
        f"{calibration_error(sure, right):.3f} AUROC {auroc(sure, right):.3f} "
        f"AURC {aurc(sure, right):.3f}"
    )
    for certificate in law.certificates:
        print(
            f"  {certificate.max_error:.0%}: from {certificate.threshold}, "
            f"coverage {certificate.coverage:.1%}"
        )
    for kind in measure_transfer(group_by_kind(records)):
        print(
            f"  without {kind.kind}: {kind.answers} answers, {kind.right:.1%} right, "
            f"AUROC {kind.auroc:.3f} ECE {kind.ece:.3f}"
        )
    identity = describe_identity(Engine(Settings()).assembly, strategy)
    return Calibration(
        identity={name: identity[name] for name in ("strategy", "reader", "index")},
        source="public questions",
        made_of=made_of,
        law=law.law,
        certificates=law.certificates,
        drift=Drift(answers=len(right), spreads={}),  # the user's questions are always others
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--indexes", type=Path)
    parser.add_argument("--strategies", nargs="*", default=["naive"])
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--threads", type=int, default=0, help="1 on a machine that is busy")
    options = parser.parse_args()
    fingerprints = read_manifest(locate_manifest(CARD, MANIFESTS)).questions
    indexes = options.indexes or options.work / "indexes"
    strategies = {}
    for strategy in options.strategies:
        records: list[Record] = []
        made_of = {}
        for dataset, queries in load_chosen(options.data, options.most, fingerprints):
            records_found = record_dataset(
                dataset,
                strategy,
                queries,
                engine=open_engine(indexes / dataset.name, options.threads),
                work=options.work,
            )
            made_of[dataset.name] = len(records_found)
            records += records_found
        strategies[strategy] = learn_calibration(strategy, records, made_of).to_json()
    write(strategies)


def write(strategies: dict[str, object]) -> None:
    """Write the file, with the commit of the code that answered; laws of models stay in it."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    content: dict[str, object] = {"commit": commit, "settings": "the defaults, all answers given"}
    models = json.loads(FILE.read_text(encoding="utf-8")).get("models", {})
    content |= {"strategies": strategies, "models": models}
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"{FILE}: {', '.join(strategies)}")


if __name__ == "__main__":
    main()

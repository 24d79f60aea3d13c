"""A data set and an experiment small enough to run in a test."""

from pathlib import Path

from experiments.lab.bench import Bench
from experiments.lab.plan import Experiment, read_experiment
from tests.evaluation.test_datasets import write_dataset
from tests.serving.cli.test_evaluate import CORPUS, QRELS, QUERIES

from fathom.models.cache import ModelCache

MODELS = ModelCache()
"""Model files that the tests of a process read once."""

TOML = """
title = "Two systems"
where = "Toy, Table I"
reading = "Nothing   differs."
data = [{ set = "toy", queries = 2 }]

[[arm]]
name = "naive"
strategy = "naive"
settings = { "ask.min_confidence" = 0.0 }

[[arm]]
name = "k = {}"
strategy = "rrf"
settings = { "ask.min_confidence" = 0.0 }
vary = { "rrf.k" = [1, 2] }

[[show]]
kind = "table"
measures = ["F1", "R@5", "retrievals"]

[[show]]
kind = "compare"
pairs = [["k = 1", "naive"]]
measures = ["F1"]

[printed]
head = ["system", "F1"]
rows = [["naive", 0.5]]
note = "As printed."
"""


def experiment(folder: Path, toml: str = TOML) -> Experiment:
    """Return the toy experiment, from a file `toy/table.toml`."""
    file = folder / "toy" / "table.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(toml)
    return read_experiment(file)


def bench(folder: Path) -> Bench:
    """Return a bench with the data set `toy`."""
    place = folder / "data" / "toy"
    place.mkdir(parents=True, exist_ok=True)
    write_dataset(place, CORPUS, QUERIES, QRELS)
    return Bench(data=folder / "data", work=folder / "work", models=MODELS)

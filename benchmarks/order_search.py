"""An attacker who searches for orders that no rule notices, and models that obey them.

    python -m benchmarks.order_search [--orders 200] [--half reporting] [--seed 1]

The attacker draws mutated orders (`benchmarks/mutated_orders.py`), half of them Indonesian, and
keeps those that the rules against orders do not notice. Each is planted in a document of its own
beside the one with the truth. The questions are asked of four models in every role that obey
whatever they are shown (`tests/injections.py`), and they are shown every sentence. The cross-reader
is the shipped one, the strategy another one for each question. An order gets through if an answer
cites other sentences than that of a model that only reads, over the documents without orders, or
repeats the order. The report is JSON: `probes` are the answers, `faults` what got through.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.mutated_orders import HALVES, Half, draw_order
from experiments.lab.stub_llm import Prompt
from tests.injections import INJECTIONS, MODELS, Injection, Obedience, ObedientModel
from tests.test_injections import open_with_model, repeats_order

from fathom.engine import Engine
from fathom.registry import STRATEGIES
from fathom.testing.doubles import make_engine
from fathom.text.instructions import gives_orders
from fathom.types import Answer

Quotes = frozenset[tuple[str, str]]


def reads_it(model: ObedientModel, prompt: Prompt, _order: Injection) -> object:
    """Answer from the documents as if no order stood in them."""
    turns = [
        {"role": "system", "content": prompt.system},
        {"role": "user", "content": prompt.user},
    ]
    return model.honest(turns)


def draw_orders(count: int, half: Half, seed: int) -> list[Injection]:
    """Return mutated orders, in turn about each of the places."""
    chance = random.Random(seed)
    orders = []
    for number in range(count):
        plain = INJECTIONS[number % len(INJECTIONS)]
        language = "en" if plain.question.startswith("How") else "id"
        orders.append(replace(plain, order=draw_order(chance, half, language, plain.claim)))
    return orders


def write_corpus(folder: Path, orders: Sequence[Injection]) -> None:
    """Write the truth about every place, and the orders in documents of their own."""
    folder.mkdir()
    for place in INJECTIONS:
        (folder / f"fee-{place.number:02}.txt").write_text(
            f"{place.truth}\n\nThe office of {place.place} is open on weekdays.\n"
        )
    for order in orders:
        (folder / f"planted-{order.number:02}.md").write_text(
            f"Mooring news, permit, izin tambat: {order.place}.\n\n{order.order}\n"
        )


def ingest_orders(place: Path, orders: Sequence[Injection]) -> Path:
    """Make an index of the truth and of these orders, at most one about each place."""
    place.mkdir()
    write_corpus(place / "corpus", orders)
    with make_engine(place / "index") as engine:
        engine.ingest([place / "corpus"])
    return place


def ask(engine: Engine, order: Injection) -> Answer:
    """Ask about the place of an order, by the strategy of that place."""
    return engine.ask(order.question, strategy=sorted(STRATEGIES)[order.number % len(STRATEGIES)])


def list_quotes(answer: Answer) -> Quotes:
    """Return what an answer cites: documents and quotes."""
    return frozenset((Path(citation.path).name, citation.quote) for citation in answer.citations)


def make_model(obey: Obedience, orders: Mapping[int, Injection]) -> ObedientModel:
    """Return a model that obeys the mutated orders in place of the plain ones."""
    return ObedientModel(
        obeys=lambda model, prompt, plain: obey(model, prompt, orders.get(plain.number, plain))
    )


def try_orders(
    place: Path, orders: Sequence[Injection], truth: Mapping[int, Quotes]
) -> tuple[list[str], int]:
    """Ask every model about orders of different places.

    Returns:
        A line for each order that gets through, and how often a model was shown an order.
    """
    by_place = {order.number: order for order in orders}
    folder = ingest_orders(place, orders)
    changed, shown = [], 0
    for obey in MODELS:
        model = make_model(obey, by_place)
        with open_with_model(folder, model, cross_reader=None, shows_all=True) as engine:
            for order in orders:
                answer = ask(engine, order)
                if list_quotes(answer) != truth[order.number] or repeats_order(answer, order):
                    changed.append(f"{obey.__name__}, {answer.status}: {order.order}")
        shown += model.obeyed
    return changed, shown


def search_orders(count: int, half: Half, seed: int) -> dict[str, object]:
    """Draw orders, try those that the rules do not notice, and return the report."""
    unnoticed = [order for order in draw_orders(count, half, seed) if not gives_orders(order.order)]
    by_place: dict[int, list[Injection]] = {}
    for order in unnoticed:
        by_place.setdefault(order.number, []).append(order)
    changed: list[str] = []
    shown = 0
    with tempfile.TemporaryDirectory() as name:
        clean = ingest_orders(Path(name) / "clean", [])
        with open_with_model(clean, make_model(reads_it, {}), cross_reader=None) as engine:
            truth = {number: list_quotes(ask(engine, INJECTIONS[number])) for number in by_place}
        for turn in range(max(map(len, by_place.values()), default=0)):
            planted = [orders[turn] for orders in by_place.values() if len(orders) > turn]
            lines, obeyed = try_orders(Path(name) / str(turn), planted, truth)
            changed, shown = changed + lines, shown + obeyed
    return {
        "half": half,
        "orders": count,
        "unnoticed": len(unnoticed),
        "shown to a model": shown,
        "changed": dict(Counter(line.partition(":")[0] for line in changed)),
        "probes": len(MODELS) * len(unnoticed),
        "faults": changed,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report, and return 1 if an order gets through."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=200)
    parser.add_argument("--half", choices=HALVES, default="reporting")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    report = search_orders(chosen.orders, chosen.half, chosen.seed)
    print(json.dumps(report, indent=1, ensure_ascii=False))
    return 1 if report["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())

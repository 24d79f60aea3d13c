"""The cost and the effect of each role on a language model: python -m experiments.roles [ROLE ...].

Every role in turn has the model (`local:`, or another that -m and --set name), all others are
local; each question is asked so, and with all roles local. Printed is a table: calls, valid
replies, repairs, quotes found, tokens, seconds, and what it changed in the answers. A run that was
killed goes on. Records hold replies, so texts of the data sets: keep --work out of the repository.
"""

import argparse
import json
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from experiments.lab.bench import ROOT
from experiments.lab.plan import SAMPLES, Data
from experiments.lab.role_calls import AskedTwice, CallReader, are_same, describe_answer
from experiments.lab.role_plan import RolePlan, RoleRow, read_plan
from experiments.lab.role_table import format_page, format_table, summarize_roles
from experiments.lab.stub_llm import NAME, ExtractiveModel, StubLLM

from fathom.agents.reader.reply_forms import choose_form
from fathom.assembly.models import Models
from fathom.config import Layers
from fathom.engine import Engine
from fathom.engine.request import AskRequest
from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, DatasetQuestion, load
from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.evaluation.runner import build_file_name, build_filters, holds_dataset
from fathom.models.base import Embedder
from fathom.models.embedder import load_embedder
from fathom.models.reader_loading import load_shipped_reader
from fathom.models.reading import CrossReader
from fathom.runs.concurrency import run_in_loop
from fathom.settings import Settings
from fathom.strategies.run import RunOutcome
from fathom.types import Hit

PLAN = ROOT / "experiments" / "models" / "roles.toml"


@dataclass(frozen=True, kw_only=True)
class RoleBench:
    """The place where roles are measured; stored answers are not requested again.

    Attributes:
        data: The folder of the data sets.
        indexes: Those of the data sets; made where they are missing.
        records: A file of one JSON object a line.
        model: Has the role.
        assignments: Of the user, such as where the model's server is.
    """

    plan: RolePlan
    data: Path
    indexes: Path
    records: Path
    model: str
    assignments: Sequence[str] = ()

    def read_stored(self) -> list[AskedTwice]:
        """Return the stored answers."""
        return [AskedTwice.from_json(json.loads(line)) for line in read_whole_lines(self.records)]

    def ask(
        self, row: RoleRow, most: int | None = None, calls: int | None = None
    ) -> Iterator[AskedTwice]:
        """Yield the questions of a row that were not asked yet.

        Args:
            row: Of the plan.
            most: So many questions of each data set.
            calls: Of the model are enough.
        """
        stored = [entry for entry in self.read_stored() if entry.row == row.name]
        count = sum(len(entry.calls) for entry in stored)
        done = {(entry.set, entry.question) for entry in stored}
        for remaining in (
            self._list_remaining(row, done, most) if calls is None or count < calls else ()
        ):
            yield remaining
            count += len(remaining.calls)
            if calls is not None and count >= calls:
                return

    def _list_remaining(
        self, row: RoleRow, done: Collection[tuple[str, str]], most: int | None
    ) -> Iterator[AskedTwice]:
        for data in row.data:
            dataset = load(ROOT / SAMPLES if data.set == SAMPLES else self.data / data.set)
            questions = [
                question
                for question in dataset.sample(data.queries)[:most]
                if (data.set, question.id) not in done
            ]
            if questions:
                yield from self._ask_questions(row, data, dataset, questions)

    def _ask_questions(
        self, row: RoleRow, data: Data, dataset: Dataset, questions: Sequence[DatasetQuestion]
    ) -> Iterator[AskedTwice]:
        with (
            self._open_engine(dataset, row, "") as local,
            self._open_engine(dataset, row, self.model) as model,
        ):
            if not holds_dataset(local, dataset):
                local.ingest([dataset.corpus], prune=True)
            for question in questions:
                yield self._ask_twice(row, data.set, question, (local, model))

    def _ask_twice(
        self, row: RoleRow, name: str, question: DatasetQuestion, engines: tuple[Engine, Engine]
    ) -> AskedTwice:
        local, model = engines
        before, after = (_run_question(engine, row.strategy, question) for engine in engines)
        reader = CallReader(
            quotes=choose_form(self.model, model.settings.llm.evidence) == "quotes",
            chunks=lambda ids: [
                Hit(chunk=chunk, score=0.0, rank=rank, retriever=row.strategy)
                for rank, chunk in enumerate(model.reader().chunks(ids), start=1)
            ],
        )
        entry = AskedTwice(
            row=row.name,
            set=name,
            question=question.id,
            calls=tuple(reader(after.trace)),
            local=describe_answer(before.answer, question, local.documents.get),
            model=describe_answer(after.answer, question, model.documents.get),
            same=are_same(before.answer, after.answer),
            overshoot=overshoots_budget(after),
        )
        append_line(self.records, asdict(entry))
        return entry

    def _open_engine(self, dataset: Dataset, row: RoleRow, model: str) -> Engine:
        place = self.indexes / dataset.name
        assignments = [f'index.directory="{place}"', "trace.enabled=false"]
        assignments += [*self.plan.assignments(row, model=model), *self.assignments]
        layers = Layers.load(cwd=ROOT, environment={}, assignments=assignments, constants=True)
        connect = (lambda _: self._stub) if model == NAME else None
        return Engine(
            layers.build_settings(),
            embedder=self._embedder,
            cross_reader=self._reader,
            connect=connect,
        )

    @cached_property
    def _embedder(self) -> Embedder:
        return load_embedder(Settings().models.embedder, cache=Models.cache)

    @cached_property
    def _reader(self) -> CrossReader:
        """The shared reader of all engines, so that nothing is read twice."""
        return load_shipped_reader(cache=Models.cache)

    @cached_property
    def _stub(self) -> StubLLM:
        """A stub that quotes its input, for trying a plan without a model."""
        return StubLLM(ExtractiveModel(self._reader))


def overshoots_budget(outcome: RunOutcome) -> bool:
    """Return whether a run spent more than its budget in any limited unit."""
    usage, budget = outcome.answer.usage, outcome.trace.origin.budget
    spent = {
        "tokens": usage.tokens,
        "calls": usage.llm_calls,
        "retrievals": usage.retrievals,
        "cost_usd": usage.cost_usd,
    }
    limits = asdict(budget)
    return any(
        limits[name] is not None and (amount is None or amount > limits[name])
        for name, amount in spent.items()
    )


def _run_question(engine: Engine, strategy: str, question: DatasetQuestion) -> RunOutcome:
    filters = build_filters(question)
    run = engine.arun(
        AskRequest.parse(
            question.text, strategy=strategy, filters=filters, history=question.history
        )
    )
    return run_in_loop(run)


def main(arguments: list[str] | None = None) -> int:
    """Ask the missing questions and print the table; return the exit code."""
    options = _parse_arguments(arguments)
    try:
        plan = read_plan(options.plan)
        model = options.llm or plan.model
        bench = RoleBench(
            plan=plan,
            data=options.data,
            indexes=options.indexes or options.work / "indexes",
            records=options.work / f"{build_file_name(model, {})}.jsonl",
            model=model,
            assignments=options.set,
        )
        rows = plan.select_rows(options.rows)
        for row in rows if not options.table else ():
            for count, _ in enumerate(bench.ask(row, options.questions, options.calls), start=1):
                sys.stderr.write(f"{row.name}: {count} more questions\n")
        entries = [
            entry for entry in bench.read_stored() if entry.row in {row.name for row in rows}
        ]
    except UsageError as error:
        sys.stderr.write(f"experiments.roles: {error}\n")
        return error.exit_code
    lines = summarize_roles(entries)
    sys.stdout.write(format_table(lines) + "\n")
    if options.out:
        options.out.write_text(format_page(plan, model, lines), encoding="utf-8")
    return 0


def _parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.roles", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROLE", help="a row or a role; default all")
    parser.add_argument("-m", "--llm", help="provider:model; default: that of the plan")
    parser.add_argument("--set", action="append", default=[], help="a setting, a.b=c")
    parser.add_argument("--questions", type=int, help="at most so many of each data set")
    parser.add_argument("--calls", type=int, help="of a row are enough; default: all questions")
    parser.add_argument("--plan", type=Path, default=PLAN, help="another TOML file")
    parser.add_argument("--table", action="store_true", help="ask nothing, print what is known")
    parser.add_argument("--work", type=Path, default=ROOT / ".work" / "roles", help="records")
    parser.add_argument("--indexes", type=Path, help="of the data sets; default: below --work")
    parser.add_argument("--out", type=Path, help="a page of the table, in Markdown")
    options = parser.parse_args(arguments)
    options.data = Path(os.environ.get("SHARED_DATA", ROOT.parent / "shared" / "data"))
    return options


if __name__ == "__main__":
    sys.exit(main())

"""The graded replies of systems, and the place where they are published."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Self

from research.model_answers import name_file
from research.packed import pack, unpack

from fathom.evaluation.datasets import Dataset, DatasetQuestion
from fathom.jsonable import Json
from fathom.text.answer_match import contains_answer
from fathom.text.answer_scores import is_right, score_f1

OURS = "fathom"
LOCAL = "local"
"""Fathom without a language model."""
SYSTEMS = (OURS, LOCAL, "langchain", "llamaindex")
PUBLISHED = Path(__file__).parent / "results.jsonl.gz"
NO_ANSWER = re.compile(
    r"\b(?:(?:do|does|did)(?:n't| not) (?:know|mention|provide|specify|state|contain)|"
    r"no information|not (?:mentioned|provided|specified|stated|given|known)|unknown|"
    r"tidak (?:tahu|diketahui|disebutkan))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The facts of a run of Fathom that its answer alone does not show.

    Attributes:
        confidence: P(right) of the answer; of a withheld one, that of its draft.
        tentative: Whether the answer is marked as not sure.
        prompt: The tokens of the prompts.
        calls: The calls of the model, each with its repair.
        invalid: The replies that were not of the asked form at the first try.
        quotes: The citations.
        verbatim: Those of them that stand in their documents word for word.
        overshoot: Whether more was spent than the budget.
    """

    confidence: float
    tentative: bool
    prompt: int
    calls: int
    invalid: int
    quotes: int
    verbatim: int
    overshoot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedReply:
    """The reply of a system to a question.

    Attributes:
        dataset: The name of the data set.
        model: The name of the model's file.
        answered: Whether there is an answer.
        cited: Whether the cited texts hold an accepted answer.
        tokens: Prompt and reply, by the count of the model's server.
        seconds: The time; `None` of a reply whose model ran on another machine.
        run: The facts of a run of Fathom; `None` of a framework.
    """

    dataset: str
    model: str
    system: str
    question: str
    answerable: bool
    answered: bool
    f1: float
    right: bool
    cited: bool
    tokens: int
    seconds: float | None
    answer: str = ""
    run: RunFacts | None = None

    @classmethod
    def from_json(cls, row: Mapping[str, Json]) -> Self:
        """Restore the reply from the output of `asdict`, with or without its answer."""
        run = row.get("run")
        return cls(**{**row, "run": None if run is None else RunFacts(**run)})

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The set, the model, the system and the question; no two replies share all of them."""
        return self.dataset, self.model, self.system, self.question

    @property
    def is_wrong(self) -> bool:
        """True for an answer that is not right, unless it is marked as not sure."""
        return self.answered and not self.right and not self.is_tentative

    @property
    def is_tentative(self) -> bool:
        """True for an answer that is marked as not sure; the frameworks mark none."""
        return self.run is not None and self.run.tentative


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The questions of one data set to one model."""

    dataset: Dataset
    model: str
    questions: Sequence[DatasetQuestion]


class Reply(NamedTuple):
    """The reply of a system, with the texts that it rests on."""

    answer: str
    sources: Sequence[str]
    tokens: int
    seconds: float | None
    run: RunFacts | None = None


def name_weights(model: str) -> str:
    """Return the name of a model in the results: that of its file without its ending."""
    return name_file(model).removesuffix(".gguf")


def grade(task: Task, system: str, question: DatasetQuestion, reply: Reply) -> GradedReply:
    """Return a reply with its grades; one that says that it does not know is no answer."""
    answer = "" if NO_ANSWER.search(reply.answer) else reply.answer.strip().rstrip(".")
    gold = question.answers
    return GradedReply(
        dataset=task.dataset.name,
        model=name_weights(task.model),
        system=system,
        question=question.id,
        answer=answer,
        answerable=question.answerable,
        answered=bool(answer),
        f1=score_f1(answer, gold) if question.answerable else float(not answer),
        right=question.answerable and bool(answer) and is_right(answer, gold),
        cited=any(contains_answer(source, text) for source in reply.sources for text in gold),
        tokens=reply.tokens,
        seconds=reply.seconds,
        run=reply.run,
    )


def read_published() -> list[GradedReply]:
    """Return the published replies, which hold no answers."""
    return [*map(GradedReply.from_json, unpack(PUBLISHED))] if PUBLISHED.exists() else []


def publish(replies: Sequence[GradedReply]) -> None:
    """Write the published replies, without the answers."""
    by_key = {reply.key: asdict(reply) for reply in replies}
    for row in by_key.values():
        del row["answer"]
    pack(PUBLISHED, (by_key[key] for key in sorted(by_key)))

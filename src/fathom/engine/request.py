"""The request of one question: its text, its conditions on the documents, and its budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from fathom.errors import UsageError
from fathom.question.conversation import Dialogue, History, parse_dialogue
from fathom.runs.events import Listener
from fathom.types import Filter, Query
from fathom.usage import Budget

if TYPE_CHECKING:
    from fathom.runs.ledger import Account


class AskOptions(TypedDict, total=False):
    """The options of `Engine.ask` and its variants.

    Attributes:
        strategy: The name of the strategy; by default `ask.strategy`.
        paper: The name of a paper whose system answers, instead of a strategy; by default
            `ask.paper`.
        filters: The conditions on the documents that may be used, such as `year>=2020`.
        budget: The limits on what may be spent; by default the settings' `budget`. The seconds
            start when all models are loaded.
        history: The turns before the question, oldest first, with `role` and `content`. A follow-up
            such as "And Norway?" is completed from them.
        listener: The receiver of the events of the run.
    """

    strategy: str | None
    paper: str | None
    filters: Sequence[str | Filter]
    budget: Budget | None
    history: History
    listener: Listener | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """One question with its checked options.

    Attributes:
        query: The question and the conditions on the documents.
        strategy: The name of the strategy; empty for that of the settings.
        paper: The name of a paper whose system answers; empty for that of the settings.
        budget: The limits on what may be spent; `None` for the budget of the settings.
        turns: The turns before the question, oldest first.
        listener: The receiver of the events of the run; `None` for none.
        reuse_verified: Whether an answer that a person verified may be given again.
        account: A ledger for several questions whose caps hold too, such as a tenant's for one
            day; `None` for none.
        owner: The name of the key that owns the trace; empty for none.
        earlier: The ids of the documents that earlier turns have text of.
    """

    query: Query
    strategy: str = ""
    paper: str = ""
    budget: Budget | None = None
    turns: Dialogue = ()
    listener: Listener | None = None
    reuse_verified: bool = True
    account: "Account | None" = None
    owner: str = ""
    earlier: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, question: str, **options: Unpack[AskOptions]) -> Self:
        """Check a question and its options, and return them as a request.

        Args:
            question: The text of the question.
            **options: The fields of `AskOptions`.

        Raises:
            UsageError: If the question is empty or too long, an option is unknown, the budget is no
                `Budget`, a condition or a turn is malformed, or both a strategy and a paper are
                named.
        """
        from fathom.retrieval.query import check_question, parse_filters

        _check_options(options)
        check_question(question)
        if options.get("strategy") and options.get("paper"):
            raise UsageError("name a strategy or a paper, not both: a paper names its strategy")
        return cls(
            query=Query(text=question, filters=parse_filters(options.get("filters", ()))),
            strategy=options.get("strategy") or "",
            paper=options.get("paper") or "",
            budget=options.get("budget"),
            turns=parse_dialogue(options.get("history", ())),
            listener=options.get("listener"),
        )


def _check_options(options: Mapping[str, object]) -> None:
    """Check the names of options and the type of the budget, which Python itself does not check.

    Raises:
        UsageError: If an option is unknown, or the budget is no `Budget`.
    """
    option_names = AskOptions.__annotations__
    other_name = next((name for name in options if name not in option_names), None)
    if other_name is not None:
        names = ", ".join(option_names)
        raise UsageError(f"a question has no option {other_name!r}; its options are {names}")
    budget = options.get("budget")
    if budget is not None and not isinstance(budget, Budget):
        raise UsageError(f"budget: give a Budget, such as Budget(seconds=10), and not {budget!r}")

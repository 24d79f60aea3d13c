"""The judge: scores how well a quote supports a claim."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol, Self

from pydantic import BaseModel, Field

from fathom.agents.prompt_delimiters import fence_texts, format_rule, make_fence
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import ModelRequest, Prompt
from fathom.llm.schema import EachOf, OneOf, number_items
from fathom.models.reading import CrossReader
from fathom.runs.context import RunContext
from fathom.types import Chunk, Span

if TYPE_CHECKING:
    from fathom.assembly import Assembly

Pair = tuple[str, str]
"""A claim and the quote that should support it."""

_WORD = re.compile(r"\w+")
_LITERAL = re.compile(r"(?:https?://|www\.)\S*[\w/]|\d+(?:[.,:/-]\d+)*")
"""Numbers and addresses, which the quote must contain exactly as the claim has them.

The punctuation after an address belongs to the sentence around it.
"""
_LONGEST = 2_000
"""The largest number of characters of a claim or quote that a model is shown."""

PROMPT = Prompt.compose(
    "judge",
    task="""\
You check whether quotes support claims. For each numbered pair give a number from 0 to 1: how \
sure a careful reader can be of the claim who knows nothing but the quote.
- 1: the quote says it. 0: the quote does not say it, or says otherwise.
- Numbers, names, dates and negations must agree.""",
    language="- Claim and quote may be in any language, also in different ones.",
    unsure="- If you cannot tell, give 0.5.",
    example="""\
pair 1
claim: The boat to Sandholm goes at 9:15.
quote: The ferry to Sandholm leaves at 9:15 from pier 4.
pair 2
claim: The boat to Sandholm costs 12 crowns.
quote: The ferry to Sandholm leaves at 9:15 from pier 4.""",
    reply='{"support": [1, 0]}',
)
_SHARES = tuple(round(tenth / 10, 1) for tenth in range(11))
"""The scores that a model may give: 0.0, 0.1, ... 1.0."""


class Judge(Protocol):
    """A role that scores claims; every implementation passes `testing.JudgeConformance`."""

    async def score_support(self, pairs: Sequence[Pair], context: RunContext) -> tuple[float, ...]:
        """Return how well each quote supports its claim, in [0, 1], as one step of the run.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalJudge:
    """A deterministic judge that uses the support score of the cross-reader.

    A claim that the quote contains word for word scores 1. A claim without any word, or with a
    number or address that the quote does not contain, scores 0, whatever the cross-reader says.
    """

    pairs: CrossReader

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the agent from the assembly."""
        return cls(pairs=assembly.cross_reader)

    async def score_support(self, pairs: Sequence[Pair], context: RunContext) -> tuple[float, ...]:
        """Score the pairs with the cross-reader."""
        with context.step("judge", agent="judge", inputs={"pairs": pairs}) as step:
            scores = await step.compute("judge", lambda: self.score_pairs(pairs))
            step.set_outcome(outputs={"support": scores})
        return scores

    def score_pairs(self, pairs: Sequence[Pair]) -> tuple[float, ...]:
        """Return the support of each pair, in [0, 1], without recording a step."""
        return tuple(self._score_pair(claim, quote) for claim, quote in pairs)

    def _score_pair(self, claim: str, quote: str) -> float:
        """Return the support of one claim by its quote, in [0, 1]."""
        claim_words = _join_words(claim)
        # The cross-reader judges by meaning, but a number or an address must match literally.
        if not claim_words or not set(_LITERAL.findall(claim)) <= set(_LITERAL.findall(quote)):
            return 0.0
        if f" {claim_words} " in f" {_join_words(quote)} ":
            return 1.0
        # No spans: only the support is needed, not the places of answers.
        (read,) = self.pairs.open_session(claim, spans=0).read([_make_chunk(quote)])
        return read.supported


def _join_words(text: str) -> str:
    """Return the words of a text in small letters, separated by blanks."""
    return " ".join(_WORD.findall(text.casefold()))


def _make_chunk(quote: str) -> Chunk:
    """Return a quote as a chunk of its own."""
    return Chunk(id="quote", document_id="quote", text=quote, span=Span(0, len(quote)), ordinal=0)


class JudgeReply(BaseModel):
    """The reply that a language model is asked for: one number for each pair, in order."""

    support: Annotated[list[Annotated[float, Field(ge=0, le=1), OneOf("share")]], EachOf("pair")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMJudge:
    """A judge that asks a language model, with the local judge as fallback and as lower bound.

    A claim that the local judge scores 0 stays at 0, because a document can persuade a model.
    """

    model: RoleModel
    local: LocalJudge
    prompt: Prompt = PROMPT

    @classmethod
    def of(cls, assembly: "Assembly", model: RoleModel) -> Self:
        """Build the agent with a language model."""
        local = LocalJudge.of(assembly)
        return cls(model=model, local=local, prompt=assembly.prompt(PROMPT))

    async def score_support(self, pairs: Sequence[Pair], context: RunContext) -> tuple[float, ...]:
        """Score the pairs with the model, except those without any local support."""
        local_scores = await self.local.score_support(pairs, context)
        # The model could not change a score of zero, so the call would be wasted.
        if not any(local_scores):
            return local_scores
        with context.step("check", agent="judge") as step:
            reply = await ask_model(
                self.model, JudgeReply, _build_request(self.prompt, pairs), step
            )
            model_scores = reply.value.support if reply.value else []
            # If a number is missing, the others may belong to the wrong claims.
            if len(model_scores) != len(pairs):
                reason = str(reply.failure or "not one number a pair")
                step.set_outcome(verdict="local", reason=reason)
                return local_scores
            step.set_outcome(
                outputs={"support": model_scores}, verdict="model", reason=reply.reason
            )
        return tuple(
            score if local_score > 0 else 0.0
            for local_score, score in zip(local_scores, model_scores, strict=True)
        )


def _build_request(prompt: Prompt, pairs: Sequence[Pair]) -> ModelRequest:
    """Build the request with the numbered pairs."""
    texts = [
        f"claim: {_shorten_line(claim)}\nquote: {_shorten_line(quote)}" for claim, quote in pairs
    ]
    fence = make_fence("", texts)
    return prompt.build_request(
        fence_texts(fence, texts, label="pair"),
        rule=format_rule(fence),
        choices={"pair": number_items(len(pairs)), "share": _SHARES},
    )


def _shorten_line(text: str) -> str:
    """Return the beginning of a text in one line."""
    return " ".join(text.split())[:_LONGEST]

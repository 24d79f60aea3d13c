"""The judge: how well a quote supports what is claimed with it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import BaseModel, Field

from fathom.agents.prompt_delimiters import fence_for, fenced, rule_of
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import Asked, Prompt
from fathom.llm.schema import EachOf, OneOf, numbers
from fathom.models.reading import CrossReader
from fathom.runs.context import RunContext
from fathom.types import Chunk, Span

Pair = tuple[str, str]
"""A claim, and the quote that should support it."""

_WORD = re.compile(r"\w+")
_EXACT = re.compile(r"https?://\S+|www\.\S+|\d+(?:[.,:/-]\d+)*")
"""Numbers and addresses: what leads somewhere must stand in the quote as it is."""
_LONGEST = 2_000

PROMPT = Prompt.of(
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


class Judge(Protocol):
    """Scores claims; every implementation passes `testing.JudgeConformance`."""

    async def support(self, pairs: Sequence[Pair], context: RunContext) -> tuple[float, ...]:
        """How well each quote supports its claim, in [0, 1], as one step of the run.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalJudge:
    """Asks the pair reader whether the quote says what the claim says; deterministic.

    A claim that stands in the quote word for word has full support; one with a number or an address
    that the quote does not hold, or without any word, has none, whatever the pair reader says.
    """

    pairs: CrossReader

    async def support(self, pairs: Sequence[Pair], context: RunContext) -> tuple[float, ...]:
        """See `Judge.support`."""
        with context.step("judge", agent="judge", inputs={"pairs": pairs}) as here:
            scores = await here.compute("judge", lambda: self.scores(pairs))
            here.done(outputs={"support": scores})
        return scores

    def scores(self, pairs: Sequence[Pair]) -> tuple[float, ...]:
        """What `support` gives, at once."""
        return tuple(self._score(claim, quote) for claim, quote in pairs)

    def _score(self, claim: str, quote: str) -> float:
        wanted = _plain(claim)
        if not wanted or not set(_EXACT.findall(claim)) <= set(_EXACT.findall(quote)):
            return 0.0
        if f" {wanted} " in f" {_plain(quote)} ":
            return 1.0
        (read,) = self.pairs.session(claim, spans=0).read([_chunk(quote)])
        return read.supported


def _plain(text: str) -> str:
    """The words of a text."""
    return " ".join(_WORD.findall(text.casefold()))


def _chunk(quote: str) -> Chunk:
    return Chunk(id="quote", document_id="quote", text=quote, span=Span(0, len(quote)), ordinal=0)


class JudgeReply(BaseModel):
    """What a language model is asked for: one number for each pair, in order."""

    support: Annotated[list[Annotated[float, Field(ge=0, le=1), OneOf("share")]], EachOf("pair")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMJudge:
    """Asks a language model; what it cannot or may not answer the local implementation does.

    A claim that the local judge finds without any support stays without: a model can be
    talked into much by what it reads.
    """

    model: RoleModel
    local: LocalJudge
    prompt: Prompt = PROMPT

    async def support(self, pairs: Sequence[Pair], context: RunContext) -> tuple[float, ...]:
        """See `Judge.support`."""
        local = await self.local.support(pairs, context)
        if not any(local):
            return local
        with context.step("check", agent="judge") as here:
            reply = await ask_model(self.model, JudgeReply, _asked(self.prompt, pairs), here)
            said = reply.value.support if reply.value else []
            if len(said) != len(pairs):
                reason = str(reply.failure or "not one number a pair")
                here.done(verdict="local", reason=reason)
                return local
            here.done(outputs={"support": said}, verdict="model", reason=reply.reason)
        return tuple(score if own > 0 else 0.0 for own, score in zip(local, said, strict=True))


def _asked(prompt: Prompt, pairs: Sequence[Pair]) -> Asked:
    texts = [f"claim: {_line(claim)}\nquote: {_line(quote)}" for claim, quote in pairs]
    fence = fence_for("", texts)
    return prompt.asking(
        fenced(fence, texts, label="pair"),
        rule=rule_of(fence),
        choices={"pair": numbers(len(pairs)), "share": _SHARES},
    )


def _line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]

"""The debater: speaks for one chunk, and for nothing else (MAF-RAG, section II.B; MADAM-RAG)."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Annotated, Literal, Protocol

from pydantic import BaseModel, Field

from fathom.agents.prompt_delimiters import fence_for, fenced, rule_of
from fathom.agents.reader.candidates import Option, options_of
from fathom.agents.reader.citations import numbered
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import Asked, Prompt
from fathom.llm.schema import AtMost, OneOf, numbers
from fathom.models.reading import CrossReader
from fathom.runs.context import RunContext
from fathom.settings.maf import MafSettings
from fathom.text.answer_match import answers_match, normalize_answer
from fathom.text.language import stop_words
from fathom.text.quotable import around
from fathom.types import Evidence, Hit

Move = Literal["opens", "keeps", "adopts", "drops"]

_RUN = 3  # words
_FEWEST = 3
_FEWEST_TELLING = 2
_TELLING = re.compile(r"\b(?:[^\W\d_a-z]\w+|\d\w*)")
_WORD = re.compile(r"\w+")
_SPANS = 12
_SECONDED = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What an agent says in a round.

    Attributes:
        hit: The chunk it speaks for.
        answer: In a few words; empty for "unknown".
        evidence: The part of its chunk that says so; `None` without an answer.
        score: How sure its chunk makes it of the answer, in [0, 1].
        supports: Answers of its peers that its chunk supports too.
        contradicts: Answers of its peers that its chunk contradicts.
    """

    hit: Hit
    answer: str = ""
    evidence: Evidence | None = None
    score: float = 0.0
    supports: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    move: Move = "opens"

    @property
    def quote(self) -> str:
        """The part of its chunk, verbatim; empty without."""
        return self.evidence.quote if self.evidence else ""


class Debater(Protocol):
    """Speaks for one chunk."""

    async def speak(
        self,
        question: str,
        hit: Hit,
        own: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        """The position of the agent of this chunk, as one step of the run.

        Args:
            question: What is debated.
            hit: The only chunk that it may read.
            own: What it said in the round before; `None` in the first.
            heard: What it is told of the others; nothing in the first round.
            context: Where it is recorded.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDebater:
    """Lets the pair reader speak; deterministic, no language model.

    In the first round it gives its chunk's best option. Later it weighs its options anew: each
    counts what the chunk says for it, and what the peers say who give the same. So a peer's answer
    is adopted only if the agent's own chunk holds it. An answer that a peer's quote contradicts,
    the quote being in the agent's own chunk but for the answer, is dropped when more agents stand
    behind the peer's.

    Attributes:
        settings: What a peer counts, which options are no answers, when two texts speak of the
            same.
    """

    pairs: CrossReader
    settings: MafSettings = field(default_factory=MafSettings)

    async def speak(
        self,
        question: str,
        hit: Hit,
        own: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        """See `Debater.speak`."""
        inputs = {"chunk": hit.chunk.id, "heard": [each.answer for each in heard]}
        with context.step("speak", agent="debater", inputs=inputs) as here:
            said = await here.compute("speak", lambda: self.said(question, hit, own, heard))
            here.done(outputs=outline(said), verdict=said.move, reason=said.answer or "unknown")
        return said

    def said(
        self, question: str, hit: Hit, own: Position | None, heard: Sequence[Position]
    ) -> Position:
        """What `speak` gives, at once."""
        session = self.pairs.session(question, spans=_SPANS)
        options = [
            o for o in options_of(question, hit.chunk, session) if o.score > self.settings.min_score
        ]
        others = [each for each in heard if each.answer]
        best = max(options, key=lambda option: self._weight(question, option, others), default=None)
        answer = best.text if best else ""
        against = [
            each
            for each in others
            if not answers_match(question, each.answer, answer)
            and self._contradicts(question, hit, answer, each)
        ]
        told = Position(
            hit=hit,
            supports=_supported(hit, others),
            contradicts=tuple(dict.fromkeys(each.answer for each in against)),
        )
        if best is None or _outnumbered(question, answer, against, others):
            return replace(told, move="drops" if own and own.answer else told.move)
        return replace(
            told,
            answer=answer,
            evidence=_evidence(hit, best),
            score=best.score,
            move=_move(question, own, answer),
        )

    def _weight(self, question: str, option: Option, others: Sequence[Position]) -> float:
        backing = sum(e.score for e in others if answers_match(question, option.text, e.answer))
        return option.score + self.settings.peer_weight * backing

    def _contradicts(self, question: str, hit: Hit, answer: str, peer: Position) -> bool:
        """Whether the peer's quote stands in the own chunk, but for the answer.

        What counts are its names and numbers: much else is common to texts of one sort.
        """
        if not answer:
            return False
        known = _small() | set(_WORD.findall(f"{question} {peer.answer} {answer}".casefold()))
        telling = {word.casefold() for word in _TELLING.findall(peer.quote)} - known
        runs = [run for run in _runs(peer.quote) if not _touches(run, peer.answer)]
        if len(runs) < _FEWEST or len(telling) < _FEWEST_TELLING:
            return False
        own, words = set(_runs(hit.chunk.text)), set(_WORD.findall(hit.chunk.text.casefold()))
        told = len(telling & words) / len(telling)
        return told >= self.settings.ngram_overlap and sum(
            run in own for run in runs
        ) >= self.settings.ngram_overlap * len(runs)


def outline(said: Position) -> dict[str, object]:
    """What a trace keeps of a position."""
    return {
        "answer": said.answer,
        "score": said.score,
        "supports": said.supports,
        "contradicts": said.contradicts,
    }


def _supported(hit: Hit, others: Sequence[Position]) -> tuple[str, ...]:
    """The peers' answers of which the own chunk holds most words."""
    own = set(_WORD.findall(hit.chunk.text.casefold()))
    found = (each.answer for each in others if _held(each.answer, own) >= _SECONDED)
    return tuple(dict.fromkeys(found))


def _held(answer: str, words: Set[str]) -> float:
    """Share of an answer's words that are there; short ones count only if they are numbers."""
    told = _WORD.findall(answer.casefold())
    wanted = {word for word in told if len(word) > 2 or word.isdigit()} or set(told)
    return len(wanted & words) / len(wanted)


def _outnumbered(
    question: str, answer: str, against: Sequence[Position], others: Sequence[Position]
) -> bool:
    """Whether a contradicting answer has more agents behind it than the own one has."""
    own = 1 + sum(answers_match(question, each.answer, answer) for each in others)
    return any(
        sum(answers_match(question, each.answer, peer.answer) for each in others) > own
        for peer in against
    )


def _evidence(hit: Hit, option: Option) -> Evidence:
    return Evidence(
        hit=hit, span=around(hit.chunk, option.span) or option.span, support=option.score
    )


@cache
def _small() -> frozenset[str]:
    return stop_words("en") | stop_words("id")


def _runs(text: str) -> list[tuple[str, ...]]:
    """Every few words of a text that stand in a row."""
    words = _WORD.findall(text.casefold())
    return [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]


def _touches(run: Sequence[str], answer: str) -> bool:
    return bool(set(run) & set(_WORD.findall(answer.casefold())))


PROMPT = Prompt.of(
    "debater",
    task="""\
You are one of several agents who debate a question. You speak for one chunk of a document, its \
sentences numbered, and you know nothing else.
- answer: what your chunk says to the question. sentence is the number of the one that says so; \
text is the answer in a few words.
- The other agents speak for other chunks. A question can mean several things of the same name: \
what they say about another thing contradicts nothing. Change your answer only if your own chunk \
supports the change.
- supports: numbers of the other agents whose answer your chunk says too.
- contradicts: numbers of those whose answer your chunk says is wrong.""",
    language="- Answer in the language of the question.",
    unsure="- If your chunk does not say it, the answer is null. Do not guess.",
    example="""\
[1] Dogs travel free of charge.
[2] The ferry to Sandholm leaves at 9:15 from pier 4.
agent 1: answer: 9:15
agent 2: answer: 10:40
Question: When does the ferry to Sandholm leave?""",
    reply="""\
{"answer": {"sentence": 2, "text": "9:15"}, "supports": [1], "contradicts": [2]}""",
)

_MOST_AGENTS = 20
_UNQUOTED = 0.5


class DebaterAnswer(BaseModel):
    """An answer with the number of the sentence that says so."""

    sentence: Annotated[int, OneOf("sentence")]
    text: Annotated[str, Field(min_length=1, max_length=300), AtMost(120)]


Agents = Annotated[list[Annotated[int, OneOf("agent")]], AtMost(_MOST_AGENTS)]


class DebaterReply(BaseModel):
    """What a language model is asked for; no answer where the chunk does not hold one."""

    answer: DebaterAnswer | None
    supports: Agents = Field(default_factory=list)
    contradicts: Agents = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMDebater:
    """Asks a language model; an answer counts only with a sentence of the agent's own chunk.

    How sure its chunk makes it is not for the model to say: it is the probability that the chunk
    answers the question, by the pair reader, and half of that where the sentence does not hold the
    answer in so many words.

    Attributes:
        local: Speaks where the model gives nothing, or nothing that can be verified.
    """

    model: RoleModel
    local: Debater
    pairs: CrossReader
    prompt: Prompt = PROMPT

    async def speak(
        self,
        question: str,
        hit: Hit,
        own: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        """See `Debater.speak`."""
        inputs = {"chunk": hit.chunk.id, "heard": [each.answer for each in heard]}
        with context.step("speak", agent="debater", inputs=inputs) as here:
            asked = _asked(self.prompt, question, hit, own, heard)
            reply = await ask_model(self.model, DebaterReply, asked, here)
            said = _position(reply.value, question, hit, own, heard) if reply.value else None
            if said is None:
                reason = reply.reason or "the chunk has no such sentence"
                here.done(verdict="local", reason=reason)
                return await self.local.speak(question, hit, own, heard, here)
            said = await here.compute("weigh", partial(self._weighed, question, said))
            reason = reply.reason or said.answer or "unknown"
            here.done(outputs=outline(said), verdict=said.move, reason=reason)
        return said

    def _weighed(self, question: str, said: Position) -> Position:
        if said.evidence is None:
            return said
        (reading,) = self.pairs.session(question, spans=1).read([said.hit.chunk])
        held = normalize_answer(said.answer) in normalize_answer(said.quote)
        score = round(reading.answerable * (1.0 if held else _UNQUOTED), 6)
        return replace(said, evidence=replace(said.evidence, support=score), score=score)


def _position(
    reply: DebaterReply, question: str, hit: Hit, own: Position | None, heard: Sequence[Position]
) -> Position | None:
    """What the reply says, not yet weighed; `None` if there is no sentence of that number."""
    answer = " ".join(reply.answer.text.split()) if reply.answer else ""
    move = _move(question, own, answer)
    told = Position(
        hit=hit,
        supports=_named(reply.supports, heard),
        contradicts=_named(reply.contradicts, heard),
        move=move,
    )
    if reply.answer is None or not answer:
        return told
    _, places = numbered([hit])
    if not 1 <= reply.answer.sentence <= len(places):
        return None
    return replace(told, answer=answer, evidence=places[reply.answer.sentence - 1])


def _move(question: str, own: Position | None, answer: str) -> Move:
    if own is None:
        return "opens"
    if own.answer and not answer:
        return "drops"
    kept = own.answer == answer or answers_match(question, own.answer, answer)
    return "keeps" if kept else "adopts"


def _named(numbers: Sequence[int], heard: Sequence[Position]) -> tuple[str, ...]:
    answers = [heard[number - 1].answer for number in numbers if 1 <= number <= len(heard)]
    return tuple(dict.fromkeys(answer for answer in answers if answer))


def _asked(
    prompt: Prompt, question: str, hit: Hit, own: Position | None, heard: Sequence[Position]
) -> Asked:
    chunks, places = numbered([hit])
    others = [f"answer: {each.answer or 'unknown'}\nquote: {each.quote}" for each in heard]
    before = [] if own is None else [own.answer or "unknown"]
    fence = fence_for(question, [*chunks, *others, *before])
    parts = [f"Your chunk:\n{fenced(fence, chunks)}"]
    if before:
        parts.append(f"Your answer in the round before:\n{fenced(fence, before, label='answer')}")
    if others:
        parts.append(f"The other agents, one a chunk:\n{fenced(fence, others, label='agent')}")
    parts.append(f"Question: {question}")
    choices = {"sentence": numbers(len(places)), "agent": numbers(len(others))}
    return prompt.asking("\n\n".join(parts), rule=rule_of(fence), choices=choices)

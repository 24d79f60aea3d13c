"""The debater: takes a position from one chunk alone (MAF-RAG, section II.B; MADAM-RAG)."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, Self

from pydantic import BaseModel, Field

from fathom.agents.prompt_delimiters import (
    WITHHELD,
    drop_orders,
    fence_texts,
    format_rule,
    make_fence,
)
from fathom.agents.reader.candidates import AnswerOption, rank_options
from fathom.agents.reader.citations import number_sentences
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import ModelRequest, Prompt
from fathom.llm.schema import AtMost, OneOf, number_items
from fathom.models.reading import CrossReader
from fathom.question.question import Question
from fathom.retrieval.pruning import CHUNK_TOKENS, EvidencePruner, PrunedHit
from fathom.runs.context import RunContext
from fathom.settings.maf import MafSettings
from fathom.text.answer_match import normalize_answer
from fathom.text.language import load_stop_words
from fathom.text.quotable import extend_to_units
from fathom.types import Evidence, Hit

if TYPE_CHECKING:
    from fathom.assembly import Assembly

Move = Literal["opens", "keeps", "adopts", "drops"]

_RUN_WORDS = 3
"""The number of words in a run (word n-gram) by which two texts are compared."""
_FEWEST_RUNS = 3
"""The smallest number of runs of a quote that is compared; a shorter one could be in any text."""
_FEWEST_SPECIFIC = 2
"""The smallest number of names and numbers of a quote that is compared."""
_SPECIFIC_WORD = re.compile(r"\b(?:[^\W\d_a-z]\w+|\d\w*)")
_WORD = re.compile(r"\w+")
_SPANS = 12
"""The number of spans that the cross-reader returns for a chunk."""
_SUPPORTED_SHARE = 0.6
"""The share of an answer's words that a chunk must contain to support the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The position of an agent in a round.

    Attributes:
        hit: The chunk that the agent speaks for.
        answer: The answer in a few words; empty if the chunk gives none ("unknown").
        evidence: The part of the chunk that gives the answer; `None` without an answer.
        score: The probability that the answer is right, judged by the agent's chunk, in [0, 1].
        supports: The answers of other agents that the chunk supports too.
        contradicts: The answers of other agents that the chunk contradicts.
        move: The change from the agent's previous answer.
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
        """The part of the chunk that gives the answer, verbatim; empty without one."""
        return self.evidence.quote if self.evidence else ""


class Debater(Protocol):
    """A role that speaks for one chunk."""

    async def speak(
        self,
        question: Question,
        hit: Hit,
        last: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        """Return the position of the agent of this chunk, as one step of the run.

        Args:
            question: The question of the debate.
            hit: The only chunk that the agent may read.
            last: The agent's position in the round before; `None` in the first.
            heard: The positions that the agent sees; none in the first round.
            context: The run that records the step.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDebater:
    """A deterministic debater that uses the cross-reader's answers.

    In the first round it gives the best option of its chunk. In later rounds it adds to each
    option's score those of the peers that give the same answer, so it adopts a peer's answer only
    if its own chunk contains that answer. It drops its answer if a peer's quote contradicts it and
    more agents give the peer's answer. A quote contradicts if the agent's own chunk contains it
    except for the answer.

    Attributes:
        settings: The weight of a peer, the lowest score of an option, and the overlap from which
            two texts are about the same thing.
    """

    pairs: CrossReader
    settings: MafSettings = field(default_factory=MafSettings)

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the agent from the assembly."""
        return cls(pairs=assembly.cross_reader, settings=assembly.settings.get_section(MafSettings))

    async def speak(
        self,
        question: Question,
        hit: Hit,
        last: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        """Take a position with the cross-reader."""
        inputs = {"chunk": hit.chunk.id, "heard": [peer.answer for peer in heard]}
        with context.step("speak", agent="debater", inputs=inputs) as step:
            position = await step.compute(
                "speak", lambda: self.take_position(question, hit, last, heard)
            )
            step.set_outcome(
                outputs=outline_position(position),
                verdict=position.move,
                reason=position.answer or "unknown",
            )
        return position

    def take_position(
        self, question: Question, hit: Hit, last: Position | None, heard: Sequence[Position]
    ) -> Position:
        """Return the position of the agent of this chunk, without recording a step."""
        session = self.pairs.open_session(question.text, spans=_SPANS)
        options = [
            option
            for option in rank_options(question, hit.chunk, session)
            if option.score > self.settings.min_score
        ]
        peers = [peer for peer in heard if peer.answer]
        best = max(
            options, key=lambda option: self._weigh_option(question, option, peers), default=None
        )
        answer = best.text if best else ""
        opponents = [
            peer
            for peer in peers
            if not question.answers_match(peer.answer, answer)
            and self._contradicts(question, hit, answer, peer)
        ]
        position = Position(
            hit=hit,
            supports=_list_supported(hit, peers),
            contradicts=tuple(dict.fromkeys(peer.answer for peer in opponents)),
        )
        if best is None or _is_outnumbered(question, answer, opponents, peers):
            return replace(position, move="drops" if last and last.answer else position.move)
        return replace(
            position,
            answer=answer,
            evidence=_make_evidence(hit, best),
            score=best.score,
            move=_choose_move(question, last, answer),
        )

    def _weigh_option(
        self, question: Question, option: AnswerOption, peers: Sequence[Position]
    ) -> float:
        """Return the score of an option plus the weighted scores of the peers that give it."""
        backing = sum(
            peer.score for peer in peers if question.answers_match(option.text, peer.answer)
        )
        return option.score + self.settings.peer_weight * backing

    def _contradicts(self, question: Question, hit: Hit, answer: str, peer: Position) -> bool:
        """Return whether the agent's own chunk contains the peer's quote except for its answer.

        The names and numbers of the quote must match too, because texts of one kind share much of
        their other wording.
        """
        if not answer:
            return False
        ignored = _load_stop_words() | set(
            _WORD.findall(f"{question.text} {peer.answer} {answer}".casefold())
        )
        specific = {word.casefold() for word in _SPECIFIC_WORD.findall(peer.quote)} - ignored
        runs = [run for run in _list_runs(peer.quote) if not _shares_word(run, peer.answer)]
        # A quote this short could occur in any text.
        if len(runs) < _FEWEST_RUNS or len(specific) < _FEWEST_SPECIFIC:
            return False
        own_runs, words = (
            set(_list_runs(hit.chunk.text)),
            set(_WORD.findall(hit.chunk.text.casefold())),
        )
        shared = len(specific & words) / len(specific)
        return shared >= self.settings.ngram_overlap and sum(
            run in own_runs for run in runs
        ) >= self.settings.ngram_overlap * len(runs)


def outline_position(position: Position) -> dict[str, object]:
    """Return the outputs that a trace keeps of a position."""
    return {
        "answer": position.answer,
        "score": position.score,
        "supports": position.supports,
        "contradicts": position.contradicts,
    }


def _list_supported(hit: Hit, peers: Sequence[Position]) -> tuple[str, ...]:
    """Return the peers' answers that the agent's own chunk supports by most of their words."""
    chunk_words = set(_WORD.findall(hit.chunk.text.casefold()))
    answers = (
        peer.answer
        for peer in peers
        if _measure_coverage(peer.answer, chunk_words) >= _SUPPORTED_SHARE
    )
    return tuple(dict.fromkeys(answers))


def _measure_coverage(answer: str, words: Set[str]) -> float:
    """Return the share of an answer's words that are among a chunk's words, in [0, 1].

    Words of one or two characters count only if they are numbers, or if there are no others.
    """
    answer_words = _WORD.findall(answer.casefold())
    counted = {word for word in answer_words if len(word) > 2 or word.isdigit()} or set(
        answer_words
    )
    # `counted` is never empty: an answer of short words alone is compared by those.
    return len(counted & words) / len(counted)


def _is_outnumbered(
    question: Question, answer: str, opponents: Sequence[Position], peers: Sequence[Position]
) -> bool:
    """Return whether more agents give a contradicting answer than give the agent's own."""
    # The agent counts for its own answer; opponents are already among the peers.
    backers = 1 + sum(question.answers_match(other.answer, answer) for other in peers)
    return any(
        sum(question.answers_match(other.answer, peer.answer) for other in peers) > backers
        for peer in opponents
    )


def _make_evidence(hit: Hit, option: AnswerOption) -> Evidence:
    """Return the sentence or other unit around an option as evidence."""
    return Evidence(
        hit=hit, span=extend_to_units(hit.chunk, option.span) or option.span, support=option.score
    )


@cache
def _load_stop_words() -> frozenset[str]:
    """Return the stop words of both languages."""
    return load_stop_words("en") | load_stop_words("id")


def _list_runs(text: str) -> list[tuple[str, ...]]:
    """Return all runs of `_RUN_WORDS` words in a text."""
    words = _WORD.findall(text.casefold())
    return [tuple(words[at : at + _RUN_WORDS]) for at in range(len(words) - _RUN_WORDS + 1)]


def _shares_word(run: Sequence[str], answer: str) -> bool:
    """Return whether a run shares a word with the answer."""
    return bool(set(run) & set(_WORD.findall(answer.casefold())))


PROMPT = Prompt.compose(
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
"""The largest number of other agents that a model's reply may name."""
_UNQUOTED_FACTOR = 0.5
"""The factor on the score of an answer that its sentence does not contain word for word."""


class DebaterAnswer(BaseModel):
    """An answer with the number of the sentence that gives it."""

    sentence: Annotated[int, OneOf("sentence")]
    text: Annotated[str, Field(min_length=1, max_length=300), AtMost(120)]


AgentNumbers = Annotated[list[Annotated[int, OneOf("agent")]], AtMost(_MOST_AGENTS)]


class DebaterReply(BaseModel):
    """The reply that a language model is asked for; no answer if the chunk does not hold one."""

    answer: DebaterAnswer | None
    supports: AgentNumbers = Field(default_factory=list)
    contradicts: AgentNumbers = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMDebater:
    """A debater that asks a language model; an answer must name a sentence of the chunk.

    The cross-reader, not the model, sets the score of the answer: the probability that the chunk
    answers the question, halved if the sentence does not contain the answer word for word.

    Attributes:
        local: The debater to use if the model gives no answer that can be verified.
        pruner: The pruner that chooses the parts of the chunk that the model is shown.
    """

    model: RoleModel
    local: Debater
    pairs: CrossReader
    pruner: EvidencePruner
    prompt: Prompt = PROMPT

    @classmethod
    def of(cls, assembly: "Assembly", model: RoleModel) -> Self:
        """Build the agent with a language model."""
        return cls(
            model=model,
            local=LocalDebater.of(assembly),
            pairs=assembly.cross_reader,
            pruner=EvidencePruner(pairs=assembly.cross_reader, limit=CHUNK_TOKENS),
            prompt=assembly.prompt(PROMPT),
        )

    async def speak(
        self,
        question: Question,
        hit: Hit,
        last: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        """Take the position of the model's reply, if its sentence exists."""
        inputs = {"chunk": hit.chunk.id, "heard": [peer.answer for peer in heard]}
        with context.step("speak", agent="debater", inputs=inputs) as step:
            shown = await step.compute("prune", lambda: self.pruner.prune_each(question, [hit]))
            request = _build_request(self.prompt, question, shown, last, heard)
            reply = await ask_model(self.model, DebaterReply, request, step)
            position = (
                _parse_position(reply.value, question, shown, last, heard) if reply.value else None
            )
            if position is None:
                reason = reply.reason or "the chunk has no such sentence"
                step.set_outcome(verdict="local", reason=reason)
                return await self.local.speak(question, hit, last, heard, step)
            position = await step.compute(
                "weigh", partial(self._weigh_position, question, position)
            )
            reason = reply.reason or position.answer or "unknown"
            step.set_outcome(
                outputs=outline_position(position), verdict=position.move, reason=reason
            )
        return position

    def _weigh_position(self, question: Question, position: Position) -> Position:
        """Return the position with the score that the cross-reader gives it."""
        if position.evidence is None:
            return position
        (reading,) = self.pairs.open_session(question.text, spans=1).read([position.hit.chunk])
        is_quoted = normalize_answer(position.answer) in normalize_answer(position.quote)
        score = round(reading.answerable * (1.0 if is_quoted else _UNQUOTED_FACTOR), 6)
        return replace(position, evidence=replace(position.evidence, support=score), score=score)


def _parse_position(
    reply: DebaterReply,
    question: Question,
    shown: Sequence[PrunedHit],
    last: Position | None,
    heard: Sequence[Position],
) -> Position | None:
    """Return the position of a reply, not yet weighed; `None` if its sentence does not exist."""
    answer = " ".join(reply.answer.text.split()) if reply.answer else ""
    move = _choose_move(question, last, answer)
    position = Position(
        hit=shown[0].hit,
        supports=_list_answers(reply.supports, heard),
        contradicts=_list_answers(reply.contradicts, heard),
        move=move,
    )
    if reply.answer is None or not answer:
        return position
    _, places = number_sentences(shown)
    # A number that names no sentence would leave the answer without evidence.
    if not 1 <= reply.answer.sentence <= len(places):
        return None
    return replace(position, answer=answer, evidence=places[reply.answer.sentence - 1])


def _choose_move(question: Question, last: Position | None, answer: str) -> Move:
    """Return the move from the agent's own last answer to the new one."""
    if last is None:
        return "opens"
    if last.answer and not answer:
        return "drops"
    is_same = last.answer == answer or question.answers_match(last.answer, answer)
    return "keeps" if is_same else "adopts"


def _list_answers(numbers: Sequence[int], heard: Sequence[Position]) -> tuple[str, ...]:
    """Return the answers of the agents with these numbers, each once."""
    answers = [heard[number - 1].answer for number in numbers if 1 <= number <= len(heard)]
    return tuple(dict.fromkeys(answer for answer in answers if answer))


def _build_request(
    prompt: Prompt,
    question: Question,
    shown: Sequence[PrunedHit],
    last: Position | None,
    heard: Sequence[Position],
) -> ModelRequest:
    """Build the request with the agent's chunk, its last answer and the other agents' answers."""
    chunks, places = number_sentences(shown)
    # An order may be in the parts that were pruned, so the whole chunk is checked.
    chunks = chunks if drop_orders([item.hit for item in shown]) else [WITHHELD]
    answers = [f"answer: {peer.answer or 'unknown'}\nquote: {peer.quote}" for peer in heard]
    last_answer = [] if last is None else [last.answer or "unknown"]
    fence = make_fence(question.text, [*chunks, *answers, *last_answer])
    sections = [f"Your chunk:\n{fence_texts(fence, chunks)}"]
    if last_answer:
        sections.append(
            f"Your answer in the round before:\n{fence_texts(fence, last_answer, label='answer')}"
        )
    if answers:
        sections.append(
            f"The other agents, one a chunk:\n{fence_texts(fence, answers, label='agent')}"
        )
    sections.append(f"Question: {question.text}")
    choices = {"sentence": number_items(len(places)), "agent": number_items(len(answers))}
    return prompt.build_request("\n\n".join(sections), rule=format_rule(fence), choices=choices)

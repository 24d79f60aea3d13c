"""A stub for a language model: it repeats sentences of the prompt, following the given schema.

Every role's prompt gets a valid reply by a simple rule; whoever reads or speaks for a chunk quotes
the sentence around the best span of a cross-reader. So it knows nothing that the local agents do
not know, and says nothing about how well a real model would do; but prompts, replies, quotes,
calls, tokens, budgets and replays are those of a real one. An arm names it like any other model:

    settings = { "llm.model" = "standin:extractive", "llm.skip_above_confidence" = 2 }

    with served(Extractive(ExtractiveModel(pairs))) as server: ...  # tests/scripted_server.py
"""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from json import dumps

from fathom.agents.decomposer import LocalDecomposer
from fathom.llm.base import Call, Completion
from fathom.llm.tokens import count_prompt_tokens, count_tokens
from fathom.models.reading import CrossReader, Reading
from fathom.question.question import Question
from fathom.text.sentences import split
from fathom.types import Chunk, Span
from fathom.usage import Usage

NAME = "standin:extractive"
Messages = Sequence[dict[str, str]]

_SCHEMA = re.compile(r"It must fit this JSON schema:\n(\{.*\})", re.DOTALL)
_FENCE = re.compile(r"=== [0-9a-f]{16} ===")
_LABEL = re.compile(r" ([a-z-]+) \d+\n")
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_PAIR = re.compile(r"claim: (.*)\nquote: (.*)")
_QUESTION = "Question: "
_QUOTE, _TEXT, _SHORT = 200, 200, 120
"""The longest quotes, sentences and short answers that the schemas allow."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The request of a role.

    Attributes:
        kind: The name of the reply's schema.
        system: What the role is told to be.
        user: What it is asked.
    """

    kind: str
    system: str
    user: str

    @classmethod
    def of(cls, messages: Messages) -> "Prompt":
        """Extract the prompt from a conversation, whatever follows it."""
        matches = (_SCHEMA.search(message["content"]) for message in messages)
        schema = next(match.group(1) for match in matches if match)
        return cls(json.loads(schema)["title"], messages[0]["content"], messages[1]["content"])

    @property
    def question(self) -> str:
        """The question to answer."""
        return self.user.rpartition(_QUESTION)[2].strip()

    def list_fenced(self, label: str = "chunk") -> list[str]:
        """Return the texts between the fences with this label, in order."""
        heads = ((_LABEL.match(part), part) for part in _FENCE.split(self.user))
        return [
            part[head.end() :].removesuffix("\n")
            for head, part in heads
            if head and head.group(1) == label
        ]


@dataclass(frozen=True, slots=True)
class BestAnswer:
    """The best answer of a chunk; empty if it has none."""

    answer: str = ""
    sentence: str = ""
    sure: float = 0.0


@dataclass(frozen=True, slots=True)
class ExtractiveModel:
    """Answers the messages of any role with JSON that fits its schema.

    Attributes:
        pairs: Finds spans, and says how relevant chunks are.
        floor: A chunk that answers with less probability than this does not answer.
        keep: A chunk helps from this share of the best one's relevance on.
    """

    pairs: CrossReader
    floor: float = 0.35
    keep: float = 0.3
    decomposer: LocalDecomposer = field(default_factory=LocalDecomposer)

    def __call__(self, messages: Messages) -> str:
        """The reply to a conversation."""
        prompt = Prompt.of(messages)
        roles: dict[str, Callable[[Prompt], object]] = {
            "ReaderReply": self.read,
            "NumberedReply": self.number,
            "DebaterReply": self.speak,
            "OrderReply": self.order,
            "SelectorReply": self.select,
            "DecomposerReply": self.split,
            "PlannerReply": self.plan,
            "JudgeReply": judge,
            "AggregatorReply": aggregate,
            "SummarizerReply": summarize,
            "RewriterReply": lambda prompt: {"question": prompt.question},
            "HydeReply": lambda prompt: {"paragraph": prompt.question.rstrip("?. ") + "."},
        }
        return json.dumps(roles[prompt.kind](prompt), ensure_ascii=False)

    def read(self, prompt: Prompt) -> object:
        """Quote the best sentence of all chunks."""
        answers = self._read_texts(prompt.question, prompt.list_fenced())
        place = max(range(len(answers)), key=lambda at: answers[at].sure, default=None)
        if place is None or not answers[place].sentence:
            return {"answer": None}
        best = answers[place]
        quotes = [{"chunk": place + 1, "quote": best.sentence}]
        sentence = {"quotes": quotes, "text": best.sentence[:_TEXT]}
        return {"answer": {"sentences": [sentence], "short_answer": best.answer[:_SHORT]}}

    def number(self, prompt: Prompt) -> object:
        """Name the best of the numbered sentences, each read alone."""
        numbered = [
            sentence for text in prompt.list_fenced() for sentence in _NUMBERED.findall(text)
        ]
        best = self._read_texts(prompt.question, [text for _, text in numbered])
        place = max(range(len(best)), key=lambda at: best[at].sure, default=None)
        if place is None or not best[place].sentence:
            return {"answer": None}
        number, text = numbered[place]
        sentence = {"evidence": [int(number)], "text": text[:_TEXT]}
        short = best[place].answer[:_SHORT]
        return {"answer": {"sentences": [sentence], "short_answer": short}}

    def speak(self, prompt: Prompt) -> object:
        """Give the best sentence of its own chunk, and support agents whose answer occurs there."""
        (own_text,), others = prompt.list_fenced(), prompt.list_fenced("agent")
        numbered = _NUMBERED.findall(own_text)
        best = self._read_texts(prompt.question, [text for _, text in numbered])
        place = max(range(len(best)), key=lambda at: best[at].sure, default=None)
        claims = [claim.partition("\n")[0].removeprefix("answer: ") for claim in others]
        supports = [
            number for number, claim in enumerate(claims, start=1) if _is_within(claim, own_text)
        ]
        answer = None
        if place is not None and best[place].sentence:
            number, short = numbered[place][0], best[place].answer[:_SHORT]
            answer = {"sentence": int(number), "text": short}
        return {"answer": answer, "supports": supports, "contradicts": []}

    def order(self, prompt: Prompt) -> object:
        """Order the chunks by relevance."""
        scores = self._score_relevance(prompt)
        return {"order": sorted(range(1, len(scores) + 1), key=lambda n: -scores[n - 1])}

    def select(self, prompt: Prompt) -> object:
        """Select the chunks that are nearly as relevant as the best."""
        scores = self._score_relevance(prompt)
        ranked = sorted(range(1, len(scores) + 1), key=lambda n: -scores[n - 1])
        floor = self.keep * max(scores, default=0.0)
        return {"chunks": [number for number in ranked if scores[number - 1] >= floor] or None}

    def split(self, prompt: Prompt) -> object:
        """Split by clause rules."""
        serial = "one after the other" in prompt.system
        parts = self.decomposer.split_by_rules(
            Question(prompt.question), "serial" if serial else "parallel"
        )
        return {"questions": [part.text[:300] for part in parts]}

    def plan(self, prompt: Prompt) -> object:
        """Plan a split where clause rules can split; otherwise one look-up."""
        if "QDS;" in prompt.system:
            if len(self.decomposer.split_by_rules(Question(prompt.question), "parallel")) > 1:
                return {"workflow": "QDP"}
            if len(self.decomposer.split_by_rules(Question(prompt.question), "serial")) > 1:
                return {"workflow": "QDS"}
        return {"workflow": "R,AG"}

    def _read_texts(self, question: str, texts: Sequence[str]) -> list[BestAnswer]:
        chunks = [_parse_chunk(text) for text in texts]
        read = self.pairs.open_session(question).read(chunks)
        return [self._find_best(*pair) for pair in zip(chunks, read, strict=True)]

    def _find_best(self, chunk: Chunk, reading: Reading) -> BestAnswer:
        if reading.answerable < self.floor or not reading.spans:
            return BestAnswer()
        best = reading.spans[0]
        around = [sentence for sentence in split(chunk.text) if sentence.start < best.span.end]
        sentence = around[-1].cut(chunk.text)[:_QUOTE] if around else ""
        return BestAnswer(best.span.cut(chunk.text), sentence, best.score)

    def _score_relevance(self, prompt: Prompt) -> list[float]:
        chunks = [_parse_chunk(text) for text in prompt.list_fenced()]
        return [
            reading.relevance for reading in self.pairs.open_session(prompt.question).read(chunks)
        ]


def judge(prompt: Prompt) -> object:
    """Return 1 where every word of a claim occurs in its quote, otherwise 0."""
    pairs = _PAIR.findall(prompt.user)
    return {
        "support": [float(_split_words(claim) <= _split_words(quote)) for claim, quote in pairs]
    }


def aggregate(prompt: Prompt) -> object:
    """List every answer once, the most frequent first, and refute none."""
    agents: dict[str, list[int]] = defaultdict(list)
    answers: dict[str, str] = {}
    for number, claim in enumerate(prompt.list_fenced("agent"), start=1):
        answer = claim.partition("\n")[0].removeprefix("answer: ")
        if answer != "unknown":
            agents[answer.casefold()].append(number)
            answers.setdefault(answer.casefold(), answer)
    ranked = sorted(agents, key=lambda key: -len(agents[key]))[:8]
    readings = [{"answer": answers[key], "agents": agents[key], "refuted": False} for key in ranked]
    return {"readings": readings}


def summarize(prompt: Prompt) -> object:
    """Repeat the first quote; the rules derive the answer."""
    quotes = prompt.list_fenced("quote")[:1]
    sentences = [{"quotes": [1], "text": quote[:_QUOTE]} for quote in quotes]
    return {"answer": {"sentences": sentences, "short_answer": ""}}


def _parse_chunk(context: str) -> Chunk:
    """Parse a chunk as a prompt shows it: title and headings, a line break, the text."""
    head, _, text = context.partition("\n")
    head, text = (head, text) if text else ("", context)
    title = head.partition(" > ")[0]
    return Chunk(
        id="chunk",
        document_id="prompt",
        text=text,
        span=Span(0, len(text)),
        ordinal=0,
        title=title,
    )


def _split_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _is_within(answer: str, text: str) -> bool:
    return answer not in {"", "unknown"} and answer.casefold() in text.casefold()


@dataclass(frozen=True, slots=True)
class StubLLM:
    """A `ChatModel` that quotes the prompt; it needs no key and no network.

    Attributes:
        model: Replies to a conversation.
    """

    model: ExtractiveModel
    name: str = NAME

    async def complete(self, call: Call) -> Completion:
        """Complete a call; tokens are counted as for any model."""
        turns = [{"role": message.role, "content": message.text} for message in call.messages]
        text = await asyncio.to_thread(self.model, turns)
        if call.on_text is not None:
            call.on_text(text)
        prompt = count_prompt_tokens(call.messages, dumps(call.schema) if call.schema else "")
        usage = Usage(llm_calls=1, prompt_tokens=prompt, completion_tokens=count_tokens(text))
        return Completion(text=text, model=self.name, usage=usage)

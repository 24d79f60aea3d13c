"""The summarizer: composes the answer to a question from the answers to its sub-questions.

It is the executor AS of MAO-ARAG (arXiv 2508.01005, section 3.1). The system always runs it at the
end; no planner chooses it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Protocol, Self

from pydantic import BaseModel, Field

from fathom.agents.decomposer import Manner
from fathom.agents.judge import Judge
from fathom.agents.prompt_delimiters import fence_texts, format_rule, make_fence
from fathom.agents.reader.comparisons import NO, YES, decide_comparison
from fathom.agents.reader.derivations import derive_short_answer
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import ModelRequest, Prompt
from fathom.llm.schema import AtMost, OneOf, number_items
from fathom.question.comparison import Comparison
from fathom.question.question import Question
from fathom.registry import JUDGE
from fathom.runs.context import RunContext
from fathom.text.answer_match import contains_answer, normalize_answer
from fathom.text.content_words import ContentTerms
from fathom.types import Claim, Draft, Evidence, Hit

if TYPE_CHECKING:
    from fathom.assembly import Assembly

PROMPT = Prompt.compose(
    "summarizer",
    task="""\
You answer a question from the answers to its sub-questions and the numbered quotes that support \
them, and from nothing else.
- Use as few sentences as it takes. For each give the numbers of the quotes that support it.
- short_answer is the bare answer: a name, a number, a date, yes or no, a few words.""",
    language="- Write in the language of the question.",
    unsure="- If they do not answer the question, the answer is null. Do not guess.",
    example="""\
sub-question 1: When was the ferry Sandholm built? -> 1921
sub-question 2: When was the ferry Vinterby built? -> 1934
quote 1: The Sandholm was launched in 1921.
quote 2: The Vinterby dates from 1934.
Question: Which ferry is older, the Sandholm or the Vinterby?""",
    reply="""\
{"answer": {"sentences": [{"quotes": [1, 2], "text": "The Sandholm of 1921 is older than the \
Vinterby of 1934."}], "short_answer": "the Sandholm"}}""",
)

_MOST_OPTIONS = 4
"""The largest number of options of a comparison that are decided between."""
_MOST_QUOTES = 8
"""The largest number of quotes that a sentence of a model may name."""
_TERMS = ContentTerms()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAnswer:
    """A sub-question, its slots filled, and the draft that answers it."""

    question: Question
    draft: Draft

    @property
    def answer(self) -> str:
        """The short answer of the draft, else its best quote; empty without either."""
        quotes = (" ".join(item.quote.split()) for item in self.draft.evidence)
        return self.draft.short_answer or next(quotes, "")


class Summarizer(Protocol):
    """A role that composes a draft from others; it cites only what they cite."""

    async def summarize(
        self,
        question: Question,
        manner: Manner,
        findings: Sequence[SubAnswer],
        hits: Sequence[Hit],
        context: RunContext,
    ) -> Draft:
        """Compose one draft from several, as one step of the run.

        Args:
            question: The question that was split.
            manner: The manner of the split: serial or parallel.
            findings: The sub-questions with their drafts, in order.
            hits: All hits of the sub-questions, best first.
            context: The run that records the step.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalSummarizer:
    """A deterministic summarizer with rules for each kind of question.

    A chain is answered by its last hop. A comparison is decided by the order of dates or amounts,
    or by whether the answers are equal. Otherwise all answers together are the answer.
    """

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:  # noqa: ARG003
        """Build the agent from the assembly."""
        return cls()

    async def summarize(
        self,
        question: Question,
        manner: Manner,
        findings: Sequence[SubAnswer],
        hits: Sequence[Hit],
        context: RunContext,
    ) -> Draft:
        """Compose the draft by rules."""
        inputs = {"manner": manner, "chunks": [hit.chunk.id for hit in hits]}
        with context.step("summarize", agent="summarizer", inputs=inputs) as step:
            draft, reason = await step.compute(
                "summarize", lambda: self.draft(question, manner, findings)
            )
            step.set_outcome(
                outputs={"short_answer": draft.short_answer, "confidence": draft.confidence},
                reason=reason,
            )
        return draft

    def draft(
        self, question: Question, manner: Manner, findings: Sequence[SubAnswer]
    ) -> tuple[Draft, str]:
        """Return the composed draft and the name of its rule, without recording a step."""
        if not any(finding.draft.evidence for finding in findings):
            return Draft(), "no sub-question has an answer"
        if manner == "serial":
            return _follow_chain(findings)
        compared = question.comparison and question.comparison.keep_first(_MOST_OPTIONS)
        verdict = _decide_comparison(question, compared, findings) if compared else ""
        if compared and verdict:
            draft = _merge_findings(findings, verdict)
            sureness = _compute_sureness(compared, findings, verdict)
            return replace(draft, confidence=sureness), "compared"
        answers = dict.fromkeys(finding.answer for finding in findings if finding.answer)
        # A draft without a short answer gives a long quote, and options of a choice cannot be
        # joined.
        is_choice = compared is not None and compared.want == "one"
        has_all = all(finding.draft.short_answer for finding in findings) and not is_choice
        short = "; ".join(answers) if has_all else ""
        return _merge_findings(findings, short), "all answers together"


class SummarySentence(BaseModel):
    """A sentence with the numbers of the quotes that support it."""

    quotes: Annotated[list[Annotated[int, OneOf("quote")]], AtMost(_MOST_QUOTES, least=1)]
    text: Annotated[str, Field(max_length=2_000), AtMost(200, least=1)]


class SummarizerAnswer(BaseModel):
    """An answer, at least one sentence long."""

    sentences: Annotated[list[SummarySentence], Field(min_length=1, max_length=12), AtMost(4)]
    short_answer: Annotated[str, Field(max_length=300), AtMost(120)] = ""


class SummarizerReply(BaseModel):
    """The reply that a language model is asked for; no answer if the quotes do not hold one."""

    answer: SummarizerAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMSummarizer:
    """A summarizer that asks a language model; only sentences that quotes support are used.

    The confidence is that of the local summarizer, whatever the model says.

    Attributes:
        local: The summarizer to use if the model gives no supported sentence.
        judge: The judge of each sentence against the quotes that it names.
        min_support: The lowest support of a sentence that is used, in [0, 1].
        prompt: The instructions for the model.
    """

    model: RoleModel
    local: LocalSummarizer
    judge: Judge
    min_support: float
    prompt: Prompt = PROMPT

    @classmethod
    def of(cls, assembly: "Assembly", model: RoleModel) -> Self:
        """Build the agent with a language model."""
        return cls(
            model=model,
            local=LocalSummarizer(),
            judge=assembly.agent(JUDGE),
            min_support=assembly.settings.ask.min_support,
            prompt=assembly.prompt(PROMPT),
        )

    async def summarize(
        self,
        question: Question,
        manner: Manner,
        findings: Sequence[SubAnswer],
        hits: Sequence[Hit],
        context: RunContext,
    ) -> Draft:
        """Compose the draft by rules, then let the model write its sentences."""
        inputs = {"manner": manner, "chunks": [hit.chunk.id for hit in hits]}
        with context.step("summarize", agent="summarizer", inputs=inputs) as step:
            draft, reason = self.local.draft(question, manner, findings)
            # Without quotes the model could only guess.
            if not draft.evidence:
                step.set_outcome(verdict="local", reason=reason)
                return draft
            request = _build_request(self.prompt, question, findings, draft.evidence)
            reply = await ask_model(self.model, SummarizerReply, request, step)
            answer = reply.value.answer if reply.value else None
            checked = await self._verify(question, answer, draft, step) if answer else None
            step.set_outcome(
                outputs={"short_answer": (checked or draft).short_answer},
                verdict="model" if checked else "local",
                reason=reply.reason or ("" if checked else "no sentence of the model is supported"),
            )
        return checked or draft

    async def _verify(
        self, question: Question, reply: SummarizerAnswer, draft: Draft, context: RunContext
    ) -> Draft | None:
        """Return the draft with the model's supported sentences; `None` without any."""
        places = [
            (sentence.text.strip(), tuple(sorted({n - 1 for n in sentence.quotes if n >= 1})))
            for sentence in reply.sentences
        ]
        # The numbers are sorted, so the last one shows whether all of them exist.
        named = [(text, at) for text, at in places if text and at and at[-1] < len(draft.evidence)]
        quotes = [" ".join(draft.evidence[place].quote for place in at) for _, at in named]
        pairs = [(text, quote) for (text, _), quote in zip(named, quotes, strict=True)]
        scores = await self.judge.score_support(pairs, context)
        claims = [
            Claim(text=text, evidence=at)
            for (text, at), score in zip(named, scores, strict=True)
            if score >= self.min_support
        ]
        if not claims:
            return None
        cited = dict.fromkeys(at for claim in claims for at in claim.evidence)
        quotes = [draft.evidence[at].quote for at in cited]
        short = derive_short_answer(question, reply.short_answer, quotes) or draft.short_answer
        return replace(draft, claims=tuple(claims), short_answer=short)


def _follow_chain(findings: Sequence[SubAnswer]) -> tuple[Draft, str]:
    """Return the draft of the last hop, with the evidence of all hops."""
    last = findings[-1].draft
    # A hop without a quote would leave all later hops unverified.
    if not all(finding.draft.evidence for finding in findings):
        return Draft(), "a hop has no answer"
    # The quotes of the last hop come first: they give the answer, the others lead to it.
    draft = _merge_findings([findings[-1], *findings[:-1]], last.short_answer)
    return replace(draft, alternatives=last.alternatives), "the last hop answers"


def _merge_findings(findings: Sequence[SubAnswer], short: str) -> Draft:
    """Return a draft with the evidence of all findings and their lowest confidence."""
    places = {
        (item.hit.chunk.id, item.span, item.heading): item
        for finding in findings
        for item in finding.draft.evidence
    }
    evidence: tuple[Evidence, ...] = tuple(places.values())
    confidence = min(finding.draft.confidence for finding in findings if finding.draft.evidence)
    return Draft(evidence=evidence, short_answer=short, confidence=confidence)


def _decide_comparison(
    question: Question, compared: Comparison, findings: Sequence[SubAnswer]
) -> str:
    """Return the short answer to a comparison; empty if it cannot be decided."""
    answers = [finding.answer for finding in findings]
    if len(answers) != len(compared.options):
        return ""
    if compared.want == "one":
        return _choose_option(compared, findings)
    if not all(answers):
        return ""
    if compared.want == "each":
        return _find_common_words(question, findings)
    return decide_comparison(question, compared, answers)


def _compute_sureness(compared: Comparison, findings: Sequence[SubAnswer], verdict: str) -> float:
    """Return the confidence in a comparison: the lowest of the sides that decide it.

    A single "no" decides "do all ...?". In a choice only sides answered with yes or no decide.
    """
    answers = [finding.draft.short_answer.casefold() for finding in findings]
    deciding = [
        finding.draft.confidence
        for finding, answer in zip(findings, answers, strict=True)
        if (compared.want == "every" and verdict in NO and answer in NO)
        or (compared.want == "one" and answer in YES | NO)
    ]
    return min(deciding or [finding.draft.confidence for finding in findings])


def _choose_option(compared: Comparison, findings: Sequence[SubAnswer]) -> str:
    """Return the only option that fits, or one that its own answer names; else empty."""
    answers = [finding.draft.short_answer.casefold() for finding in findings]
    fitting = [place for place, answer in enumerate(answers) if answer in YES]
    left = [place for place, answer in enumerate(answers) if answer not in NO]
    if len(left) < len(answers) or fitting:
        # "No" for all other options decides as well as a single "yes".
        decided = fitting if fitting or len(left) > 1 else left
        return compared.options[decided[0]] if len(decided) == 1 else ""
    named = [
        place
        for place, finding in enumerate(findings)
        if contains_answer(finding.draft.short_answer or "?", compared.options[place])
    ]
    best = max(named, key=lambda place: findings[place].draft.confidence, default=None)
    return "" if best is None else compared.options[best]


def _find_common_words(question: Question, findings: Sequence[SubAnswer]) -> str:
    """Return the longest run of words that all answers share, or else that all quotes share."""
    run = _find_longest_run([finding.answer for finding in findings], frozenset())
    quotes = [finding.draft.evidence[0].quote for finding in findings if finding.draft.evidence]
    # Words of the question occur in any sentence about it, so they prove nothing.
    return run or _find_longest_run(quotes, _TERMS(question.text))


def _find_longest_run(texts: Sequence[str], known_terms: frozenset[str]) -> str:
    """Return the longest run of words in all texts that begins and ends with content words.

    It must have a content word that is not a known term. The text is empty without such a run.
    """
    first, *others = [normalize_answer(text).split() for text in texts]
    padded = [f" {' '.join(other)} " for other in others]
    for length in range(len(first), 0, -1):
        for start in range(len(first) - length + 1):
            words = first[start : start + length]
            is_content = (
                _TERMS(words[0]) and _TERMS(words[-1]) and _TERMS(" ".join(words)) - known_terms
            )
            if is_content and all(f" {' '.join(words)} " in other for other in padded):
                return _restore_words(words, texts[0])
    return ""


def _restore_words(words: Sequence[str], text: str) -> str:
    """Return words with the capitals and punctuation of a text, if they occur there in a row."""
    match = re.search(r"\W+".join(map(re.escape, words)), text, re.IGNORECASE)
    return match[0] if match else " ".join(words)


def _build_request(
    prompt: Prompt, question: Question, findings: Sequence[SubAnswer], evidence: Sequence[Evidence]
) -> ModelRequest:
    """Build the request with the numbered quotes, the sub-answers and the question."""
    quotes = [item.quote for item in evidence]
    answers = [f"{finding.question.text} -> {finding.answer or 'unknown'}" for finding in findings]
    fence = make_fence(question.text, [*quotes, *answers])
    sections = [
        fence_texts(fence, quotes, label="quote"),
        fence_texts(fence, answers, label="sub-question"),
        f"Question: {question.text}",
    ]
    return prompt.build_request(
        "\n\n".join(sections), rule=format_rule(fence), choices={"quote": number_items(len(quotes))}
    )

"""The possible short answers of one chunk, by what the pair reader makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fathom.agents.quotable import around
from fathom.models.reading import ReadingSession, ReadSpan
from fathom.text.answer_match import contains_answer, normalize_answer
from fathom.text.answer_type import WHOLE, answer_type, spans_of
from fathom.types import Chunk, Span

_MOST = 12
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A possible answer.

    Attributes:
        text: As it stands in the chunk, in one line.
        score: Probability that the chunk answers, and that this is the answer, 0 to 1.
    """

    text: str
    span: Span
    score: float


def options_of(question: str, chunk: Chunk, session: ReadingSession) -> tuple[Option, ...]:
    """Possible answers, best first; each text once.

    Where the question says what kind of thing is asked for, only spans of that kind count: the
    pair reader's own spans lend them what they have in common. Else its spans are the options.
    """
    (read,) = session.read([chunk])
    kind = answer_type(question)
    typed = spans_of(kind, chunk.text, question)
    if typed is None:
        found = [Option(text=_line(s.span, chunk), span=s.span, score=s.score) for s in read.spans]
    else:
        said = [span for span in typed if around(chunk, span)]  # headings answer nothing
        found = [_typed(span, chunk, session, read.spans) for span in said]
    best: dict[str, Option] = {}
    for option in sorted(found, key=_falling):
        if any(map(str.isalnum, option.text)):
            best.setdefault(normalize_answer(option.text), option)
    options = list(best.values())
    return tuple(_whole(options) if kind in WHOLE else options)[:_MOST]


def _whole(options: Sequence[Option]) -> list[Option]:
    """Options without those that a fuller one holds, whose scores it takes over.

    "about 1835" holds "1835", "98 km" holds "98", and "Lyon, France" holds "Lyon".
    """
    kept: list[Option] = []
    for option in sorted(options, key=lambda each: (-len(each.text), each.span.start)):
        home = next(
            (at for at, other in enumerate(kept) if contains_answer(other.text, option.text)), None
        )
        if home is None:
            kept.append(option)
        else:
            score = min(1.0, kept[home].score + option.score)
            kept[home] = replace(kept[home], score=round(score, _DIGITS))
    return sorted(kept, key=_falling)


def _falling(option: Option) -> tuple[float, int]:
    return -option.score, option.span.start


def _typed(span: Span, chunk: Chunk, session: ReadingSession, read: tuple[ReadSpan, ...]) -> Option:
    text = span.cut(chunk.text)
    lent = sum(each.score * _common(span, each.span) for each in read if each.span != span)
    score = min(1.0, session.score(chunk, text) + lent)
    return Option(text=" ".join(text.split()), span=span, score=round(score, _DIGITS))


def _common(one: Span, other: Span) -> float:
    """Share of the longer span that both have in common."""
    both = min(one.end, other.end) - max(one.start, other.start)
    return max(0, both) / max(one.end - one.start, other.end - other.start, 1)


def _line(span: Span, chunk: Chunk) -> str:
    return " ".join(span.cut(chunk.text).split())

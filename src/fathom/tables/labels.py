"""The names of the rows of financial statements, and labels in a form that can be compared."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from fathom.domains.domain import Domain, Measure
from fathom.tables.links import split_words
from fathom.tables.values import fold_text
from fathom.text.language import split_set

Stems = tuple[str, ...]
"""The stems of a name, in order, without small words."""
_SMALL = split_set("of the a an in and for by to dan s")
_AMPERSAND = re.compile(r"\b(\w{1,3})&(\w)\b(?:&(\w)\b)?")
_REMARK = re.compile(r"/?\([^()]*\)|/[^,/]*\bdeficit\b")
_NOTE = re.compile(r"(?:[-\u2013\u2014(]\s*)?\b(?:see )?notes? \d+\)?$", re.IGNORECASE)
_NET = re.compile(r",? net(?: of [\w ]{1,80})?$", re.IGNORECASE)


class PlacedStem(NamedTuple):
    """A word of a question, small words excepted.

    Attributes:
        text: The word, folded.
        stem: The stem of the word.
        start: The offset of the word in the folded question.
        end: The offset behind the word.
    """

    text: str
    stem: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LabelNames:
    """The names of the rows of statements.

    Attributes:
        groups: All names of a row, the most usual first, by each of these names.
        measures: The measures that are computed from two rows, by each of their names.
        longest: The largest number of words in a name; 0 without names.
    """

    groups: Mapping[Stems, tuple[Stems, ...]]
    measures: Mapping[Stems, Measure]
    longest: int

    @classmethod
    def of(cls, *domains: Domain) -> Self:
        """Return the names in domains; of equal names, those of earlier domains come first."""
        groups: dict[Stems, tuple[Stems, ...]] = {}
        measures: dict[Stems, Measure] = {}
        for domain in domains:
            for group in domain.labels:
                names = tuple(dict.fromkeys(split_label(name) for name in group))
                for name in names:
                    groups[name] = tuple(dict.fromkeys((*groups.get(name, ()), *names)))
            for measure in domain.measures:
                name = split_label(measure.name)
                for other in groups.get(name, (name,)):
                    measures.setdefault(other, measure)
        longest = max(map(len, (*groups, *measures)), default=0)
        return cls(groups, measures, longest)

    def list_names(self, name: Stems) -> tuple[Stems, ...]:
        """Return the names of a row: the given one, then its synonyms."""
        return tuple(dict.fromkeys((name, *self.groups.get(name, ()))))

    def is_named(self, words: Iterable[PlacedStem]) -> bool:
        """Return whether a run of consecutive words is the name of a row or a measure."""
        stems = tuple(word.stem for word in words)
        return any(
            stems[at : at + count] in self.groups or stems[at : at + count] in self.measures
            for at in range(len(stems))
            for count in range(1, min(self.longest, len(stems) - at) + 1)
        )


def split_question(text: str) -> tuple[PlacedStem, ...]:
    """Return the words of a folded question, without small words.

    Names such as "R&D" are one word.
    """
    joined = _AMPERSAND.sub(lambda match: _join(match).ljust(len(match[0])), text)
    return tuple(
        PlacedStem(word.text, word.stem, word.start, word.end)
        for word in split_words(joined)
        if word.text not in _SMALL
    )


def split_label(label: str) -> Stems:
    """Return the stems of a label without remarks in brackets, notes, and "net" at its end."""
    text = _NOTE.sub("", _REMARK.sub("", label)).strip(" :")
    text = _NET.sub("", text)
    return tuple(word.stem for word in split_question(fold_text(text)))


def _join(match: re.Match[str]) -> str:
    return "".join(filter(None, match.groups()))

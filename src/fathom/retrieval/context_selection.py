"""Context selection: from a rough ranking to the few hits that are read, within caps and tokens."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from fathom.retrieval.mmr import by_terms, mmr
from fathom.runs.context import RunContext
from fathom.settings.anchor import AnchorSettings
from fathom.text.content_words import Terms
from fathom.types import Hit

_ITEM = re.compile(r"^\s*(?:[-*•‣◦▪]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+\S", re.MULTILINE)
_LIST_ITEMS = 3
_DIGITS = 6


def site_of(hit: Hit) -> str | None:
    """Host of the document, where its id is an address; else nobody knows its source."""
    try:
        parts = urlsplit(hit.chunk.document_id)
    except ValueError:  # brackets that do not close
        return None
    return parts.hostname if parts.scheme in {"http", "https"} else None


def is_list(text: str) -> bool:
    """Whether a chunk is list-dense: at least three lines of it are bulleted or numbered."""
    return len(_ITEM.findall(text)) >= _LIST_ITEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Chooses the hits to read (study of anchors and BAUG, sections 2 and 5).

    Attributes:
        terms: Content words, for the title bonus.
        settings: How many hits, the bonus of titles, the caps.
        source: Where a hit comes from; `None` where that is not known.
    """

    terms: Terms
    settings: AnchorSettings = field(default_factory=AnchorSettings)
    source: Callable[[Hit], str | None] = site_of

    def __call__(
        self, question: str, hits: Sequence[Hit], *, listing: bool = False
    ) -> tuple[Hit, ...]:
        """The hits to read, best first; scores hold the bonus, ranks are made anew.

        Args:
            question: What is asked.
            hits: In rank order, scores in [0, 1].
            listing: Whether a list is asked for.
        """
        wanted = self.terms(question)
        scored = [replace(hit, score=self._score(hit, wanted)) for hit in hits]
        # At equal scores the order in which they came decides.
        ordered = sorted(scored, key=lambda hit: (-hit.score, hit.rank, hit.chunk.id))
        slots = min(self.settings.list_slots, self.settings.fine) if listing else 0
        lists = [hit for hit in ordered if is_list(hit.chunk.text)] if slots else []
        chosen = self._fill([], ordered, self.settings.fine - slots)
        chosen = self._fill(chosen, lists, self.settings.fine)
        chosen = self._fill(chosen, ordered, self.settings.fine)
        places = {hit.chunk.id: place for place, hit in enumerate(ordered)}
        return ranked(sorted(chosen, key=lambda hit: places[hit.chunk.id]))

    def _score(self, hit: Hit, wanted: frozenset[str]) -> float:
        titled = bool(wanted & self.terms(hit.chunk.label))
        share = len(wanted & self.terms(hit.chunk.text)) / len(wanted) if wanted else 0.0
        bonus = self.settings.title_bonus if titled and share > self.settings.title_overlap else 0.0
        return round(hit.score + bonus, _DIGITS)

    def _fill(self, chosen: Sequence[Hit], offered: Sequence[Hit], most: int) -> list[Hit]:
        """Add offered hits in order, as long as there is room and no cap is met."""
        taken = list(chosen)
        known = {hit.chunk.id for hit in taken}
        documents = Counter(hit.chunk.document_id for hit in taken)
        sources = Counter(self.source(hit) for hit in taken)
        for hit in offered:
            if len(taken) >= most:
                break
            source = self.source(hit)
            full = source is not None and sources[source] >= self.settings.per_source
            if full or hit.chunk.id in known:
                continue
            if documents[hit.chunk.document_id] >= self.settings.per_document:
                continue
            taken.append(hit)
            known.add(hit.chunk.id)
            documents[hit.chunk.document_id] += 1
            sources[source] += 1
        return taken


def packed(hits: Sequence[Hit], *, tokens: int, count: Callable[[str], int]) -> tuple[Hit, ...]:
    """The hits that fit into so many tokens, taken in rank order; one that does not is skipped.

    Args:
        hits: In rank order.
        tokens: All that the hits may take together.
        count: Number of tokens of a text.
    """
    kept: list[Hit] = []
    left = tokens
    for hit in hits:
        size = count(hit.chunk.context)
        if size <= left:
            kept.append(hit)
            left -= size
    return ranked(kept)


def ranked(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits in this order, with ranks from 1."""
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1))


_SPARE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSelector:
    """Drops what repeats, then selects within caps, then packs into tokens.

    MMR keeps twice as many hits as are read, so that caps have something to choose from; the
    order of what is left is that of the scores.

    Attributes:
        count: Tokens of a text.
    """

    selection: Selection
    count: Callable[[str], int]

    async def __call__(
        self,
        question: str,
        hits: Sequence[Hit],
        *,
        listing: bool,
        diversity: float,
        tokens: int,
        context: RunContext,
    ) -> tuple[Hit, ...]:
        """The hits to read, best first, as one step of the run.

        Args:
            question: What is asked.
            hits: In rank order; scores of any positive scale.
            listing: Whether a list is asked for.
            diversity: Of MMR, in [0, 1].
            tokens: All that the hits may take together.
            context: Where it is recorded.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        inputs = {"pool": [hit.chunk.id for hit in hits], "tokens": tokens}
        with context.step("select", agent="selector", inputs=inputs) as here:
            found = await here.compute(
                "select",
                lambda: self.chosen(
                    question, hits, listing=listing, diversity=diversity, tokens=tokens
                ),
            )
            here.done(
                outputs={"kept": [hit.chunk.id for hit in found]},
                reason=f"{len(found)} of {len(hits)} hits",
            )
        return found

    def chosen(
        self, question: str, hits: Sequence[Hit], *, listing: bool, diversity: float, tokens: int
    ) -> tuple[Hit, ...]:
        """What the call gives, at once."""
        shares = _shares(hits)
        varied = mmr(
            shares,
            by_terms(shares, self.selection.terms),
            k=_SPARE * self.selection.settings.fine,
            diversity=diversity,
        )
        selected = self.selection(question, ranked(varied), listing=listing)
        return packed(selected, tokens=tokens, count=self.count)


def _shares(hits: Sequence[Hit]) -> list[Hit]:
    """Scores as shares of the best one."""
    top = max((hit.score for hit in hits), default=0.0)
    return [
        replace(h, score=round(max(0.0, h.score / top), _DIGITS) if top > 0 else 0.0) for h in hits
    ]

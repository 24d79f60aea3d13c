"""Context selection: chooses the few hits to read from a rough ranking, within caps and tokens."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from fathom.documents.site import read_host
from fathom.question.anchors import Anchor, find_missing
from fathom.question.question import Question
from fathom.retrieval.base import rank_hits
from fathom.retrieval.mmr import build_term_similarity, select_by_mmr
from fathom.runs.context import RunContext
from fathom.settings.anchor import AnchorSettings
from fathom.text.content_words import Terms
from fathom.types import DIGITS, Hit

_LIST_ITEM = re.compile(r"^[^\S\n]*(?:[-*•‣◦▪]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+\S", re.MULTILINE)
_LEAST_LIST_ITEMS = 3
"""The least number of bulleted or numbered lines of a chunk with a list."""


def get_site(hit: Hit) -> str:
    """Return the site of a hit's document; empty if nothing names one."""
    # Traces from before chunks had sites hold the addresses only.
    return hit.chunk.site or read_host(hit.chunk.document_id)


def find_source(hit: Hit) -> str:
    """Return the site of a hit's document, or its folder without one; empty without both."""
    folder = PurePath(hit.chunk.path).parent.as_posix()
    return get_site(hit) or ("" if folder == "." else folder)


def is_list(text: str) -> bool:
    """Return whether at least three lines of a chunk are bulleted or numbered."""
    return len(_LIST_ITEM.findall(text)) >= _LEAST_LIST_ITEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The choice of the hits to read (study of anchors and BAUG, sections 2 and 5).

    Attributes:
        extract_terms: A function that returns the content words of a text.
        settings: The number of hits, the title bonus and the caps.
    """

    extract_terms: Terms
    settings: AnchorSettings = field(default_factory=AnchorSettings)

    def __call__(
        self, question: Question, hits: Sequence[Hit], *, diversity: float = 0.0
    ) -> tuple[Hit, ...]:
        """Return the hits to read in the order of MMR, with new ranks and the bonus in the scores.

        MMR orders all hits. Then the best are taken in this order, and a hit is passed over if its
        document or source already has as many as the caps allow. If the question asks for a list,
        `list_slots` places are kept for chunks with lists.

        Args:
            question: The question.
            hits: The hits in rank order, with scores in [0, 1].
            diversity: The diversity of MMR, in [0, 1]; 0 keeps the order of the scores.
        """
        ordered = self._order_hits(question, hits, diversity)
        is_list_question = question.form == "several"
        slots = min(self.settings.list_slots, self.settings.fine) if is_list_question else 0
        lists = [hit for hit in ordered if is_list(hit.chunk.text)] if slots else []
        # If all hits have the same folder or site, a cap on folders has nothing to spread.
        by_source = find_source if len({*map(find_source, hits)}) > 1 else get_site
        # Places are kept free for lists; those that no list fills go to the other hits.
        chosen = self._fill([], ordered, self.settings.fine - slots, by_source)
        chosen = self._fill(chosen, lists, self.settings.fine, by_source)
        chosen = self._fill(chosen, ordered, self.settings.fine, by_source)
        # The cap on folders must not leave a place empty, so places that are left ignore it.
        chosen = self._fill(chosen, ordered, self.settings.fine, get_site)
        # Lists were added out of order, so the hits are put back into the order of MMR.
        return rank_hits(sorted(chosen, key=lambda hit: hit.rank))

    def _order_hits(
        self, question: Question, hits: Sequence[Hit], diversity: float
    ) -> tuple[Hit, ...]:
        """Return all hits in the order of MMR, with the title bonus in their scores."""
        question_terms = self.extract_terms(question.text)
        anchors = tuple(anchor for anchor in question.anchors if anchor.kind != "unit")
        scored = [replace(hit, score=self._score(hit, question_terms, anchors)) for hit in hits]
        # At equal scores the old rank decides.
        ordered = rank_hits(sorted(scored, key=lambda hit: (-hit.score, hit.rank, hit.chunk.id)))
        likeness = build_term_similarity(ordered, self.extract_terms)
        return select_by_mmr(ordered, likeness, k=len(ordered), diversity=diversity)

    def _score(self, hit: Hit, question_terms: frozenset[str], anchors: Sequence[Anchor]) -> float:
        """Return the score of a hit with the title bonus, if it earns it.

        It does if its title or file name holds an anchor and its own text enough of the question's
        words; the second condition keeps out documents that only have a fitting title.
        """
        in_title = len(find_missing(anchors, hit.chunk.label)) < len(anchors)
        share = (
            len(question_terms & self.extract_terms(hit.chunk.text)) / len(question_terms)
            if question_terms
            else 0.0
        )
        bonus = (
            self.settings.title_bonus if in_title and share > self.settings.title_overlap else 0.0
        )
        return round(hit.score + bonus, DIGITS)

    def _fill(
        self,
        chosen: Sequence[Hit],
        offered: Sequence[Hit],
        most: int,
        by_source: Callable[[Hit], str],
    ) -> list[Hit]:
        """Return `chosen` with offered hits added in order, as far as room and caps allow.

        Args:
            chosen: The hits chosen so far.
            offered: The hits to add, best first.
            most: The largest number of hits afterwards.
            by_source: A function that returns the source of a hit for the cap; empty if unknown.
        """
        filled = list(chosen)
        chosen_ids = {hit.chunk.id for hit in filled}
        documents = Counter(hit.chunk.document_id for hit in filled)
        sources = Counter(by_source(hit) for hit in filled)
        for hit in offered:
            if len(filled) >= most:
                break
            source = by_source(hit)
            # Hits of unknown source need not share one, so the cap does not apply to them.
            is_full = bool(source) and sources[source] >= self.settings.per_source
            if is_full or hit.chunk.id in chosen_ids:
                continue
            if documents[hit.chunk.document_id] >= self.settings.per_document:
                continue
            filled.append(hit)
            chosen_ids.add(hit.chunk.id)
            documents[hit.chunk.document_id] += 1
            sources[source] += 1
        return filled


def pack_hits(hits: Sequence[Hit], *, tokens: int, count: Callable[[str], int]) -> tuple[Hit, ...]:
    """Return the hits that fit into `tokens`, with new ranks.

    Hits are taken in rank order; one that does not fit is skipped, and the next is tried.

    Args:
        hits: The hits in rank order.
        tokens: The tokens that all hits together may take, headings included.
        count: A function that counts the tokens of a text.
    """
    fitting: list[Hit] = []
    free = tokens
    for hit in hits:
        size = count(hit.chunk.context)
        if size <= free:
            fitting.append(hit)
            free -= size
    return rank_hits(fitting)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSelector:
    """The step that selects hits by MMR within caps and packs them into tokens.

    Attributes:
        selection: The choice of the hits.
        count_tokens: A function that counts the tokens of a text.
    """

    selection: Selection
    count_tokens: Callable[[str], int]

    async def __call__(
        self,
        question: Question,
        hits: Sequence[Hit],
        *,
        diversity: float,
        tokens: int,
        context: RunContext,
    ) -> tuple[Hit, ...]:
        """Return the hits to read, best first, as one step of the run.

        Args:
            question: The question.
            hits: The hits in rank order; their scores may have any positive scale.
            diversity: The diversity of MMR, in [0, 1].
            tokens: The tokens that all hits together may take.
            context: The run that records the step.

        Raises:
            BudgetRefused: If no time is left for the step.
        """
        inputs = {"pool": [hit.chunk.id for hit in hits], "tokens": tokens}
        with context.step("select", agent="selector", inputs=inputs) as step:
            selected = await step.compute(
                "select",
                lambda: self.select_hits(question, hits, diversity=diversity, tokens=tokens),
            )
            step.set_outcome(
                outputs={"kept": [hit.chunk.id for hit in selected]},
                reason=f"{len(selected)} of {len(hits)} hits",
            )
        return selected

    def select_hits(
        self,
        question: Question,
        hits: Sequence[Hit],
        *,
        diversity: float,
        tokens: int,
    ) -> tuple[Hit, ...]:
        """Return the hits to read, best first, as `__call__` does, but without recording a step."""
        # MMR subtracts a likeness in [0, 1] from a score, so the scores need the same scale.
        selected = self.selection(question, _scale_scores(hits), diversity=diversity)
        return pack_hits(selected, tokens=tokens, count=self.count_tokens)


def _scale_scores(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with their scores as shares of the best score, in [0, 1]."""
    top = max((hit.score for hit in hits), default=0.0)
    return [
        replace(h, score=round(max(0.0, h.score / top), DIGITS) if top > 0 else 0.0) for h in hits
    ]

"""Context selection: the few hits to read out of a rough ranking, within caps and tokens."""

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


def get_site(hit: Hit) -> str:
    """Return the site of a hit's document; empty where nothing names one."""
    # Traces from before chunks had sites hold the addresses only.
    return hit.chunk.site or read_host(hit.chunk.document_id)


def find_source(hit: Hit) -> str:
    """Return the site of a hit's document, or else its folder; empty for neither."""
    folder = PurePath(hit.chunk.path).parent.as_posix()
    return get_site(hit) or ("" if folder == "." else folder)


def is_list(text: str) -> bool:
    """Return whether at least three lines of a chunk are bulleted or numbered."""
    return len(_LIST_ITEM.findall(text)) >= _LEAST_LIST_ITEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The choice of the hits to read (study of anchors and BAUG, sections 2 and 5).

    Attributes:
        extract_terms: Returns the content words of a text, for the title bonus.
        settings: The number of hits, the title bonus, the caps.
    """

    extract_terms: Terms
    settings: AnchorSettings = field(default_factory=AnchorSettings)

    def __call__(
        self, question: Question, hits: Sequence[Hit], *, diversity: float = 0.0
    ) -> tuple[Hit, ...]:
        """Return the hits to read in the order of MMR, with new ranks and the bonus in the scores.

        MMR orders all hits; this order is then scanned, and hits beyond a cap are passed over.

        Args:
            question: The question.
            hits: Hits in rank order, scores in [0, 1].
            diversity: The diversity of MMR, in [0, 1]; 0 leaves the order of the scores.
        """
        ordered = self._order_hits(question, hits, diversity)
        is_list_question = question.form == "several"
        slots = min(self.settings.list_slots, self.settings.fine) if is_list_question else 0
        lists = [hit for hit in ordered if is_list(hit.chunk.text)] if slots else []
        # Where all hits are of one folder, it says nothing about them.
        by_source = find_source if len({*map(find_source, hits)}) > 1 else get_site
        # Slots are held free for lists; what they do not fill goes to the other hits.
        chosen = self._fill([], ordered, self.settings.fine - slots, by_source)
        chosen = self._fill(chosen, lists, self.settings.fine, by_source)
        chosen = self._fill(chosen, ordered, self.settings.fine, by_source)
        # Other folders come first, but no place stays empty for the sake of a folder.
        chosen = self._fill(chosen, ordered, self.settings.fine, get_site)
        # Lists were added out of turn; the hits go back into the order of MMR.
        return rank_hits(sorted(chosen, key=lambda hit: hit.rank))

    def _order_hits(
        self, question: Question, hits: Sequence[Hit], diversity: float
    ) -> tuple[Hit, ...]:
        """Return all hits in the order of MMR, by scores with the title bonus."""
        question_terms = self.extract_terms(question.text)
        anchors = tuple(anchor for anchor in question.anchors if anchor.kind != "unit")
        scored = [replace(hit, score=self._score(hit, question_terms, anchors)) for hit in hits]
        # At equal scores the order of the ranking decides.
        ordered = rank_hits(sorted(scored, key=lambda hit: (-hit.score, hit.rank, hit.chunk.id)))
        likeness = build_term_similarity(ordered, self.extract_terms)
        return select_by_mmr(ordered, likeness, k=len(ordered), diversity=diversity)

    def _score(self, hit: Hit, question_terms: frozenset[str], anchors: Sequence[Anchor]) -> float:
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
        """Return `chosen` with offered hits added in order, as far as room and caps allow."""
        filled = list(chosen)
        chosen_ids = {hit.chunk.id for hit in filled}
        documents = Counter(hit.chunk.document_id for hit in filled)
        sources = Counter(by_source(hit) for hit in filled)
        for hit in offered:
            if len(filled) >= most:
                break
            source = by_source(hit)
            # Hits of unknown source share none, so no cap applies to them.
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
    """Return the hits that fit into `tokens`, taken in rank order; a hit that does not is skipped.

    Args:
        hits: Hits in rank order.
        tokens: The tokens that all hits together may take.
        count: Counts the tokens of a text.
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
    """The step that selects by MMR within caps and packs into tokens.

    Attributes:
        selection: The choice of the hits.
        count_tokens: Counts the tokens of a text.
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
            hits: Hits in rank order; scores of any positive scale.
            diversity: The diversity of MMR, in [0, 1].
            tokens: The tokens that all hits together may take.
            context: The run that records the step.

        Raises:
            BudgetRefused: If no time was left for it.
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
        """Return the hits to read, outside of a run."""
        # MMR subtracts likeness in [0, 1] from scores, so both need one scale.
        selected = self.selection(question, _scale_scores(hits), diversity=diversity)
        return pack_hits(selected, tokens=tokens, count=self.count_tokens)


def _scale_scores(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with their scores as shares of the best score."""
    top = max((hit.score for hit in hits), default=0.0)
    return [
        replace(h, score=round(max(0.0, h.score / top), DIGITS) if top > 0 else 0.0) for h in hits
    ]

"""Multi-hop retrieval for questions whose evidence stands in several documents; no model.

One search for the whole question, one for each anchor, then one for each bridge that the best hits
name, together with the words of the question that are still open. A bridge is a name that leads
from what a question names to what it does not: it stands in a good first hit, near the words of the
question, but not in the question itself (bridge entity, as in HotpotQA; Yang et al. 2018).
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fathom.errors import RunError
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.settings.anchor import AnchorSettings
from fathom.text.content_words import Terms
from fathom.text.entities import list_names
from fathom.text.sentences import split
from fathom.types import DIGITS, Chunk, Hit, Query

_BRACKETS = re.compile(r"(?<!\s)\s*\([^()]*\)\s*$")
_AFTER_COMMA = re.compile(r",\s.*$")
_WORD = re.compile(r"\w[\w'\u2019-]*")
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_LEAST_LETTERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A name that may lead to another document.

    Attributes:
        name: The name as the chunk writes it.
        chunk: The best hit that names it.
        strength: The hit's share of the best score, times the share of the question's words that
            stand around the name; in [0, 1].
    """

    name: str
    chunk: Chunk
    strength: float


def find_bridges(
    question: str, hits: Sequence[Hit], terms: Terms, *, earlier: Sequence[Bridge] = ()
) -> tuple[Bridge, ...]:
    """Return the bridges of the hits, the strongest first, ties by alphabet.

    Args:
        question: The question.
        hits: The first hits, in rank order; scores above 0.
        terms: Returns the content words of a text.
        earlier: Bridges of an earlier hop, whose names are left out.
    """
    question_text, question_terms = normalize_name(question), terms(_strip_possessives(question))
    earlier_names = {normalize_name(bridge.name) for bridge in earlier}
    best_by_name: dict[str, Bridge] = {}
    top = max((hit.score for hit in hits), default=0.0)
    for hit in hits if question_terms and top > 0 else ():
        for name, around in _list_names(hit.chunk):
            key = normalize_name(name)
            # A name made of words of the question leads nowhere either.
            if (
                key in earlier_names
                or len(key) < _LEAST_LETTERS
                or key in question_text
                or terms(_strip_possessives(name)) <= question_terms
            ):
                continue
            share = len(terms(_strip_possessives(around)) & question_terms) / len(question_terms)
            strength = round(hit.score / top * share, 6)
            if key not in best_by_name or strength > best_by_name[key].strength:
                best_by_name[key] = Bridge(name=name, chunk=hit.chunk, strength=strength)
    ordered = sorted(best_by_name.values(), key=lambda bridge: (-bridge.strength, bridge.name))
    return tuple(bridge for bridge in ordered if bridge.strength > 0)


def _list_names(chunk: Chunk) -> Iterator[tuple[str, str]]:
    """Yield every name of a chunk, with the text around it."""
    if chunk.title:
        yield strip_brackets(chunk.title), chunk.text
    for span in split(chunk.text):
        sentence = span.cut(chunk.text)
        for name in list_names(sentence):
            yield name, f"{chunk.title} {sentence}"


def list_open_words(question: str, chunk: Chunk, terms: Terms) -> str:
    """Return the content words of the question that are not in the chunk or its title."""
    chunk_terms = terms(_strip_possessives(chunk.context))
    words = (match.group() for match in _WORD.finditer(_strip_possessives(question)))
    return " ".join(word for word in words if terms(word) - chunk_terms)


def is_titled(chunk: Chunk, name: str) -> bool:
    """Return whether the document has this title, also without brackets or a comma and the rest."""
    title = normalize_name(strip_brackets(chunk.title))
    return normalize_name(name) in {title, _AFTER_COMMA.sub("", title)}


def strip_brackets(title: str) -> str:
    """Return a title without the words in brackets at its end."""
    return _BRACKETS.sub("", title)


def _strip_possessives(text: str) -> str:
    """Return a text without possessive endings."""
    return _POSSESSIVE.sub("", text)


def normalize_name(text: str) -> str:
    """Return a text in small letters with single blanks."""
    return " ".join(text.casefold().split())


Job = Callable[[RunContext], Awaitable[tuple[Hit, ...]]]

_QUESTION_JOB = "question"


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiHop:
    """A ranking by the sum of three scores: for the question, its anchors, and its bridges.

    The first is the score of the hit for the whole question. The second adds, for every anchor that
    finds the chunk, `anchor_weight` * score; the third, for the bridge that finds it best,
    `bridge_weight` * score * the bridge's strength relative to the strongest. In the last two a
    chunk counts only `title_mismatch_weight` as much if the anchor or bridge is not the title of
    its document. The hits of the bridges give `second_hop_bridges` further bridges, with
    `hop_decay` times the weight.

    Attributes:
        search: Finds hits with scores of about [0, 1].
        extract_terms: Returns the content words of a text.
        settings: The numbers of hits and bridges, and their weights.
    """

    search: Search
    extract_terms: Terms
    settings: AnchorSettings = field(default_factory=AnchorSettings)
    name: str = "hops"

    async def __call__(
        self, query: Query, anchors: Sequence[str], *, k: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """Return at most `k` hits, best first, as one step of the run.

        A search that fails or that the budget does not allow is left out; without the search for
        the whole question there are no hits.

        Raises:
            RunError: If the search for the whole question fails.
        """
        settings, inputs = self.settings, {"query": query.text, "anchors": list(anchors)}
        with context.step("hops", agent="retriever", inputs=inputs) as step:
            named = {f"anchor {n}": anchor for n, anchor in enumerate(anchors, start=1)}
            hits_by_name = await self._search_all(query, {_QUESTION_JOB: query.text, **named}, step)
            ranking = _Ranking(self, self._require_hits(hits_by_name, step))
            for name, anchor in named.items():
                ranking.add_anchor(anchor, hits_by_name.get(name, ()))
            leads = await self._follow_bridges(
                query, ranking, settings.bridges, settings.bridge_weight, step
            )
            if leads and settings.second_hop_bridges:
                weight = settings.hop_decay * settings.bridge_weight
                leads += await self._follow_bridges(
                    query, ranking, settings.second_hop_bridges, weight, step, leads
                )
            hits = ranking.list_hits(k)
            step.set_outcome(
                outputs={
                    "bridges": [[lead.name, lead.strength] for lead in leads],
                    "hits": [[hit.chunk.id, hit.score] for hit in hits],
                },
                reason=f"{len(hits)} hits over {len(leads)} bridges",
            )
        return hits

    async def _follow_bridges(
        self,
        query: Query,
        ranking: "_Ranking",
        most: int,
        weight: float,
        context: RunContext,
        earlier: Sequence[Bridge] = (),
    ) -> tuple[Bridge, ...]:
        """Search for the bridges of the best hits so far and add their hits; return the bridges."""
        leads = find_bridges(
            query.text,
            ranking.list_hits(self.settings.bridge_hits),
            self.extract_terms,
            earlier=earlier,
        )[:most]
        lead_by_name = {f"bridge {n}": lead for n, lead in enumerate(leads, start=len(earlier) + 1)}
        texts = {name: self._build_query(query, lead) for name, lead in lead_by_name.items()}
        hits = await self._search_all(query, texts, context)
        for name, lead in lead_by_name.items():
            share = weight * lead.strength / leads[0].strength
            ranking.add_bridge(lead, hits.get(name, ()), share)
        return leads

    def _build_query(self, query: Query, bridge: Bridge) -> str:
        return (
            f"{bridge.name} {list_open_words(query.text, bridge.chunk, self.extract_terms)}".strip()
        )

    async def _search_all(
        self, query: Query, texts: Mapping[str, str], context: RunContext
    ) -> dict[str, tuple[Hit, ...]]:
        """Search for all texts at once and return the hits by name."""

        def start(text: str, k: int) -> Job:
            return lambda step: self.search(replace(query, text=text), k=k, context=step)

        jobs = {
            name: start(
                text, self.settings.first_k if name == _QUESTION_JOB else self.settings.hop_k
            )
            for name, text in texts.items()
        }
        return await context.run_branches(jobs, agent="retriever")

    def _require_hits(
        self, hits_by_name: Mapping[str, tuple[Hit, ...]], context: RunContext
    ) -> tuple[Hit, ...]:
        # A refusal by the budget is no error: the run goes on with what it has.
        if _QUESTION_JOB not in hits_by_name and not context.refusals:
            raise RunError("the search for the question failed; the log has the reason")
        return hits_by_name.get(_QUESTION_JOB, ())


class _Ranking:
    """The scores of all chunks so far; the order in which searches end does not matter."""

    def __init__(self, hops: MultiHop, first: Sequence[Hit]) -> None:
        self._hops = hops
        self._chunks: dict[str, Chunk] = {}
        self._whole: dict[str, float] = {}
        self._anchored: dict[str, float] = {}
        self._bridged: dict[str, float] = {}
        for hit in first:
            self._chunks[hit.chunk.id] = hit.chunk
            self._whole[hit.chunk.id] = hit.score

    def add_anchor(self, anchor: str, hits: Sequence[Hit]) -> None:
        for hit, gain in self._weigh_hits(anchor, hits):
            weighted_gain = self._hops.settings.anchor_weight * gain
            self._anchored[hit.chunk.id] = self._anchored.get(hit.chunk.id, 0.0) + weighted_gain

    def add_bridge(self, bridge: Bridge, hits: Sequence[Hit], share: float) -> None:
        for hit, gain in self._weigh_hits(bridge.name, hits):
            # A hop leads to another document; a chunk of the same one is no hop.
            if hit.chunk.document_id != bridge.chunk.document_id:
                best = max(self._bridged.get(hit.chunk.id, 0.0), share * gain)
                self._bridged[hit.chunk.id] = best

    def _weigh_hits(self, name: str, hits: Sequence[Hit]) -> Iterator[tuple[Hit, float]]:
        """Yield the hits with their scores, reduced where the document has another title.

        A title that several documents share counts as another title, since it does not tell them
        apart.
        """
        titled_documents = {hit.chunk.document_id for hit in hits if is_titled(hit.chunk, name)}
        for hit in hits:
            self._chunks[hit.chunk.id] = hit.chunk
            is_unique = len(titled_documents) == 1 and hit.chunk.document_id in titled_documents
            yield hit, hit.score * (1.0 if is_unique else self._hops.settings.title_mismatch_weight)

    def list_hits(self, k: int) -> tuple[Hit, ...]:
        """Return the best hits so far; ties by chunk id."""
        score_maps = (self._whole, self._anchored, self._bridged)
        scores = {
            chunk_id: round(sum(score_map.get(chunk_id, 0.0) for score_map in score_maps), DIGITS)
            for chunk_id in self._chunks
        }
        order = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))[:k]
        return tuple(
            Hit(
                chunk=self._chunks[chunk_id],
                score=scores[chunk_id],
                rank=rank,
                retriever=self._hops.name,
            )
            for rank, chunk_id in enumerate(order, start=1)
        )

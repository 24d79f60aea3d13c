"""Multi-hop retrieval: for questions whose evidence stands in several documents; no model.

One search for the whole question, one for each anchor, then one for each bridge that the best
hits name, together with the words of the question that are still open. A bridge is a name that
leads from what a question names to what it does not: it stands in a good first hit, near the words
of the question, but not in the question itself (bridge entity, as in HotpotQA; Yang et al. 2018).
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fathom.errors import RunError
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.settings.anchor import AnchorSettings
from fathom.text.content_words import Terms
from fathom.text.entities import texts
from fathom.text.sentences import split
from fathom.types import Chunk, Hit, Query

_ASIDE = re.compile(r"\s*\([^()]*\)\s*$")
_PLACE = re.compile(r",\s.*$")
_WORD = re.compile(r"\w[\w'\u2019-]*")
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_SHORTEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A name that may lead on.

    Attributes:
        name: As it stands in the chunk.
        chunk: The best hit that names it.
        strength: The hit's share of the best score, times the share of the question's words that
            stand around the name; in [0, 1].
    """

    name: str
    chunk: Chunk
    strength: float


def bridges(
    question: str, hits: Sequence[Hit], terms: Terms, *, known: Sequence[Bridge] = ()
) -> tuple[Bridge, ...]:
    """The bridges of the hits, the strongest first, ties by alphabet.

    Args:
        question: What is asked.
        hits: First hits, in rank order; scores above 0.
        terms: Content words of a text.
        known: Bridges whose names do not count again.
    """
    asked, wanted = plain(question), terms(_bare(question))
    old = {plain(each.name) for each in known}
    found: dict[str, Bridge] = {}
    top = max((hit.score for hit in hits), default=0.0)
    for hit in hits if wanted and top > 0 else ():
        for name, around in _names_of(hit.chunk):
            key = plain(name)
            if key in old or len(key) < _SHORTEST or key in asked or terms(_bare(name)) <= wanted:
                continue
            share = len(terms(_bare(around)) & wanted) / len(wanted)
            strength = round(hit.score / top * share, 6)
            if key not in found or strength > found[key].strength:
                found[key] = Bridge(name=name, chunk=hit.chunk, strength=strength)
    ordered = sorted(found.values(), key=lambda each: (-each.strength, each.name))
    return tuple(each for each in ordered if each.strength > 0)


def _names_of(chunk: Chunk) -> Iterator[tuple[str, str]]:
    """Every name of a chunk, with the text that stands around it."""
    if chunk.title:
        yield without_aside(chunk.title), chunk.text
    for span in split(chunk.text):
        sentence = span.cut(chunk.text)
        for name in texts(sentence):
            yield name, f"{chunk.title} {sentence}"


def remaining(question: str, chunk: Chunk, terms: Terms) -> str:
    """The content words of the question that the chunk, its title included, does not hold."""
    held = terms(_bare(chunk.context))
    words = (match.group() for match in _WORD.finditer(_bare(question)))
    return " ".join(word for word in words if terms(word) - held)


def titled(chunk: Chunk, name: str) -> bool:
    """Whether the document is called so, with or without what follows in brackets or a comma."""
    title = plain(without_aside(chunk.title))
    return plain(name) in {title, _PLACE.sub("", title)}


def without_aside(title: str) -> str:
    """A title without what stands in brackets at its end."""
    return _ASIDE.sub("", title)


def _bare(text: str) -> str:
    """A text without possessive endings."""
    return _POSSESSIVE.sub("", text)


def plain(text: str) -> str:
    """In small letters, white space made plain."""
    return " ".join(text.casefold().split())


Job = Callable[[RunContext], Awaitable[tuple[Hit, ...]]]

_WHOLE = "question"
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiHop:
    """Ranks chunks by the sum of three parts: for the question, its anchors, and its bridges.

    The first part is the score of the hit for the whole question. The second adds, for every
    anchor that finds the chunk, `anchor_weight` * score; the third, for the bridge that finds it
    best, `bridge_weight` * score * the bridge's strength relative to the strongest. A chunk of a
    document that is not called like the anchor or bridge counts `title_mismatch_weight` as much
    there. What is found over the bridges is searched for `second_hop_bridges` more, with
    `hop_decay` times the weight.

    Attributes:
        search: Finds hits with scores of about [0, 1].
        settings: How many hits and bridges, and what each of them counts.
    """

    search: Search
    terms: Terms
    settings: AnchorSettings = field(default_factory=AnchorSettings)
    name: str = "hops"

    async def __call__(
        self, query: Query, anchors: Sequence[str], *, k: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """At most `k` hits, best first, as one step of the run.

        A search that breaks or that the budget does not allow is left out; without the one for
        the whole question there are no hits.

        Raises:
            RunError: If the search for the whole question breaks.
        """
        own, inputs = self.settings, {"query": query.text, "anchors": list(anchors)}
        with context.step("hops", agent="retriever", inputs=inputs) as here:
            named = {f"anchor {n}": anchor for n, anchor in enumerate(anchors, start=1)}
            found = await self._searched(query, {_WHOLE: query.text, **named}, here)
            ranking = _Ranking(self, self._first(found, here))
            for name, anchor in named.items():
                ranking.add_anchor(anchor, found.get(name, ()))
            leads = await self._followed(query, ranking, own.bridges, own.bridge_weight, here)
            if leads and own.second_hop_bridges:
                weight = own.hop_decay * own.bridge_weight
                leads += await self._followed(
                    query, ranking, own.second_hop_bridges, weight, here, leads
                )
            hits = ranking.hits(k)
            here.done(
                outputs={
                    "bridges": [[lead.name, lead.strength] for lead in leads],
                    "hits": [[hit.chunk.id, hit.score] for hit in hits],
                },
                reason=f"{len(hits)} hits over {len(leads)} bridges",
            )
        return hits

    async def _followed(
        self,
        query: Query,
        ranking: "_Ranking",
        most: int,
        weight: float,
        context: RunContext,
        known: Sequence[Bridge] = (),
    ) -> tuple[Bridge, ...]:
        """The bridges of the best hits so far, beside those known; what they find is added."""
        found = bridges(
            query.text, ranking.hits(self.settings.bridge_hits), self.terms, known=known
        )[:most]
        ways = {f"bridge {n}": lead for n, lead in enumerate(found, start=len(known) + 1)}
        texts = {name: self._way(query, lead) for name, lead in ways.items()}
        hits = await self._searched(query, texts, context)
        for name, lead in ways.items():
            share = weight * lead.strength / found[0].strength
            ranking.add_bridge(lead, hits.get(name, ()), share)
        return found

    def _way(self, query: Query, bridge: Bridge) -> str:
        return f"{bridge.name} {remaining(query.text, bridge.chunk, self.terms)}".strip()

    async def _searched(
        self, query: Query, texts: Mapping[str, str], context: RunContext
    ) -> dict[str, tuple[Hit, ...]]:
        """What a search for each text finds, by name; all at once."""

        def job(text: str, k: int) -> Job:
            return lambda here: self.search(replace(query, text=text), k=k, context=here)

        jobs = {
            name: job(text, self.settings.first_k if name == _WHOLE else self.settings.hop_k)
            for name, text in texts.items()
        }
        return await context.branches(jobs, agent="retriever")

    def _first(self, found: Mapping[str, tuple[Hit, ...]], context: RunContext) -> tuple[Hit, ...]:
        if _WHOLE not in found and not context.refusals:
            raise RunError(
                "the search for the question broke off; the log has the reason"
            )
        return found.get(_WHOLE, ())


class _Ranking:
    """What has been found so far; the order in which searches end does not matter."""

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
        for hit, gain in self._gains(anchor, hits):
            own = self._hops.settings.anchor_weight * gain
            self._anchored[hit.chunk.id] = self._anchored.get(hit.chunk.id, 0.0) + own

    def add_bridge(self, bridge: Bridge, hits: Sequence[Hit], share: float) -> None:
        for hit, gain in self._gains(bridge.name, hits):
            # A hop leads to another document; more of the same one is no hop.
            if hit.chunk.document_id != bridge.chunk.document_id:
                best = max(self._bridged.get(hit.chunk.id, 0.0), share * gain)
                self._bridged[hit.chunk.id] = best

    def _gains(self, name: str, hits: Sequence[Hit]) -> Iterator[tuple[Hit, float]]:
        """The hits with their scores, those not called so discounted.

        A title that several documents bear tells none of them apart.
        """
        called = {hit.chunk.document_id for hit in hits if titled(hit.chunk, name)}
        for hit in hits:
            self._chunks[hit.chunk.id] = hit.chunk
            apart = len(called) == 1 and hit.chunk.document_id in called
            yield hit, hit.score * (1.0 if apart else self._hops.settings.title_mismatch_weight)

    def hits(self, k: int) -> tuple[Hit, ...]:
        """The best so far; ties by chunk id."""
        parts = (self._whole, self._anchored, self._bridged)
        scores = {
            name: round(sum(part.get(name, 0.0) for part in parts), _DIGITS)
            for name in self._chunks
        }
        order = sorted(scores, key=lambda name: (-scores[name], name))[:k]
        return tuple(
            Hit(chunk=self._chunks[name], score=scores[name], rank=rank, retriever=self._hops.name)
            for rank, name in enumerate(order, start=1)
        )

"""Multi-hop retrieval for questions whose evidence stands in several documents, by rules.

There is one search for the whole question and one for each anchor. Then there is one for each
bridge in the best hits, together with the words of the question that its chunk does not hold. A
bridge is a name that the question does not hold, but that stands near the question's words in a
good hit, so it may lead to the next document (the bridge entity of HotpotQA; Yang et al. 2018).
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
"""The least number of characters of a bridge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A name that may lead to another document.

    Attributes:
        name: The name as the chunk writes it.
        chunk: The chunk in which it has the highest strength.
        strength: The score of the chunk's hit as a share of the best score, times the share of the
            question's words that stand around the name; in [0, 1].
    """

    name: str
    chunk: Chunk
    strength: float


def find_bridges(
    question: str, hits: Sequence[Hit], terms: Terms, *, earlier: Sequence[Bridge] = ()
) -> tuple[Bridge, ...]:
    """Return the bridges in the hits, the strongest first, ties by alphabet.

    Args:
        question: The text of the question.
        hits: The best hits, in rank order, with scores of at least 0.
        terms: A function that returns the distinct content words of a text.
        earlier: The bridges of an earlier hop, whose names are left out.
    """
    question_text, question_terms = normalize_name(question), terms(_strip_possessives(question))
    earlier_names = {normalize_name(bridge.name) for bridge in earlier}
    best_by_name: dict[str, Bridge] = {}
    top = max((hit.score for hit in hits), default=0.0)
    for hit in hits if question_terms and top > 0 else ():
        for name, around in _list_names(hit.chunk):
            key = normalize_name(name)
            # A name that consists of words of the question leads nowhere new either.
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
    """Yield every name of a chunk with the text around it.

    The document's title comes first, with the whole text of the chunk. Names in the text come with
    the title and their sentence.
    """
    if chunk.title:
        yield strip_brackets(chunk.title), chunk.text
    for span in split(chunk.text):
        sentence = span.cut(chunk.text)
        for name in list_names(sentence):
            yield name, f"{chunk.title} {sentence}"


def list_open_words(question: str, chunk: Chunk, terms: Terms) -> str:
    """Return the content words of the question that neither the chunk nor its headings hold."""
    chunk_terms = terms(_strip_possessives(chunk.context))
    words = (match.group() for match in _WORD.finditer(_strip_possessives(question)))
    return " ".join(word for word in words if terms(word) - chunk_terms)


def is_titled(chunk: Chunk, name: str) -> bool:
    """Return whether a name is the title of a chunk's document, in any capitals.

    Words in brackets at the end of the title do not count; a comma and the words after it need not.
    """
    title = normalize_name(strip_brackets(chunk.title))
    return normalize_name(name) in {title, _AFTER_COMMA.sub("", title)}


def strip_brackets(title: str) -> str:
    """Return a title without words in brackets at its end: "Mercury" for "Mercury (planet)"."""
    return _BRACKETS.sub("", title)


def _strip_possessives(text: str) -> str:
    """Return a text without possessive endings."""
    return _POSSESSIVE.sub("", text)


def normalize_name(text: str) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(text.casefold().split())


Job = Callable[[RunContext], Awaitable[tuple[Hit, ...]]]
"""A search that is ready to run in a step."""

_QUESTION_JOB = "question"
"""The name of the search for the whole question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiHop:
    """A ranking by the sum of three scores: for the question, its anchors, and its bridges.

    - The score of the search for the whole question.
    - The sum, over all anchors that find the chunk, of `anchor_weight` * score.
    - The maximum, over all bridges that find the chunk, of `bridge_weight` * score * the strength
      of the bridge as a share of the strongest one's.

    In the last two, the score is multiplied by `title_mismatch_weight` unless the chunk's document,
    and no other one that the search found, has the anchor or bridge as its title. The best hits
    after this hop give at most `second_hop_bridges` further bridges, whose weight is multiplied by
    `hop_decay`.

    Attributes:
        search: The search, with scores of about [0, 1].
        extract_terms: A function that returns the distinct content words of a text.
        settings: The numbers of hits and bridges, and their weights.
        name: The name of the retriever in the hits.
    """

    search: Search
    extract_terms: Terms
    settings: AnchorSettings = field(default_factory=AnchorSettings)
    name: str = "hops"

    async def __call__(
        self, query: Query, anchors: Sequence[str], *, k: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """Return at most `k` hits, best first, as one step of the run.

        A search that fails or that the budget refuses is left out.

        Args:
            query: The query of the whole question.
            anchors: The anchors to search for, each by itself.
            k: The largest number of hits.
            context: The run that pays for the searches and records them.

        Raises:
            RunError: If the search for the whole question fails, unless the budget refused a
                search.
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
        """Search for the bridges in the best hits, add what they find, and return the bridges.

        Args:
            query: The query of the whole question.
            ranking: The ranking so far, to which the hits are added.
            most: The largest number of bridges.
            weight: The weight of the strongest bridge.
            context: The run that pays for the searches and records them.
            earlier: The bridges of the hop before, which are not followed again.
        """
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
        """Return a bridge with the words of the question that its chunk leaves open."""
        return (
            f"{bridge.name} {list_open_words(query.text, bridge.chunk, self.extract_terms)}".strip()
        )

    async def _search_all(
        self, query: Query, texts: Mapping[str, str], context: RunContext
    ) -> dict[str, tuple[Hit, ...]]:
        """Search for all texts at the same time and return the hits by the names of the texts."""

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
        """Return the hits of the search for the whole question; none if the budget refused it."""
        # A refusal by the budget is no error: the run goes on with the hits that it has.
        if _QUESTION_JOB not in hits_by_name and not context.refusals:
            raise RunError("the search for the question failed; the log has the reason")
        return hits_by_name.get(_QUESTION_JOB, ())


class _Ranking:
    """The scores of all chunks so far, independent of the order in which searches end."""

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
        """Add the hits of the search for an anchor; scores of several anchors add up."""
        for hit, gain in self._weigh_hits(anchor, hits):
            weighted_gain = self._hops.settings.anchor_weight * gain
            self._anchored[hit.chunk.id] = self._anchored.get(hit.chunk.id, 0.0) + weighted_gain

    def add_bridge(self, bridge: Bridge, hits: Sequence[Hit], share: float) -> None:
        """Add the hits of the search for a bridge; of several bridges the best score counts.

        Args:
            bridge: The bridge.
            hits: The hits.
            share: The factor on their scores.
        """
        for hit, gain in self._weigh_hits(bridge.name, hits):
            # A bridge must lead to another document, so chunks of its own document get nothing.
            if hit.chunk.document_id != bridge.chunk.document_id:
                best = max(self._bridged.get(hit.chunk.id, 0.0), share * gain)
                self._bridged[hit.chunk.id] = best

    def _weigh_hits(self, name: str, hits: Sequence[Hit]) -> Iterator[tuple[Hit, float]]:
        """Yield the hits with their scores, reduced unless their document alone has this title.

        A title that several of the hits' documents share does not tell them apart.
        """
        titled_documents = {hit.chunk.document_id for hit in hits if is_titled(hit.chunk, name)}
        for hit in hits:
            self._chunks[hit.chunk.id] = hit.chunk
            is_unique = len(titled_documents) == 1 and hit.chunk.document_id in titled_documents
            yield hit, hit.score * (1.0 if is_unique else self._hops.settings.title_mismatch_weight)

    def list_hits(self, k: int) -> tuple[Hit, ...]:
        """Return the `k` best hits so far, ties by chunk id."""
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

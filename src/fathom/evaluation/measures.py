"""Retrieval measures, computed by ir-measures, question by question."""

from collections.abc import Mapping, Sequence

from fathom.errors import UsageError

MEASURES = ("nDCG@10", "R@2", "R@5", "R@10", "R@100", "RR@10", "Hit@10")
DEPTH = 100
"""How many documents a ranking must hold for all measures."""


def measure(
    rankings: Mapping[str, Sequence[str]], qrels: Mapping[str, Mapping[str, int]]
) -> dict[str, list[float]]:
    """Values per measure, one a judged question, in the order of `rankings`.

    Args:
        rankings: Question id -> document ids, best first; a question with an empty ranking
            counts with 0, it does not vanish.
        qrels: Question id -> document id -> grade above 0; must hold every ranked question.

    Raises:
        UsageError: If the `eval` extra is not installed.
    """
    try:
        import ir_measures
    except ImportError:
        raise UsageError("measures need the eval extra: pip install 'fathom[eval]'") from None
    named = {name: ir_measures.parse_measure(name.replace("Hit@", "Success@")) for name in MEASURES}
    run = [
        ir_measures.ScoredDoc(question, document, float(-rank))
        for question, documents in rankings.items()
        for rank, document in enumerate(documents, start=1)
    ]
    judged = [
        ir_measures.Qrel(question, document, grade)
        for question in rankings
        for document, grade in qrels[question].items()
    ]
    values = {
        (str(metric.measure), metric.query_id): float(metric.value)
        for metric in ir_measures.iter_calc(list(named.values()), judged, run)
    }
    return {
        name: [values.get((str(of), question), 0.0) for question in rankings]
        for name, of in named.items()
    }

"""Records of evaluations, made for tests."""

from typing import Any

from fathom.evaluation.records import CitationRecord, Record


def make_citation(
    document: str = "d1", quote: str = "It costs 40 crowns.", support: float = 0.8
) -> CitationRecord:
    return CitationRecord(document=document, quote=quote, support=support, verified=True)


def make_record(question: str = "q1", **fields: Any) -> Record:
    """Return an answered question, right, unless the fields say otherwise."""
    whole: dict[str, Any] = {
        "dataset": "toy",
        "strategy": "naive",
        "text": "What does it cost?",
        "gold": ("40 crowns",),
        "relevant": {"d1": 1},
        "status": "answered",
        "answer": "It costs 40 crowns. [1]",
        "short_answer": "40 crowns",
        "confidence": 0.9,
        "phase": "read",
        "stop_reason": "answered",
        "citations": (make_citation(),),
        "evidence": ("d1", "d2"),
        "usage": {
            "llm_calls": 0,
            "prompt_tokens": 30,
            "completion_tokens": 10,
            "retrievals": 1,
            "seconds": 0.5,
            "cost_usd": 0.0,
        },
        "seconds": 0.5,
    }
    return Record(question=question, **{**whole, **fields})


def make_abstention(question: str = "q1", **fields: Any) -> Record:
    return make_record(
        question,
        **{"status": "abstained", "answer": "", "short_answer": "", "confidence": 0.1, **fields},
    )


def make_failure(question: str = "q1", **fields: Any) -> Record:
    return make_abstention(
        question,
        **{"status": "failed", "confidence": None, "citations": (), "evidence": (), **fields},
    )


def make_ranking(question: str = "q1", **fields: Any) -> Record:
    """Return a ranking of a retriever that found the one relevant document first."""
    return make_abstention(
        question,
        **{
            "status": "ranked",
            "strategy": "keyword",
            "depth": 100,
            "confidence": None,
            "phase": "",
            "stop_reason": "",
            "citations": (),
            **fields,
        },
    )

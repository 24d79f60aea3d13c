"""Evidence by number against copied quotes, on any model: python benchmarks/evidence_forms.py.

Asks the questions of the samples with `naive`, of every one of them the model (`local:`, or another
that `--llm` names), in both forms in turn, and prints for each: replies that fit the schema, those
of them after a repair, answers, quotes or numbers named, how many of those were found, and of what
is cited how much stands in its document; answers that are right; tokens and seconds. What did
better with a model goes into `MEASURED` of `agents/cited_answer.py`.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathom.agents.cited_answer import ByNumber, ByQuote, CitedForm
from fathom.engine import Engine
from fathom.measures.qa_metrics import is_right
from fathom.settings import Settings
from fathom.types import Answer, Hit

ROOT = Path(__file__).parents[1]
FORMS: dict[str, CitedForm] = {"numbers": ByNumber(), "quotes": ByQuote()}


def engine_of(index: Path, form: str, arguments: argparse.Namespace) -> Engine:
    """An engine whose reader asks the model for every question, in one form."""
    llm = {
        "model": arguments.llm,
        "base_url": arguments.base_url,
        "max_tokens": arguments.max_tokens,
        "skip_above_confidence": 2,
        "evidence": form,
    }
    tree = {
        "index": {"directory": index},
        "llm": llm,
        "ask": {"chunks": arguments.chunks},
        "budget": {"seconds": None},
    }
    return Engine(Settings.model_validate(tree))


def seen(engine: Engine, form: CitedForm, question: dict[str, Any]) -> Counter[str]:
    """What one question came to, in counts."""
    begun = time.monotonic()
    answer = engine.ask(question["text"], strategy="naive")
    found = Counter(asked=1, seconds=round(time.monotonic() - begun))
    found["tokens read"] = answer.usage.prompt_tokens
    found["tokens written"] = answer.usage.completion_tokens
    trace = engine.trace(str(answer.trace_id))
    asked = next((step for step in trace.steps if step.inputs and "prompt" in step.inputs), None)
    reply = (asked.outputs or {}).get("reply") if asked else None
    if reply is None:
        return found
    found["valid"] = 1
    found["repaired"] = int(asked is not None and "repair" in (asked.reason or ""))
    said = form.kind.model_validate(reply).answer
    if said is not None:
        hits = engine.search(question["text"], k=engine.settings.ask.chunks)
        found["answers"] = 1
        found += named(form, said.sentences, hits)
        found["model right"] = int(is_right(said.short_answer, question["answers"]))
    found["kept"] = int(any(step.verdict == "model" for step in trace.steps) and said is not None)
    found += shown(engine, answer, question)
    return found


def named(form: CitedForm, sentences: Sequence[Any], hits: Sequence[Hit]) -> Counter[str]:
    """Quotes or numbers that the model gave, and those of them that were found."""
    found: Counter[str] = Counter()
    for each in sentences:
        cited = form.cited(each, hits)
        found["given"] += cited.named
        places = len(cited.evidence)
        twice = cited.named - len({json.dumps(part) for part in parts(each)})
        found["found"] += min(cited.named, places + twice)
    return found


def parts(sentence: Any) -> list[Any]:  # noqa: ANN401
    """What a sentence names."""
    value = sentence.model_dump()
    named_: list[Any] = value.get("quotes") or value.get("evidence")
    return named_


def shown(engine: Engine, answer: Answer, question: dict[str, Any]) -> Counter[str]:
    """What the user sees."""
    documents = [engine.document(each.document) for each in answer.citations]
    verbatim = [
        document is not None and document.text[each.start : each.end] == each.quote
        for each, document in zip(answer.citations, documents, strict=True)
    ]
    right = is_right(answer.short_answer or answer.answer, question["answers"])
    return Counter(
        {
            "shown": len(verbatim),
            "verbatim": sum(verbatim),
            "answered": int(answer.status == "answered"),
            "right": int(answer.status == "answered" and right),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--llm", default="local:")
    parser.add_argument("--base-url")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--skip", type=int, default=0, help="so many of the first ones")
    parser.add_argument("--index", type=Path, help="where the samples are, or go; kept")
    parser.add_argument("--chunks", type=int, default=3, help="shown to the model")
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--forms", nargs="*", choices=FORMS, default=list(FORMS))
    arguments = parser.parse_args()
    lines = (ROOT / "samples" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    end = arguments.skip + arguments.questions
    questions = [json.loads(line) for line in lines][arguments.skip : end]
    totals: dict[str, Counter[str]] = {name: Counter() for name in arguments.forms}
    with tempfile.TemporaryDirectory() as folder:
        index = arguments.index or Path(folder) / "index"
        engines = {name: engine_of(index, name, arguments) for name in arguments.forms}
        if not index.exists():
            next(iter(engines.values())).ingest([ROOT / "samples" / "corpus"])
        for question in questions:
            for name, engine in engines.items():
                totals[name] += seen(engine, FORMS[name], question)
            print(json.dumps({"id": question["_id"], **totals}), file=sys.stderr, flush=True)
        for engine in engines.values():
            engine.close()
    for name, total in totals.items():
        print(json.dumps({"model": arguments.llm, "form": name, **total}))


if __name__ == "__main__":
    main()

"""The effect of the web phase of `maf`: PYTHONPATH=.:src python benchmarks/web.py.

A half of a data set's documents, drawn by their names, is withheld from the index and becomes "the
web": a server on the loopback interface that speaks SearXNG's protocol and answers searches with
extracts of them, as a search engine does. All questions are asked without the web and with it, by
the shipped settings. Printed is what came of them, and what changed: a phase that accepts whatever
is found helps where the web has the answer, and hurts where nothing has.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePath
from statistics import fmean
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.measures import is_correct
from fathom.evaluation.records import Record
from fathom.evaluation.runner import Session
from fathom.settings import Settings
from fathom.types import Filter, Hit, Query

Find = Callable[[str], Sequence[Hit]]
"""The hits for a query, best first."""
OUTCOMES = ("right", "wrong", "abstained")


@contextmanager
def run_search_server(find: Find) -> Iterator[str]:
    """Run a search engine whose pages are hits, and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            query = parse_qs(address.query).get("q", [""])[0]
            if address.path != "/search" or not query:
                self.send_error(404)
                return
            body = json.dumps(
                {"query": query, "results": [_format_page(hit) for hit in find(query)]}
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _format_page(hit: Hit) -> dict[str, str]:
    chunk = hit.chunk
    url = f"https://pages.example/{chunk.document_id}?at={chunk.span.start}"
    return {"url": url, "title": chunk.title, "content": chunk.text}


def is_withheld(name: str) -> bool:
    """Return whether the web has a document; about half are withheld, always the same."""
    return sha256(name.encode()).digest()[0] % 2 == 1


def name_outcome(record: Record) -> str:
    """Return the outcome of a question; without an answer only an abstention is right."""
    if record.status == "abstained":
        return "abstained"
    return "right" if is_correct(record) else "wrong"


def ask_with_and_without(
    folder: Path, dataset: Dataset, queries: int | None
) -> tuple[list[Record], list[Record]]:
    """Return the records of all questions without the web, and with it."""
    with _open_engine(folder / "web") as everything, _open_engine(folder / "own") as local:
        for engine in (everything, local):
            engine.ingest([dataset.corpus])
        held = [
            document.id
            for document in local.documents.list()
            if is_withheld(PurePath(document.path).name)
        ]
        local.documents.remove(held)
        retriever = everything.retriever("keyword")

        def find(query: str) -> list[Hit]:
            filters = (Filter("document", "in", tuple(held)),)
            return retriever.retrieve(Query(text=query, filters=filters), k=10)

        without = Session(engine=local, dataset=dataset, queries=queries).collect_answers("maf")
        with run_search_server(find) as address:
            web = {"provider": "searxng", "base_url": address}
            with _open_engine(folder / "own", web=web) as reaching:
                within = Session(engine=reaching, dataset=dataset, queries=queries).collect_answers(
                    "maf"
                )
    return without, within


def _open_engine(folder: Path, **sections: object) -> Engine:
    return Engine(Settings.model_validate({"index": {"directory": folder}, **sections}))


def format_table(without: Sequence[Record], within: Sequence[Record]) -> str:
    """Return the outcomes without and with the web, and the changes."""
    lines = [
        f"| {len(without)} questions | right | wrong | abstained | web phase | searches | mean s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, records in (("without the web", without), ("with it", within)):
        counted = Counter(map(name_outcome, records))
        searches = fmean(record.usage["retrievals"] or 0 for record in records)
        cells = [
            *(str(counted[outcome_name]) for outcome_name in OUTCOMES),
            str(sum(record.phase.startswith("web") for record in records)),
            f"{searches:.2f}",
            f"{fmean(record.seconds for record in records):.2f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    changed = Counter(
        (name_outcome(before), name_outcome(after), before.answerable)
        for before, after in zip(without, within, strict=True)
        if name_outcome(before) != name_outcome(after)
    )
    lines += [
        f"{before} -> {after}: {count}{'' if answerable else ' (no document has an answer)'}"
        for (before, after, answerable), count in sorted(changed.items())
    ]
    return "\n".join(lines)


def main() -> None:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=Path, default=Path("samples"))
    parser.add_argument("--queries", type=int, help="a sample of so many; all by default")
    parser.add_argument("--index", type=Path, help="keep the indexes here, for a next time")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(
            format_table(
                *ask_with_and_without(
                    arguments.index or Path(folder), load(arguments.dataset), arguments.queries
                )
            )
        )


if __name__ == "__main__":
    main()

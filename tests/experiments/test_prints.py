"""The fingerprints of a question: its text, its documents and their articles, hashed."""

import json
from pathlib import Path

import pytest
from experiments.lab.prints import Print, applies_to, compute_prints
from research.contamination import Manifest, fingerprint, fingerprint_all
from tests.evaluation.test_datasets import write_dataset

from fathom.evaluation.datasets import load

CORPUS = "".join(
    json.dumps({"_id": name, "title": title, "text": text}) + "\n"
    for name, title, text in (
        ("d1", "Fees", "A permit costs 40 crowns."),
        ("d2", "", "Boats are blue."),
        ("d3", "Boats", "Boats float."),
    )
)
QUERIES = "".join(
    json.dumps({"_id": name, "text": f"{name}?", "answers": answers, "metadata": metadata}) + "\n"
    for name, answers, metadata in (
        ("judged", ["40"], {}),
        ("own", ["blue"], {"documents": ["d2"]}),
        (
            "unanswerable",
            [],
            {"answerable": False, "paragraph": "d3", "article": "Private_boats"},
        ),
    )
)
PRINT = Print(question=fingerprint("Who?"), articles=("a",), documents=("d", "e"))


def test_a_question_has_the_fingerprints_of_its_documents(tmp_path: Path) -> None:
    fingerprints = compute_prints(load(write_dataset(tmp_path, CORPUS, QUERIES, "judged\td1\t1\n")))
    assert fingerprints["judged"] == Print(
        question=fingerprint("judged?"),
        articles=(fingerprint("fees"),),
        documents=(fingerprint("a permit costs 40 crowns"),),
    )
    assert fingerprints["own"].articles == ()
    assert fingerprints["own"].documents == (fingerprint("Boats are blue."),)


def test_an_unanswerable_question_has_that_of_its_source_paragraph(tmp_path: Path) -> None:
    fingerprints = compute_prints(
        load(write_dataset(tmp_path, CORPUS, QUERIES, "judged\td1\t1\n"))
    )["unanswerable"]
    assert set(fingerprints.articles) == fingerprint_all(["Boats", "private boats"])
    assert fingerprints.documents == (fingerprint("Boats float."),)


@pytest.mark.parametrize(
    ("manifest", "touched"),
    [
        (Manifest(what="learned", questions=fingerprint_all(["who"])), True),
        (Manifest(what="learned", articles=frozenset("a")), True),
        (Manifest(what="learned", documents=frozenset("e")), True),
        (Manifest(what="learned", questions=frozenset("a"), articles=frozenset("d")), False),
    ],
)
def test_one_shared_part_is_enough(manifest: Manifest, touched: bool) -> None:
    assert PRINT.touches(manifest) is touched


def test_a_choice_applies_to_the_systems_that_it_names() -> None:
    assert applies_to(Manifest(what="chosen"), ["naive"])
    assert applies_to(Manifest(what="chosen", systems=frozenset({"mao"})), ["naive", "mao"])
    assert not applies_to(Manifest(what="chosen", systems=frozenset({"mao"})), ["naive"])

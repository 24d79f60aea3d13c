import re

import pytest
from training.cross_reader.rows import Row, hash_to_number, is_development, parse_row
from training.cross_reader.sources import RANKED, SHARES, SOURCES, find_source

SPAN = {
    "id": "1",
    "title": "Old_Town",
    "context": "It lies on the Rhine.",
    "question": "Where does it lie?",
    "answers": [{"text": "on the Rhine", "answer_start": 8}, {"text": "Rhine", "answer_start": 15}],
    "is_impossible": False,
    "lang": "en",
    "source": "squad-dev",
}


def test_a_span_row_knows_its_answers_and_no_underscore() -> None:
    row = parse_row(SPAN)

    assert row is not None
    assert [row.text[a:b] for a, b in row.spans] == ["on the Rhine", "Rhine"]
    assert row.title == "Old Town"
    assert (row.answerable, row.relevant, row.group) == (True, True, "squad")


def test_a_twisted_question_says_nothing_of_relevance() -> None:
    row = parse_row({**SPAN, "answers": [], "is_impossible": True})

    assert row is not None
    assert (row.spans, row.answerable, row.relevant) == ((), False, None)


@pytest.mark.parametrize(
    ("label", "support"),
    [
        ("supported", (0,)),
        ("contradicted", (1,)),
        ("unrelated", (2,)),
        ("not_supported", (1, 2)),
        ("partially_supported", (1, 2)),
    ],
)
def test_the_label_of_a_claim_lists_the_possible_classes(
    label: str, support: tuple[int, ...]
) -> None:
    row = parse_row({**SPAN, "source": "wice-claim-dev", "task": "nli", "label": label})

    assert row is not None
    assert row.support == support
    assert row.answerable is None


@pytest.mark.parametrize(
    "source", ["anli-r1-dev", "sick-train", "wikiqa-train", "subjqa-books-dev"]
)
def test_excluded_rows_are_left_out(source: str) -> None:
    assert parse_row({**SPAN, "source": source}) is None


def test_an_unlisted_source_is_an_error() -> None:
    with pytest.raises(KeyError, match=r"'new-set'.*licence"):
        parse_row({**SPAN, "source": "new-set"})


def test_the_longest_prefix_decides() -> None:
    assert find_source("contrast-boolq").group == "yesno"
    assert find_source("contrast-quoref").group == "odd"


def test_no_non_commercial_or_unclear_source_is_used() -> None:
    used = [source.licence for source in SOURCES.values() if source.group] + list(RANKED.values())

    for licence in used:
        assert not {"NC", "research", "none", "unspecified"} & set(re.findall(r"\w+", licence))


def test_every_share_has_rows() -> None:
    derived = {"labelled", "mined", "mined-id", "swapped", "swapped-id", "ranked", "composed"}
    derived |= {"yesno-made", "yesno-id", "mined-written", "mined-news", "written-stated"}

    assert set(SHARES) - derived <= {source.group for source in SOURCES.values()}


def test_maybe_is_no_answer_to_learn() -> None:
    assert parse_row({**SPAN, "source": "pubmedqa-l", "task": "yesno", "label": "maybe"}) is None


def test_articles_are_not_split() -> None:
    rows = [Row(source="squad-dev", group="squad", question=q, title="T", text="x") for q in "abcd"]

    assert len({is_development(row) for row in rows}) == 1


@pytest.mark.parametrize("group", ["written", "generated"])
def test_documents_of_written_and_generated_rows_are_not_split(group: str) -> None:
    rows = [
        Row(source="s", group=group, question="q", title=f"T > {name}", text="x")
        for name in "abcdefgh"
    ]

    assert len({is_development(row) for row in rows}) == 1


def test_numbers_are_the_same_on_every_machine() -> None:
    # sha256("") starts with e3b0c44298fc1c14.
    assert hash_to_number("") == 0xE3B0C44298FC1C14

"""Neglect changes what it claims to change, and nothing else."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from experiments.lab.perturb import COPY, LEGACY, Neglect, degrade, make_older, make_unkempt
from experiments.lab.texts import Text

from fathom.errors import UsageError

NONE = Neglect(unreadable=0, outdated=0, copied=0, unkempt=0)
FEES = Text(
    id="fees",
    title="Fees 2025",
    text=(
        "# Mooring\n\nA permit costs 1,040 crowns since 2025, with form v1.25.3 of 16:30.\n\n"
        "- One berth is 7.5 metres long.\n- Ask at desk 4 for 1,040 crowns.\n\n"
        "| berth | price |\n| --- | --- |\n| North | 312 |"
    ),
    metadata={"office": "harbour"},
)
MANY = [replace(FEES, id=f"d{number}") for number in range(400)]


def count_states(documents: list[Text]) -> Counter[str]:
    """Count what became of the documents and copies."""
    counts = Counter[str]()
    for document in documents:
        counts["copied"] += document.id.endswith(COPY)
        counts["unreadable"] += not document.text
        counts["unkempt"] += document.title.startswith("scan-") and bool(document.text)
        counts["outdated"] += "2025" not in document.text and bool(document.text)
    return counts


def test_the_same_documents_get_the_same_neglect() -> None:
    once, again = list(degrade(MANY)), list(degrade(reversed(MANY)))
    assert sorted(once, key=lambda document: document.id) == sorted(
        again, key=lambda document: document.id
    )


def test_each_state_has_about_its_share_and_no_document_is_lost() -> None:
    documents = list(degrade(MANY, replace(LEGACY, slips=0)))
    counts = count_states(documents)
    assert 0.05 < counts["unreadable"] / 400 < 0.15
    assert 0.14 < counts["copied"] / 400 < 0.26
    assert 0.5 < counts["unkempt"] / (len(documents) - counts["unreadable"]) < 0.7
    # Those with only an older version, and the copies.
    assert 0.35 < counts["outdated"] / 400 < 0.55
    ids = [document.id for document in documents if not document.id.endswith(COPY)]
    assert ids == [document.id for document in MANY]
    copies = {
        document.id.removesuffix(COPY): document
        for document in documents
        if document.id.endswith(COPY)
    }
    assert all("2025" in document.text for document in documents if document.id in copies)


def test_without_neglect_nothing_changes() -> None:
    assert list(degrade(MANY, NONE)) == MANY


@pytest.mark.parametrize("state", ["unreadable", "outdated", "copied", "unkempt"])
def test_a_state_may_apply_to_all(state: str) -> None:
    documents = list(degrade(MANY, replace(NONE, slips=0, **{state: 1.0})))
    expected = {"copied": {"copied": 400, "outdated": 400}}.get(state, {state: 400})
    assert +count_states(documents) == expected


def test_an_unreadable_document_has_no_metadata() -> None:
    (document,) = degrade([FEES], replace(NONE, unreadable=1))
    assert (document.id, document.text, document.metadata) == ("fees", "", {})
    assert re.fullmatch(r"scan-[0-9a-f]{8}\.pdf", document.title)


def test_an_older_version_has_other_figures_and_the_same_words() -> None:
    aged = make_older(FEES, Neglect(figures=1, lacking=0))
    words = re.compile(r"[0-9]+")
    assert words.sub("", aged.text) == words.sub("", FEES.text)
    assert aged.metadata == FEES.metadata
    year = int(aged.title.removeprefix("Fees "))
    assert 2020 <= year <= 2024
    assert f"since {year}, with form v1.{25 - (2025 - year)}.3" in aged.text
    (price,) = set(re.findall(r"1,04\d", aged.text))  # the same twice
    assert price != "1,040"
    assert "desk 4" in aged.text
    for figure in ("16:30", "7.5 ", "312"):
        assert figure not in aged.text


def test_version_numbers_never_fall_below_zero() -> None:
    aged = make_older(Text(id="v", title="", text="v1.0 and v2 and v3.x, but x264 and utf8"))
    assert aged.text == "v1.0 and v2 and v3.x, but x264 and utf8"


def test_an_older_version_may_lack_paragraphs_but_never_the_first() -> None:
    aged = make_older(FEES, Neglect(figures=0, lacking=1))
    assert aged.text == "# Mooring"
    assert make_older(FEES, Neglect(figures=0, lacking=0)).text.count("\n\n") == 3


def test_an_unkempt_document_keeps_its_words_and_loses_its_form() -> None:
    neglected = make_unkempt(FEES, Neglect(slips=0, broken=0))
    assert neglected.title.startswith("scan-")
    assert neglected.text == (
        "Mooring A permit costs 1,040 crowns since 2025, with form v1.25.3 of 16:30. "
        "One berth is 7.5 metres long. Ask at desk 4 for 1,040 crowns. "
        f"berth price --- --- North 312\n\n{neglected.title} 1/1"
    )


def test_a_long_document_has_a_footer_per_page() -> None:
    neglected = make_unkempt(replace(FEES, text="word " * 600), Neglect(slips=0, broken=0))
    assert [text.split()[-1] for text in neglected.text.split("\n\n")[1::2]] == [
        "1/3",
        "2/3",
        "3/3",
    ]


def test_words_are_broken_and_misread() -> None:
    text = replace(FEES, text="permission " * 200)
    broken = make_unkempt(text, Neglect(slips=0, broken=1)).text
    assert broken.count("permi- ssion") == 200
    misread = make_unkempt(text, Neglect(slips=1, broken=0)).text
    assert misread.count("perrnission") == 200
    some = make_unkempt(text, LEGACY).text
    assert 0 < some.count("permi- ssion") < 40
    assert 0 < some.count("perrnission") < 20


@pytest.mark.parametrize(
    ("neglect", "message"),
    [
        ({"slips": 1.5}, "slips = 1.5: give a share from 0 to 1"),
        ({"lacking": -0.1}, "lacking = -0.1"),
        ({"unreadable": 0.5, "outdated": 0.4}, "more than 1 together; lower one"),
    ],
)
def test_an_invalid_share_is_refused(neglect: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Neglect(**neglect)

"""What a document is called."""

import pytest

from fathom.documents.base import Builder


def built(*headings: tuple[str, int], before: str = "") -> Builder:
    builder = Builder()
    builder.paragraph(before)
    for text, level in headings:
        builder.heading(text, level)
        builder.paragraph("Words.")
    return builder


def test_its_own_title_comes_first() -> None:
    assert built(("Fees", 1)).build("Fees of 2023").title == "Fees of 2023"


@pytest.mark.parametrize(
    "made_up",
    [
        "Untitled",
        "Microsoft Word - a.doc",
        "PowerPoint Presentation",
        "fees.docx",
        "Document1",
        "-",
    ],
)
def test_what_a_program_called_it_is_no_title(made_up: str) -> None:
    assert built(("Fees", 1)).build(made_up).title == "Fees"
    assert built(before="Words.").build(made_up).title == ""


@pytest.mark.parametrize(
    ("builder", "title"),
    [
        (built(("Fees", 2), ("More", 2)), "Fees"),
        (built(("Fees", 1), ("More", 2), before="Notice."), "Fees"),
        (built(("Fees", 1), ("More", 1), before="Notice."), ""),
        (built(("1. Introduction", 1)), ""),
        (built(("BAB I KETENTUAN UMUM", 1)), ""),
        (built(("Part II", 1)), ""),
        (built(("3D printing", 1)), "3D printing"),
    ],
)
def test_a_heading_is_the_title_only_if_it_opens_or_crowns_the_document(
    builder: Builder, title: str
) -> None:
    assert builder.build().title == title
    assert builder.build(opening=False).title == ""

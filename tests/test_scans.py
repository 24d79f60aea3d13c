"""Recognised text is cited with its quote, its page and the confidence of recognition."""

import re
from pathlib import Path

import pytest
from tests.documents.formats.test_picture import needs_ocr, save_image
from tests.factories import open_public_folder

from fathom.engine import Engine
from fathom.serving.cli.output import format_answer
from fathom.settings import Settings

pytest.importorskip("PIL", reason="needs the extra ocr")


@needs_ocr
def test_an_answer_cites_the_page_of_a_scan_and_its_confidence() -> None:
    from tests.documents.formats.test_picture import draw_page

    first = draw_page("The museum of Merrow opens at nine.", "It is closed on Mondays.")
    second = draw_page(
        "A mooring permit costs 40 crowns a year.", "It is paid at the harbour office."
    )
    with open_public_folder() as folder:
        docs = folder / "docs"
        docs.mkdir()
        (docs / "notices.tif").write_bytes(save_image(first, "TIFF", second))
        settings = Settings.model_validate({"index": {"directory": folder / "index"}})
        with Engine(settings) as engine:
            report = engine.ingest([docs])
            assert (report.new, report.failed) == (1, 0)
            answer = engine.ask("How much does a mooring permit cost?")
    (citation, *_) = answer.citations
    assert "40 crowns" in citation.quote
    assert Path(citation.path).name == "notices.tif"
    assert citation.page == 2
    assert citation.recognised is not None
    assert 0.5 < citation.recognised <= 1
    assert re.search(r"page 2, text recognised \d+%", format_answer(answer))

"""Writes the binary documents of the sample corpus: `python samples/make.py [DIRECTORY]`.

The text formats (Markdown, HTML, CSV, mail ...) are written by hand and kept as they are.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import content
from writers import docx, pptx, xlsx
from writers_open import epub, odt, pdf

_HEADER = "Merrow Public Works Office"


def documents() -> Mapping[str, bytes]:
    """File names with their bytes."""
    return {
        "apprenticeships.docx": docx("Apprenticeships", content.APPRENTICES, _HEADER),
        "bridge-history.epub": epub(
            "Bridges of Merrow", "Merrow Town Library", content.BRIDGE_BOOK
        ),
        "fees-2023-public-works.pdf": pdf("Fee Schedule 2023", content.FEES_2023),
        "fees-2025-treasury.xlsx": xlsx("Fee Schedule 2025", content.FEES_2025),
        "flood-plan.pdf": pdf("Flood Plan for the River Sorrel", content.FLOOD_PLAN),
        "kerja-sama.pptx": pptx("Kerja Sama Merrow dan Tirtasari", content.SISTER_SLIDES),
        "library-figures.xlsx": xlsx("Library figures", content.LIBRARY_FIGURES),
        "library-rules.odt": odt("Rules of the Merrow Town Library", content.LIBRARY_RULES),
        "panduan-perbaikan-jalan.docx": docx(
            "Panduan Perbaikan Jalan",
            content.ROAD_GUIDE_ID,
            "Dinas Pekerjaan Umum Kota Tirtasari",
        ),
        "road-repair-handbook.docx": docx("Road Repair Handbook", content.HANDBOOK, _HEADER),
        "winter-service.pptx": pptx("Winter Service Plan 2025/26", content.WINTER),
    }


def main(folder: Path) -> None:
    """Write every document into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in documents().items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "corpus")

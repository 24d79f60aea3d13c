"""Checks for the extra `ocr`, which do not load it."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from fathom.documents.base import NEEDS_OCR

PACKAGE = "rapidocr"
MODELS = {"Det": "PP-OCRv6_det_small.onnx", "Rec": "PP-OCRv6_rec_small.onnx"}
"""The files of the models that detect the lines of a page and read a line, by role.

They are in the folder `models` of the package.
"""


@cache
def find_models() -> dict[str, Path] | None:
    """Return the files of the models by role; `None` if the extra or a file is missing."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "models"
    files = {role: folder / name for role, name in MODELS.items()}
    return files if all(file.is_file() for file in files.values()) else None


def can_retry(reason: str) -> bool:
    """Return whether a refusal's reason is only the missing extra, which is installed by now."""
    return reason.endswith(NEEDS_OCR) and find_models() is not None


def describe_extra() -> str:
    """Describe the installed recogniser in one line."""
    if find_spec(PACKAGE) is None:
        return "none; pip install 'fathom-qa[ocr]' to read scans and pictures"
    try:
        name = f"{PACKAGE} {version(PACKAGE)}"
    except PackageNotFoundError:
        name = PACKAGE
    if find_models() is None:
        return f"{name} without {', '.join(MODELS.values())}; pip install 'rapidocr>=3.10,<3.11'"
    return f"{name}, {', '.join(MODELS.values())}"

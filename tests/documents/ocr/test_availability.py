import pytest

from fathom.documents.base import NEEDS_OCR
from fathom.documents.ocr import availability as extra


def test_a_file_that_lacked_the_extra_is_read_once_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reason = f"is a picture; {NEEDS_OCR}"
    monkeypatch.setattr(extra, "find_models", dict)
    assert extra.can_retry(reason)
    assert not extra.can_retry("is damaged")
    monkeypatch.setattr(extra, "find_models", lambda: None)
    assert not extra.can_retry(reason)


def test_without_the_package_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda _: None)
    extra.find_models.cache_clear()
    assert extra.find_models() is None
    assert "pip install 'fathom-qa[ocr]'" in extra.describe_extra()
    extra.find_models.cache_clear()


def test_the_models_are_part_of_the_package() -> None:
    pytest.importorskip("rapidocr", reason="the extra `ocr` is not installed")
    files = extra.find_models()
    assert files is not None
    assert all(file.stat().st_size > 1_000_000 for file in files.values())
    assert "PP-OCRv6" in extra.describe_extra()

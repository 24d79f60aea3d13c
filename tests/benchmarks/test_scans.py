import random

import pytest

pytest.importorskip("PIL", reason="needs the extra ocr")
from benchmarks import scans


def test_errors_are_edits_per_expected_character() -> None:
    assert scans.compute_error_rate("harbour office", "harbour  office\n") == 0
    assert scans.compute_error_rate("harbour", "harbor") == pytest.approx(1 / 7)
    assert scans.compute_error_rate("harbour", "hrabour") == pytest.approx(2 / 7)
    assert scans.compute_error_rate("ab", "") == 1.0
    assert scans.compute_error_rate("ab", "xab") == 0.5


def test_the_same_seed_gives_the_same_page() -> None:
    words = [f"word{n}" for n in range(400)]
    lines = scans.make_page(words, random.Random(3))
    assert lines == scans.make_page(words, random.Random(3))
    assert len(lines) == scans.LINES
    assert max(map(len, lines)) < 70
    assert scans.draw_page(lines, 3).tobytes() == scans.draw_page(lines, 3).tobytes()

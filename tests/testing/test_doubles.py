import subprocess
import sys

import numpy as np
import pytest

from fathom.testing.doubles import HashingEmbedder


def test_one_letter_has_one_feature() -> None:
    # "a" is a word; "^a$" is too short for a 4-gram; it has no neighbour.
    vector = HashingEmbedder(32).embed(["a"])[0]

    assert sorted(np.abs(vector)) == [0.0] * 31 + [1.0]


def test_weights_of_words_pairs_and_grams_add_up() -> None:
    # Without collisions: two words of weight 1 and their pair of weight 1/2.
    vector = HashingEmbedder(1 << 20).embed(["a b"])[0]

    assert sorted(np.abs(vector[vector != 0])) == pytest.approx([0.5 / 1.5, 1 / 1.5, 1 / 1.5])


def test_order_matters_and_case_does_not() -> None:
    embed = HashingEmbedder(256).embed
    lower, upper, turned = embed(["red pump", "RED PUMP", "pump red"])

    assert lower.tobytes() == upper.tobytes()
    assert 0.5 < lower @ turned < 0.99


def test_empty_text_gives_the_first_axis() -> None:
    vector = HashingEmbedder(8).embed([""])[0]

    assert vector.tolist() == [1.0] + [0.0] * 7


def test_another_process_gives_the_same_bytes() -> None:
    script = (
        "from fathom.testing.doubles import HashingEmbedder as E;"
        "print(E(64).embed(['the same everywhere']).tobytes().hex())"
    )
    other = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert (
        other.stdout.strip() == HashingEmbedder(64).embed(["the same everywhere"]).tobytes().hex()
    )


def test_another_dimension_is_another_identity() -> None:
    assert HashingEmbedder(64).identity != HashingEmbedder(128).identity


def test_too_few_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="dimension 7 must be at least 8"):
        HashingEmbedder(7)

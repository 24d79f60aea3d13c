"""The correctness law: what it learns, tested on held-out answers."""

import numpy as np
import pytest

from fathom.calibration.correctness import CorrectnessLaw, fit_law

TRUE = CorrectnessLaw(weights={"a": 1.5, "b": -0.8, "c": 0.0}, offset=0.3)


def draw_answers(count: int, seed: int = 0) -> tuple[list[dict[str, float]], list[bool]]:
    """Draw answers whose chance of being right is that of `TRUE`; `flat` carries no information."""
    dice = np.random.default_rng(seed)
    rows = [
        {"a": a, "b": b * 40 + 7, "c": c, "flat": 1.0}
        for a, b, c in dice.normal(size=(count, 3)).tolist()
    ]
    scaled = [{**row, "b": (row["b"] - 7) / 40} for row in rows]
    return rows, (dice.random(count) < TRUE.predict(scaled)).tolist()


def measure_distance(law: CorrectnessLaw, rows: list[dict[str, float]]) -> float:
    scaled = [{**row, "b": (row["b"] - 7) / 40} for row in rows]
    return float(np.abs(law.predict(rows) - TRUE.predict(scaled)).mean())


def test_the_learned_probabilities_are_the_true_ones() -> None:
    rows, right = draw_answers(4000)
    fitted = fit_law(rows, right)
    assert measure_distance(fitted.law, rows) < 0.02
    assert fitted.law.weights["a"] == pytest.approx(1.5, abs=0.15)
    assert "flat" not in fitted.law.weights


def test_few_answers_hardly_move_a_law_that_was_right_before() -> None:
    before = fit_law(*draw_answers(4000)).law
    rows, right = draw_answers(40, seed=1)
    assert measure_distance(fit_law(rows, right, before=before).law, rows) < measure_distance(
        fit_law(rows, right).law, rows
    )


def test_many_answers_overrule_a_law_that_was_wrong_before() -> None:
    rows, right = draw_answers(4000)
    before = CorrectnessLaw(weights={"a": -3.0}, offset=2.0)
    assert measure_distance(fit_law(rows, right, before=before).law, rows) < 0.03


def test_an_overconfident_law_is_corrected_by_few_answers() -> None:
    before = CorrectnessLaw(weights={"a": 6.0, "b": -0.08}, offset=1.2 + 0.56)
    rows, right = draw_answers(100, seed=2)
    assert (
        measure_distance(fit_law(rows, right, before=before).law, rows)
        < measure_distance(before, rows) / 2
    )


def test_held_out_answers_are_predicted_by_laws_that_have_not_seen_them() -> None:
    rows = [{"a": float(at)} for at in range(60)]  # a law that had seen it would learn the noise
    right = [bool(at * 7919 % 13 % 2) for at in range(60)]
    held_out = np.array(fit_law(rows, right).held_out)
    agrees = np.corrcoef(held_out, np.array(right, dtype=float))[0, 1]
    assert agrees < 0.3
    assert len(held_out) == len(rows)


def test_a_law_for_other_data_sets_rests_less_on_what_only_tells_them_apart() -> None:
    dice = np.random.default_rng(4)
    sets = dice.integers(0, 6, 600)
    shares = np.array([0.2, 0.8, 0.3, 0.7, 0.2, 0.8])[sets]
    # The corpus of each set has a size of its own, which rises with the share by chance alone.
    rows = [{"size": float(share + drift)} for share, drift in zip(shares, sets / 9, strict=True)]
    right = (dice.random(600) < shares).tolist()
    of_answers = fit_law(rows, right)
    of_sets = fit_law(rows, right, groups=[str(name) for name in sets])
    assert of_sets.ridge > of_answers.ridge
    assert abs(of_sets.law.weights["size"]) < abs(of_answers.law.weights["size"])


def test_the_same_answers_give_the_same_law() -> None:
    assert fit_law(*draw_answers(200)) == fit_law(*draw_answers(200))


def test_probabilities_stay_within_their_bounds_for_any_signals() -> None:
    law = CorrectnessLaw(weights={"a": 1e6}, offset=0.0)
    assert law({"a": 1e6}) == 1.0
    assert law({"a": -1e6}) == 0.0
    assert law({"other": 3.0}) == 0.5


def test_a_law_is_read_as_it_was_written() -> None:
    assert CorrectnessLaw.from_json(TRUE.to_json()) == TRUE


def test_it_agrees_with_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rows, right = draw_answers(500)
    values = np.array([[row["a"], row["b"], row["c"]] for row in rows])
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    fitted = fit_law(rows, right)
    theirs = linear.LogisticRegression(C=1 / fitted.ridge).fit(scaled, right)
    ours = fitted.law.predict(rows)
    assert np.abs(theirs.predict_proba(scaled)[:, 1] - ours).max() < 0.02

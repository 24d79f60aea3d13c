"""The package's test beside the t-test, with Holm's correction over all lines."""

from pathlib import Path

from experiments.lab.renderers.contrasts import contrast_arms
from tests.evaluation.factories import make_abstention, make_ranking, make_record
from tests.experiments.climbs import ALONE, observe

from fathom.evaluation.report.blocks import ReportTable


def test_both_tests_and_the_correction_are_shown(tmp_path: Path) -> None:
    names = [f"q{n}" for n in range(8)]
    results = observe(
        tmp_path,
        good=[make_record(name) for name in names],
        bad=[
            make_record("q0"),
            *(make_abstention(name, phase="vor, not accepted") for name in names[1:]),
        ],
        alone=[make_ranking(name) for name in names],
    )
    (table,) = contrast_arms(
        results,
        pairs=[["good", "bad"]],
        measures=["EM", "self_retrieval_f1", "RAMDocs-EM"],
        against=ALONE,
        title="T",
    )
    assert isinstance(table, ReportTable)
    first, second = table.rows
    assert first[:5] == ("toy", "good", "bad", "EM", "8")
    assert first[5].startswith("+0.875 [")
    # Seven of eight differ, all one way: 2 / 2^7 by McNemar; d_z = 0.875 / 0.35355, t = 7.
    assert first[6:10] == ("0.0156 (McNemar)", "0.0312", "t = 7.00, p = 0.000212", "+2.47")
    assert second[3] == "self_retrieval_f1"
    assert second[7] == "0.0312"

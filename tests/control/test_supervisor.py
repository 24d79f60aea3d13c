import pytest

from fathom.control.supervisor import BranchReport, Supervisor

FINE = BranchReport(name="fine", failed=False, final=False, found=3, kept=2)
FAILED = BranchReport(name="failed", failed=True, final=False, found=0, kept=0)
SPENT = BranchReport(name="spent", failed=True, final=True, found=0, kept=0)
STRICT = BranchReport(name="strict", failed=False, final=False, found=3, kept=0)
EMPTY = BranchReport(name="empty", failed=False, final=False, found=0, kept=0)


@pytest.mark.parametrize(
    ("reports", "orders", "reason"),
    [
        ([], {}, "all branches are done"),
        ([FINE, FINE], {}, "all branches are done"),
        ([FINE, EMPTY], {}, "all branches are done"),
        ([SPENT, SPENT], {}, "all branches are done"),
        ([FINE, FAILED], {"failed": "search"}, "again: search of failed"),
        ([STRICT, FINE], {"strict": "filter"}, "again: filter of strict"),
        (
            [STRICT, FAILED],
            {"strict": "filter", "failed": "search"},
            "again: filter of strict, search of failed",
        ),
    ],
)
def test_who_is_sent_out_again(
    reports: list[BranchReport], orders: dict[str, str], reason: str
) -> None:
    verdict = Supervisor(1)(reports, 0)
    assert (verdict.orders, verdict.reason) == (orders, reason)


@pytest.mark.parametrize("retries", range(4))
def test_never_more_often_than_agreed(retries: int) -> None:
    law = Supervisor(retries)
    sent = [bool(law([FAILED, STRICT], rounds).orders) for rounds in range(6)]
    assert sent == [rounds < retries for rounds in range(6)]
    assert "nothing after" in law([FAILED], retries).reason

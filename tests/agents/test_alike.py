import pytest

from fathom.agents.alike import alike, groups

WHEN, WHO = "When was it built?", "Who built it?"


@pytest.mark.parametrize(
    ("question", "one", "other", "same"),
    [
        (WHO, "the Vales", "Vales", True),
        (WHO, "Ada M. Vale", "Ada Vale", True),
        (WHO, "Ada Vale", "Ada Hill", False),
        (WHO, "", "", False),
        (WHEN, "24 June 1630", "June 24, 1630", True),
        (WHEN, "about 1835", "1835", True),
        (WHEN, "1835", "1836", False),
        ("What is the population?", "3,559 people", "3559", True),
        ("What is the population?", "3,559 people", "3,550 people", False),
        ("Which plane?", "Airbus A310-324 jet", "Airbus A320-324 jet", False),
    ],
)
def test_what_says_the_same(question: str, one: str, other: str, *, same: bool) -> None:
    assert alike(question, one, other) is alike(question, other, one) is same


def test_groups_leave_out_the_unknown() -> None:
    assert groups(WHO, ["Ada Vale", "", "Bo Hill", "Vale"]) == [[0, 3], [2]]
    assert groups(WHO, ["", ""]) == []

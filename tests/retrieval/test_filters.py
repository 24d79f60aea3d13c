"""Filter conditions as people type them."""

import pytest

from fathom.errors import UsageError
from fathom.retrieval.query import parse_filters
from fathom.types import Filter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year=2020", Filter("year", "=", 2020)),
        ("year==2020", Filter("year", "=", 2020)),
        ("year == 2020,2021", Filter("year", "in", (2020, 2021))),
        ("title='=3'", Filter("title", "=", "=3")),
        ("title=a,''", Filter("title", "in", ("a", ""))),
        ("year >= 2020.5", Filter("year", ">=", 2020.5)),
        ("draft!=true", Filter("draft", "!=", True)),
        ("code='007'", Filter("code", "=", "007")),
        ("title=a=b", Filter("title", "=", "a=b")),
        ("path^=/home/x", Filter("path", "prefix", "/home/x")),
        ("language=en,id", Filter("language", "in", ("en", "id"))),
        ('title="Smith, John"', Filter("title", "=", "Smith, John")),
        ("path!='a,b.md'", Filter("path", "!=", "a,b.md")),
        ("name=\"x, y\", 'z',4", Filter("name", "in", ("x, y", "z", 4))),
        ("size=5\", 6'", Filter("size", "in", ('5"', "6'"))),
    ],
)
def test_all_forms_are_read(text: str, expected: Filter) -> None:
    assert parse_filters([text]) == (expected,)


@pytest.mark.parametrize("text", ["year", "=3", "year=", "a b=1", "a= ", "a==  ", "year>1,2"])
def test_other_forms_are_refused_with_the_right_one(text: str) -> None:
    with pytest.raises(UsageError, match="filter"):
        parse_filters([text])


@pytest.mark.parametrize("text", ["a=1,", "a=,1", "a=1,,2", "a=1, ", "a=,", "a!=,"])
def test_an_empty_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="a value is empty"):
        parse_filters([text])

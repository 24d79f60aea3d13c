import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.jsonable import Cleaner, dump_canonical, iterate_texts
from fathom.usage import Budget

ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text()
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4)
        | st.tuples(inner)
    ),
    max_leaves=10,
)


@given(ANY)
def test_every_value_becomes_stable_json(value: object) -> None:
    plain = Cleaner()(value)

    assert json.loads(dump_canonical(plain)) == plain
    assert Cleaner()(plain) == plain
    dump_canonical(plain).encode()


def test_unknown_types_become_json_text() -> None:
    given_values = [math.nan, -math.inf, b"abc", {2, 1}, Path("x"), object, 10**5000, "a\ud800b"]

    assert Cleaner()(given_values) == [
        "nan",
        "-inf",
        "(3 bytes)",
        [1, 2],
        "(PosixPath)",
        "(type)",
        "(a huge number)",
        "a?b",
    ]


def test_dataclasses_and_arrays_become_json() -> None:
    assert Cleaner()(Budget(tokens=3))["tokens"] == 3
    assert Cleaner()(np.array([1.5, 2.5], dtype=np.float32)) == [1.5, 2.5]
    assert Cleaner()(np.int64(7)) == 7


def test_endless_nesting_is_cut() -> None:
    value: list[object] = []
    value.append(value)

    assert "(too deep)" in dump_canonical(Cleaner()(value))


def test_long_values_are_cut_and_marked() -> None:
    clean = Cleaner(chars=3, items=2)

    assert clean("abcd") == "abc…[1 characters more]"
    assert clean([1, 2, 3]) == [1, 2, "…[1 more]"]
    assert clean({"a": 1, "b": 2, "c": 3}) == {"a": 1, "b": 2, "…": "[1 more]"}
    assert clean("abc") == "abc"


@pytest.mark.parametrize("chars", [None, 4, 9])
@pytest.mark.parametrize("secret", ["sk-canary-1", 'with "quotes" and \\', "ключ"])
def test_a_secret_never_appears(secret: str, chars: int | None) -> None:
    value = {secret: [f"x{secret}y", {"deep": (f"{secret}{secret}",)}], "j": json.dumps(secret)}

    text = dump_canonical(Cleaner([secret], chars=chars)(value))

    assert secret not in text
    assert json.dumps(secret)[1:-1] not in text
    assert dump_canonical(secret)[1:-1] not in text


def test_blank_secrets_hide_nothing() -> None:
    assert Cleaner(["", " "])("a b") == "a b"


def test_a_secret_within_a_longer_one_leaves_no_rest() -> None:
    assert Cleaner(["abc", "abcdef"])("abcdef") == "[redacted]"


def test_the_texts_of_a_value_come_in_order_without_the_named_members() -> None:
    value = {"a": ["x", {"b": "y", "c": 1}], "d": {"b": {"e": "z"}}, "f": "w"}
    assert list(iterate_texts(value)) == ["x", "y", "z", "w"]
    assert list(iterate_texts(value, without={"b"})) == ["x", "w"]

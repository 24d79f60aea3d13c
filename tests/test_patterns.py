"""The work of every pattern of the package grows linearly with the text."""

import random
import re
import string
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.pattern_collector import ANYWHERE, START, WHOLE, UsedPattern, collect_patterns
from tests.step_counter import StepCounter, TooManySteps, accepts_char, codes

SHORTEST, LONGEST, WIDEST = 90, 800, 10
MOST_GROWTH = 5.0
"""Three times the text may take five times the steps; of quadratic work it takes nine times."""
UNITS = (
    " ", "\n", " \n", "\t", "a", "A", "1", "_", "-", ".", ",", "'", "(", "[", "<", "!", "*", "|",
    "é", "a ", "A ", "Aa ", "1 ", "1.", "1,", "a.", "a-", "a'", ", ", "a, ", "a\n", "- ", "the ",
    "| a ",
)  # fmt: skip
"""Strings that a hostile text repeats, beside those that a pattern itself repeats."""
ALPHABET = string.printable + "éß\u2013\u2014\u201c\u201d\u2019\u2022§°€"
MOST_REPEATS = 10
REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}
SINGLES = {codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN}
LEAST_REPEATS = 12
SHARES = 12
QUICK_SHARES = 2


def list_repeats(tree: Any) -> Iterator[tuple[Any, Any, int]]:
    """Yield each long repeat: the parts before it, its body, its greatest number.

    The parts before it are those of its own sequence, with the repeat itself.
    """
    for place, (code, value) in enumerate(tree):
        if code in REPEATS:
            if value[1] > LEAST_REPEATS:
                yield tree[: place + 1], value[2], value[1]
            yield from list_repeats(value[2])
        for part in list_parts(code, value):
            yield from list_repeats(part)


def list_parts(code: Any, value: Any) -> list[Any]:
    """Return the parsed patterns inside of a part of a pattern, repeats left out."""
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    return [value[1]] if code in {codes.ASSERT, codes.ASSERT_NOT} else []


def write_sample(tree: Any, flags: int, draw: random.Random) -> str:
    """Return a text that a parsed pattern takes, assertions left out."""
    words = []
    for node in tree:
        code, value = node
        if code in SINGLES:
            words.append(
                draw.choice([c for c in ALPHABET if accepts_char(node, c, flags)] or ["a"])
            )
        elif code in REPEATS:
            times = draw.choice([value[0], min(value[1], value[0] + 1)])
            words += [write_sample(value[2], flags, draw) for _ in range(min(times, 20))]
        elif code is codes.BRANCH:
            words.append(write_sample(draw.choice(value[1]), flags, draw))
        elif code not in {codes.ASSERT, codes.ASSERT_NOT}:
            words += [write_sample(part, flags, draw) for part in list_parts(code, value)]
    return "".join(words)


def list_singles(tree: Any) -> Iterator[Any]:
    """Yield the parts of a parsed pattern that take one character."""
    for node in tree:
        code, value = node
        if code in SINGLES:
            yield node
        for part in [value[2]] if code in REPEATS else list_parts(code, value):
            yield from list_singles(part)


def list_units(counter: StepCounter) -> list[str]:
    """Return the units to try on a pattern; none if it repeats nothing for long."""
    flags = int(counter.tree.state.flags)
    draw = random.Random(1)
    repeats = list(list_repeats(counter.tree))
    chosen = repeats if len(repeats) <= MOST_REPEATS else draw.sample(repeats, MOST_REPEATS)
    samples = {
        write_sample(tree, flags, draw) + end
        for before, body, _ in chosen
        for tree, end in ((before, ""), (before, " "), (body, ""), (body, ""))
    }
    bodies = [node for _, body, _ in repeats for node in list_singles(body)]
    units = [
        unit
        for unit in UNITS
        if all(any(accepts_char(node, char, flags) for node in bodies) for char in unit)
    ]
    return [*units, *sorted(samples - {"", *units})]


def count_steps(counter: StepCounter, use: str, text: str) -> float:
    """Return the number of steps that a pattern takes on a text, as it is used."""
    counter.steps = 0
    try:
        if use == ANYWHERE:
            list(counter.search(text))
        else:
            counter.match(text, whole=use == WHOLE)
    except TooManySteps:
        return float("inf")
    return counter.steps


def find_offence(pattern: UsedPattern) -> str:
    """Return the unit on which a pattern takes more than linear work; empty if there is none."""
    counter = StepCounter(pattern.text, pattern.flags)
    reaches = [
        most * min(body.getwidth()[1], WIDEST)
        for _, body, most in list_repeats(counter.tree)
        if most < codes.MAXREPEAT
    ]
    # A bounded repeat shows its bound in texts that are longer than it.
    length = min(max([SHORTEST, *(3 * reach for reach in reaches)]), LONGEST)
    for unit in list_units(counter):
        short, long = (f"{(unit * size)[:size]}\0" for size in (length, 3 * length))
        steps = count_steps(counter, pattern.use, long)
        if steps == float("inf") or steps > MOST_GROWTH * count_steps(counter, pattern.use, short):
            return repr(unit)
    return ""


@pytest.fixture(autouse=True)
def deep_recursion() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    yield
    sys.setrecursionlimit(limit)


@pytest.fixture(scope="module")
def patterns() -> list[UsedPattern]:
    return collect_patterns()


@pytest.mark.parametrize(
    "share",
    [
        pytest.param(share, marks=[pytest.mark.slow] * (share >= QUICK_SHARES))
        for share in range(SHARES)
    ],
)
def test_the_work_of_every_pattern_grows_linearly(
    patterns: list[UsedPattern], share: int, count_probes: Callable[[int], None]
) -> None:
    count_probes(len(patterns[share::SHARES]))
    offences = {
        f"{pattern.use} {pattern.place} {pattern.text}": unit
        for pattern in patterns[share::SHARES]
        if (unit := find_offence(pattern))
    }
    assert offences == {}


def test_patterns_are_collected_with_their_use(patterns: list[UsedPattern]) -> None:
    uses = {pattern.place.partition(":")[0]: pattern.use for pattern in patterns}
    assert len(patterns) > 600
    assert uses["question.titles._QUALIFIER"] == ANYWHERE
    assert uses["index.postgres.address._NAME"] == WHOLE
    assert uses["agents.classifier"] == ANYWHERE  # written in a function


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"\s+and\s+", ANYWHERE),
        (r"(?:a+)+b", START),
        (r"\w+@", ANYWHERE),
        (r"\d*\.?\d+x", WHOLE),
        (r"\bto\s.*?\sfrom\b", ANYWHERE),
        (r"(?:,\s+\w+)+ or", ANYWHERE),
    ],
)
def test_work_that_grows_faster_is_noticed(pattern: str, use: str) -> None:
    assert find_offence(UsedPattern(pattern, 0, "here", use))


@pytest.mark.parametrize(
    "pattern", [r"(?<!\s)\s+and\s+", r"\b\w+@", r"(?:\d*\.)?\d+x", r"\bto\s.{0,40}?\sfrom\b"]
)
def test_linear_work_is_admitted(pattern: str) -> None:
    assert find_offence(UsedPattern(pattern, 0, "here", START)) == ""


def test_the_counter_finds_what_re_finds(patterns: list[UsedPattern]) -> None:
    draw = random.Random(2)
    searched = [pattern for pattern in patterns if pattern.use == ANYWHERE]
    for pattern in draw.sample(searched, 150):
        counter = StepCounter(pattern.text, pattern.flags)
        flags = int(counter.tree.state.flags)
        text = " x ".join(write_sample(counter.tree, flags, draw) for _ in range(3))
        real = re.compile(pattern.text, pattern.flags)
        spans = [match.span() for match in real.finditer(text) if match[0]]
        assert [span for span in counter.search(text) if span[0] < span[1]] == spans, pattern

"""The rules that turn a question into computations over a table, without a model."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import NamedTuple

from fathom.tables.computation import Computation, Condition, Operation
from fathom.tables.conditions import find_count_bound, find_result_column
from fathom.tables.links import split_words
from fathom.tables.table_question import (
    COMPARATIVES,
    ENDS,
    SUPERLATIVES,
    Superlative,
    TableQuestion,
)
from fathom.text.language import load_stop_words, split_set

_NEXT = re.compile(
    r"\b(?:next|after|following|follows|succeeded|below|berikutnya|setelah|sesudah)\b"
)
_PREVIOUS = re.compile(r"\b(?:previous(?:ly)?|before|preced\w+|prior|above|sebelum(?:nya)?)\b")
_DIFFERENCE = re.compile(
    r"\b(?:difference|differ|how (?:much|many) (?:\w+ ){0,3}?(?:more|less|fewer|greater|higher|"
    r"lower|larger|longer|older|taller|bigger)|how many years (?:\w+ )?(?:between|passed|elapsed)|"
    r"selisih(?:nya)?|beda(?:nya)?|lebihnya|far apart)\b|\bmore\b.{0,200}\bcompared\b"
)
_RATIO = re.compile(
    r"\b(?:ratio|how many times (?:more|larger|higher|as)|rasio|berapa kali lipat)\b"
)
_SHARE = re.compile(
    r"\b(?:what|which) (?:percentage|percent|share|proportion|fraction)\b|\bpersentase\b|\bpersen\b"
    r"|\bpercent of\b"
)
_GROWTH = re.compile(r"\b(?:growth|grow|grew|increased? by|percent(?:age)? (?:change|increase)|"
                     r"pertumbuhan|kenaikan)\b")  # fmt: skip
_MEAN = re.compile(r"\b(?:average|mean|rata-rata|rerata)\b")
_SUM = re.compile(
    r"\b(?:total(?:nya)?|combined|altogether|in all|sum|together|overall|in total|keseluruhan|"
    r"seluruh(?:nya)?|gabungan|add(?:ing)?|add up|(?:di)?jumlahkan|digabung(?:kan)?|ditambah|"
    r"(?:di)?tambahkan|plus)\b"
)
_RECKONING = re.compile(rf"{_SUM.pattern}|{_MEAN.pattern}|{_DIFFERENCE.pattern}|\bjumlah\b")
_AMOUNT = re.compile(
    r"\bhow much\b|\b(?:altogether|combined|in total|in all|sum of|add(?:ing)? up|gabungan|"
    r"keseluruhan)\b"
)
"""Words that ask for an amount and not for a number of rows."""
_COUNT = re.compile(
    r"\b(?:how many|numbers? of|amount of|total of(?! all\b)|count of|how much|"
    r"berapa(?: banyak)?|jumlah|banyaknya|number)\b"
)
_COUNTING = re.compile(
    r"(?:in |for |on |at )?(?:how many|what(?:'?s| is| was| are| were)?(?: the)?(?: total)? "
    r"(?:number|amount|count)|(?:tell me |give )?the (?:total )?number|number|berapa banyak)\b"
)
_NUMBER_NAME = re.compile(r"\b([a-z]{2,})(?:'s)? (?:numbers?\b|no\.)")
"""The word before "number", which tells a count from a name such as "telephone number"."""
_NO_NAMES = (
    load_stop_words("en")
    | SUPERLATIVES.keys()
    | COMPARATIVES.keys()
    | ENDS.keys()
    | split_set("total combined average overall exact different same give find list tell state "
                "count name calculate show")
)  # fmt: skip
"""Words before "number" that make it no name."""
_MUCH = re.compile(r"\bhow much\b")
_MANY = re.compile(r"\bhow many\b|\bnumber\b")
_WHOLE = 0.99
"""The least share of a column's name at which a link counts as the whole name."""
_PART = 0.3
"""The least share of a column's name at which a link to a measure counts."""
_DISTINCT = re.compile(r"\b(?:different|distinct|unique|separate|various|berbeda)\b")
_YES_NO = re.compile(
    r"(?:is|are|was|were|did|does|do|has|have|had|can|apakah|according to [\w ]+, (?:is|did|was))\b"
)
_EITHER = re.compile(r"\b(?:or|atau)\b")
_YEARS_BETWEEN = re.compile(
    r"\bhow (?:long|many (?:\w+ )?(?:years?|days?|months?))\b|\bberapa (?:lama|tahun)\b"
)
_TIME_OF_DAY = re.compile(
    r"(?:start|begin|end|from|to|until|open|clos|depart|arriv|mulai|selesai|buka|tutup)"
)
"""The beginning of the name of a column of times of day, which no duration is."""
_REST = re.compile(r"\b(?:left|remaining|remain|free|available|vacant|unpaid|tersisa|sisa)\b")
"""Words for the part of an amount that another amount leaves."""
_HOW_MUCH = re.compile(r"how (?:long|many|much|high|old|tall|deep)\b")
_FREQUENT = re.compile(r"\b(?:appear\w*|listed|times|often|frequent\w*|common)\b")
_OWNING = re.compile(r"\b(?:win|won|earn\w*|receiv\w*|scor\w*|got|get|have|had|has|with|took)\b")
_ASKS_THING = re.compile(r"(?:which|who|whose|where|when|list|name|siapa|di mana|kapan)\b")
_PERSONS = re.compile(r"(?:who|siapa)\b")
_SOME_ROWS = re.compile(
    r"\b(?:first|last|top|bottom|next) (?:\d+|two|three|four|five|six|ten)\b"
    r"|\b(?:\d+|dua|tiga|empat|lima) \w+ (?:pertama|terakhir)\b"
)
_SEVERAL = r"(?:[2-9]|\d\d|two|three|four|five|six|seven|eight|nine|ten|dua|tiga|empat|lima)"
_SEVERAL_ENDS = re.compile(
    rf"\b{_SEVERAL} (?:{'|'.join(sorted(SUPERLATIVES))})\b"
    rf"|\b{_SEVERAL} \w+ (?:with|that have|which have|having|have|had) the "
    rf"(?:{'|'.join(sorted(SUPERLATIVES))})\b"
)
"""Words that ask for several rows at an end of an order."""
_TOTALLED = re.compile(r"total|average|mean|combined|overall")
_LOSSES = re.compile(r"loss(?:es)?$|kerugian$")
_SAME = re.compile(r"\b(?:same|equal|identical|sama)\b")
_MENTIONING = re.compile(
    r"\b(?:about|mention\w*|contain\w*|describ\w*|refer\w*|say|says|said|tentang|menyebut\w*|"
    r"memuat|berisi)\b"
)
"""Words that ask for the rows whose text mentions something."""
_PROSE_WORDS = 8
"""The least number of words of a cell that counts as prose."""
_PROSE_ROWS = 100
"""The largest number of rows that are searched for prose, because a table may be very long."""


def plan_computations(reading: TableQuestion) -> tuple[Computation, ...]:
    """Return the computations that a question may ask for, the best first; empty without any.

    Args:
        reading: The question, read over a table.
    """
    plans = [
        replace(plan, score=round(reading.rate(plan, sureness), 4))
        for sureness, rule in _RULES
        for plan in rule(reading)
    ]
    return tuple(sorted(plans, key=lambda plan: -plan.score))


class Obstacle(NamedTuple):
    """The reason why a computation does not answer a question.

    Attributes:
        reason: The reason in words; empty if there is no obstacle.
        missing: The words of the question that no column has, if these are the reason; else empty.
    """

    reason: str = ""
    missing: str = ""


def find_obstacle(reading: TableQuestion, plan: Computation) -> Obstacle:
    """Return the reason why the best computation does not answer the question; empty without one.

    Reasons are words that may mean several measures, a name that the computation leaves out, a noun
    or a measure that no column has, and two measures without a common unit that are to be added or
    compared.

    Args:
        reading: The question, read over the table.
        plan: The best computation.
    """
    rivals = reading.rival_measures
    if plan.target in rivals or plan.order in rivals:
        names = " or ".join(reading.table.columns[at].name for at in rivals)
        return Obstacle(f"it may mean {names}")
    unmet = _find_unmet_name(reading, plan)
    if unmet.reason:
        return unmet
    is_looked_up = plan.operation == "lookup" and _ASKS_THING.match(reading.text)
    if is_looked_up or not _RECKONING.search(reading.text):
        return Obstacle()
    reason = _explain_measures(reading, plan)
    if reason:
        return Obstacle(reason)
    is_mean = _MEAN.search(reading.text) and plan.operation in {"count", "distinct"}
    words = " ".join(reading.list_unknown_words(plan))
    if is_mean or words:
        return Obstacle(f"no column has {words or 'what is asked for'}", words)
    return Obstacle()


def _find_unmet_name(reading: TableQuestion, plan: Computation) -> Obstacle:
    """Return the obstacle that a computation leaves out what the question names; empty without one.

    It leaves out a word such as "remaining", a name such as "5k", a named cell, or the wanted noun.
    """
    rest = _REST.search(reading.text)
    if rest and reading.is_open(rest.start(), plan) and reading.is_measured(plan.target):
        return Obstacle(f"no column has {rest[0]}", rest[0])
    code = reading.find_unknown_code(plan)
    if code:
        return Obstacle(f"no row has {code}", code)
    unused = _find_unused_cell(reading, plan)
    if unused:
        return Obstacle(f"no row that is meant has {unused}")
    noun = _find_uncounted_noun(reading, plan)
    return Obstacle(f"no column has {noun}", noun) if noun else Obstacle()


def _explain_measures(reading: TableQuestion, plan: Computation) -> str:
    """Return the reason why two joined measures cannot be reckoned with; empty if they can."""
    measures = reading.joined_measures
    if len(measures) < 2 or plan.columns:
        return ""
    units = {reading.table.columns[column].unit for column in measures}
    names = " and ".join(reading.table.columns[column].name for column in measures)
    if len(units) > 1 or units == {""}:
        return f"{names} have no common unit"
    is_bound = any(condition.column in measures for condition in plan.conditions)
    is_partial = plan.operation in {"sum", "mean"} and not is_bound
    return f"{names} are not one column" if is_partial else ""


def _find_unused_cell(reading: TableQuestion, plan: Computation) -> str:
    """Return a cell that the question names, of which a sum or mean has no row; else an empty text.

    For example, the total of "Ana and Smith" needs both rows if one name is in the column of first
    names and the other in that of last names.
    """
    if plan.operation not in {"sum", "mean"}:
        return ""
    conditions = (*reading.conditions.single, *chain(*reading.conditions.groups))
    unused = (condition.text for condition in conditions if condition.rows.isdisjoint(plan.rows))
    return next(unused, "")


def _find_uncounted_noun(reading: TableQuestion, plan: Computation) -> str:
    """Return the wanted noun if neither a column nor the rows can mean it; else an empty text.

    For example, "How many ferries does Aldby have?" does not ask for the number of rows that are
    named Aldby.
    """
    noun = reading.find_unknown_noun(plan)
    if plan.operation == "count":
        key = reading.table.key
        is_named = len(plan.rows) == 1 and any(c.column == key for c in plan.conditions)
        counts_name = _counts_named_row(reading, plan)
        if not noun and counts_name:
            return " ".join(reading.words[at].text for at in reading.asked_words)
        is_counted = not (is_named or counts_name or _AMOUNT.search(reading.text))
    elif plan.operation == "difference":
        is_counted = plan.order is not None or any(len(group) > 1 for group in plan.groups)
    else:
        is_counted = plan.operation != "lookup" or not _RECKONING.search(reading.text)
    return "" if is_counted else noun


def _counts_named_row(reading: TableQuestion, plan: Computation) -> bool:
    """Return whether a computation counts the one row that the wanted noun names.

    In a table with amounts "How many steel bolts are there?" asks for an amount of that row.
    """
    if plan.operation != "count" or len(plan.rows) != 1:
        return False
    asked = frozenset(reading.asked_words)
    has_amounts = any(map(reading.is_measured, range(len(reading.table.columns))))
    return any(
        (has_amounts and asked & condition.words) or reading.is_name(condition.column)
        for condition in plan.conditions
        if condition in reading.conditions.single
    )


_Rule = Callable[[TableQuestion], Iterator[Computation]]
"""A function that yields the computations that a question may ask for."""


def _list_groups(reading: TableQuestion) -> tuple[tuple[int, ...], ...]:
    """Return the rows of the two sides that a question compares; empty if it compares none."""
    for group in reading.conditions.groups:
        if len(group) == 2:
            others = [
                condition for condition in reading.kept if condition.column != group[0].column
            ]
            sides = tuple(reading.select([*others, condition]) for condition in group)
            if all(sides):
                return sides
    return ()


def _list_period_ends(reading: TableQuestion) -> tuple[tuple[int, ...], ...]:
    """Return the rows at the first and the last date of a question's period; empty without any.

    The question must name just one period, and at least two of its rows must have a date.
    """
    periods = [condition for condition in reading.conditions.times if ".." in condition.text]
    if len(periods) != 1:
        return ()
    column = periods[0].column
    dated = [
        (period[0], row)
        for row in reading.select(reading.kept)
        if (period := reading.table.get_cell(row, column).period)
    ]
    if len(dated) < 2:
        return ()
    first, last = min(dated)[0], max(dated)[0]
    sides = (tuple(row for date, row in dated if date == end) for end in (first, last))
    return tuple(sides)


def _plan_relation(reading: TableQuestion) -> Iterator[Computation]:
    """Yield at most one difference, ratio, share or growth."""
    patterns: tuple[tuple[Operation, re.Pattern[str]], ...] = (
        ("growth", _GROWTH), ("difference", _DIFFERENCE), ("ratio", _RATIO), ("share", _SHARE)
    )  # fmt: skip
    operation = next((name for name, pattern in patterns if pattern.search(reading.text)), None)
    # "Which has the highest growth?" asks for a thing, by a column that holds growth itself.
    if operation in {"growth", "share"} and _ASKS_THING.match(reading.text):
        return
    if operation is None:
        return
    groups = _list_groups(reading)
    columns = () if groups or operation != "difference" else _list_differing_columns(reading)
    if columns:
        yield replace(
            reading.base,
            operation=operation,
            groups=(reading.base.rows,) * 2,
            columns=columns,
            order=columns[0],
            target=columns[1],
        )
        return
    if not groups and operation == "share" and reading.kept:
        groups = (reading.select(reading.kept), reading.data_rows)
    groups = groups or _list_period_ends(reading)
    if not groups:
        return
    # Growth is computed from the second group to the first one, so the later one comes first.
    groups = groups[::-1] if operation == "growth" else groups
    order = reading.find_column(
        range(len(reading.words)),
        kinds=frozenset({"number", "duration", "date"}),
        skip=frozenset(
            {reading.conditions.groups[0][0].column} if reading.conditions.groups else ()
        ),
    )
    if order is None and _YEARS_BETWEEN.search(reading.text):
        order = reading.find_dated()
    # Without a column of amounts only numbers of rows can be compared, so the question must ask
    # for a number.
    if order is None and operation != "share" and not _COUNT.search(reading.text):
        return
    target = order if order is not None else reading.target
    yield replace(reading.base, operation=operation, groups=groups, order=order, target=target)


def _list_differing_columns(reading: TableQuestion) -> tuple[int, ...]:
    """Return the two columns of one unit whose difference a question asks for; empty without any.

    Their amounts are taken from one row, or are totals if the question asks for totals.
    """
    columns = reading.joined_measures
    specs = [reading.table.columns[at] for at in columns]
    if len({(spec.kind, spec.unit, spec.scale) for spec in specs}) != 1 or len(columns) != 2:
        return ()
    rows = reading.base.rows
    is_total = _SUM.search(reading.text) and reading.total_rows.isdisjoint(rows)
    is_single = len(rows) == 1 and reading.kept
    return columns if (is_total or is_single) and _find_superlative(reading) is None else ()


def _plan_choice(reading: TableQuestion) -> Iterator[Computation]:
    """Yield the choice between two things, as for "Which is longer, A or B?"."""
    if not re.search(r"\b(?:or|than|atau|vs)\b", reading.text):
        return
    groups = _list_groups(reading)
    places = [
        at
        for at, word in enumerate(reading.words)
        if word.text in COMPARATIVES or word.text in SUPERLATIVES
    ]
    if not groups or not places:
        return
    word = reading.words[places[0]].text
    spec = COMPARATIVES.get(word) or SUPERLATIVES[word]
    column = reading.conditions.groups[0][0].column
    is_word = re.search(
        r"\b(?:more or (?:less|fewer)|(?:higher|above|larger) or \w+)\b", reading.text
    )
    for order in reading.list_orders(places[0], spec):
        yield replace(
            reading.base,
            operation="more" if spec.highest else "less",
            groups=groups,
            wants="word" if is_word else "cell",
            order=None if order == column else order,
            target=column,
        )


def _plan_neighbour(reading: TableQuestion) -> Iterator[Computation]:
    """Yield the row before or after a named row, or the row next to a bound on time."""
    forward, backward = _NEXT.search(reading.text), _PREVIOUS.search(reading.text)
    cue = min(filter(None, (forward, backward)), key=lambda match: match.start(), default=None)
    if cue is None or _COUNTING.match(reading.text):
        return
    shift = 1 if cue is forward else -1
    if re.search(r"\bnext to last\b", reading.text):
        return
    named = _list_naming_conditions(reading, cue.start())
    # The row is usually named behind the word. If only a bound on time names it, the wanted row is
    # the first one after that time, or the last one before it.
    place = len(reading.text[: cue.start()].split())
    bounded = [condition for condition in named if condition in reading.conditions.times]
    if bounded and len(bounded) == len(named):
        yield from _plan_nearest_in_time(reading, bounded)
        return
    behind = [c for c in named if max(c.words, default=0) >= place - 1] or named
    anchors = reading.select(behind)
    if not behind or not anchors:
        return
    if _is_falling(reading) and re.search(r"\b(?:after|before|prior|previous)\b", reading.text):
        shift = -shift
    target = reading.target
    if reading.asked_column is None and target == reading.table.key:
        target = behind[0].column
    yield replace(
        reading.base,
        operation="neighbour",
        rows=anchors,
        conditions=tuple(behind),
        shift=shift,
        target=target,
    )


def _plan_nearest_in_time(
    reading: TableQuestion, bounds: Sequence[Condition]
) -> Iterator[Computation]:
    """Yield the first row after a time, or the last one before it.

    Nothing is yielded if the question asks for all of them.

    Args:
        reading: The question.
        bounds: The conditions on time.
    """
    rows = () if _asks_for_all(reading) else reading.select(bounds)
    if rows:
        operation: Operation = "last" if "<" in bounds[0].text else "first"
        yield replace(reading.base, operation=operation, rows=rows, order=bounds[0].column)


def _asks_for_all(reading: TableQuestion) -> bool:
    """Return whether a question asks for all things in a period: "Which ports opened after 1930?".

    It does if it asks for several things or for persons.
    """
    noun = reading.get_text(reading.asked_words[-1]) if reading.asked_words else ""
    is_plural = noun.endswith("s") and not noun.endswith(("ss", "us", "is"))
    return reading.wants_several or is_plural or bool(_PERSONS.match(reading.text))


def _list_naming_conditions(reading: TableQuestion, cue: int) -> list[Condition]:
    """Return the conditions that name the row to whose neighbour a word leads; empty without any.

    Args:
        reading: The question.
        cue: The offset of the word, such as "after".
    """
    named = [
        condition for condition in reading.kept if len(condition.rows) < len(reading.data_rows)
    ]
    bounded = [condition for condition in named if condition in reading.conditions.times]
    places = {at for at, word in enumerate(reading.words) if word.start == cue}
    # With other conditions, "opened after 1920" selects rows and does not name a neighbour.
    is_bound = any(places & condition.words for condition in bounded)
    return [] if is_bound and len(bounded) < len(named) else named


def _is_falling(reading: TableQuestion) -> bool:
    """Return whether the rows are in falling order of the first column of dates."""
    dated = [at for at, column in enumerate(reading.table.columns) if column.kind == "date"]
    if not dated:
        return False
    cells = [reading.table.get_cell(row, dated[0]) for row in reading.data_rows]
    dates = [cell.period[0] for cell in cells if cell.period]
    if len(dates) < 3 or dates[0] == dates[-1]:
        return False
    return all(earlier >= later for earlier, later in pairwise(dates))


def _plan_same(reading: TableQuestion) -> Iterator[Computation]:
    """Yield the other rows that have the same value in a column as a named row, or their number."""
    match = _SAME.search(reading.text)
    rows = reading.select(reading.kept)
    if match is None or not reading.kept or len(rows) != 1:
        return
    place = len(split_words(reading.text[: match.end()]))
    columns = {condition.column for condition in reading.kept}
    shared = reading.find_column(range(place, len(reading.words)), skip=frozenset(columns))
    if shared is None:
        return
    text = reading.table.get_cell(rows[0], shared).text
    same = frozenset(
        row
        for row in reading.data_rows
        if row != rows[0] and reading.table.get_cell(row, shared).text == text
    )
    condition = Condition(shared, same, f"{reading.table.columns[shared].name}: {text}")
    target = reading.target if reading.target != shared else reading.kept[0].column
    operation: Operation = "count" if _COUNTING.match(reading.text) else "lookup"
    yield replace(
        reading.base,
        operation=operation,
        rows=tuple(sorted(same)),
        conditions=(*reading.kept, condition),
        target=target,
    )


def _plan_frequent_values(reading: TableQuestion) -> Iterator[Computation]:
    """Yield the values that occur as often as a bound says, as for "Who won more than twice?"."""
    bound = None if reading.conditions.amounts else find_count_bound(reading.text)
    column = reading.asked_column.column if reading.asked_column else reading.target
    if bound is None or reading.table.columns[column].kind not in {"text", "date"}:
        return
    test, number = bound
    content = reading.table.contents[column]
    rows = [row for row in reading.select(reading.kept) if not content[row].is_blank]
    counts = Counter(content[row].text for row in rows)
    if max(counts.values(), default=0) < 2:
        return
    frequent = frozenset(
        row for row in rows if test(counts[reading.table.get_cell(row, column).text], number)
    )
    condition = Condition(column, frequent, f"rows each: {number:.0f}")
    yield replace(
        reading.base,
        operation="distinct" if _COUNTING.match(reading.text) else "lookup",
        rows=tuple(sorted(frequent)),
        conditions=(*reading.kept, condition),
        target=column,
    )


def _find_superlative(reading: TableQuestion) -> int | None:
    """Return the place of the first superlative, which asks for an end of an order; else `None`."""
    for at, word in enumerate(reading.words):
        is_bound = word.text in {"most", "least"} and reading.get_text(at - 1) == "at"
        is_number = word.text == "top" and reading.get_text(at + 1).isdigit()
        if word.text in SUPERLATIVES and not is_bound and not is_number:
            return at
    return None


def _plan_superlative(reading: TableQuestion) -> Iterator[Computation]:
    """Yield the row at an end of an order, the value there, or the most or least frequent value."""
    at = _find_superlative(reading)
    if at is None:
        return
    spec = SUPERLATIVES[reading.words[at].text]
    if _SEVERAL_ENDS.search(reading.text) or _orders_by_total(reading, at):
        return
    if _LOSSES.match(reading.get_text(at + 1)) and _ASKS_THING.match(reading.text):
        yield from _plan_loss(reading, at, spec)
        return
    orders, asked = reading.list_orders(at, spec), reading.asked_column
    # "The largest number of cranes" asks for the value itself.
    if asked and at < asked.first and reading.is_measured(asked.column):
        orders = (asked.column,)
    if orders[0] is None or _FREQUENT.search(reading.text[reading.words[at].end :]):
        frequency: Operation = "most frequent" if spec.highest else "least frequent"
        yield replace(reading.base, operation=frequency)
    yield from (_order_rows(reading, at, order) for order in orders if order is not None)


def _orders_by_total(reading: TableQuestion, at: int) -> bool:
    """Return whether things are ordered by totals or means of several rows, which no cell holds.

    An example is "Which country has the highest total revenue?" where countries have several rows.

    Args:
        reading: The question.
        at: The place of the superlative.
    """
    words = range(at + 1, len(reading.words))
    named = {place for link in reading.columns for place in range(link.first, link.last + 1)}
    is_totalled = any(
        _TOTALLED.fullmatch(reading.words[place].text) for place in words if place not in named
    )
    codes = [reading.table.contents[reading.target].codes[row] for row in reading.base.rows]
    return is_totalled and len(set(codes)) < len(codes)


def _order_rows(reading: TableQuestion, at: int, order: int) -> Computation:
    """Return the row at an end of an order, or the value there if the question asks for it.

    Args:
        reading: The question.
        at: The place of the superlative.
        order: The column by whose values the rows are ordered.
    """
    spec, target = SUPERLATIVES[reading.words[at].text], reading.target
    operation: Operation = "highest" if spec.highest else "lowest"
    if order == target or _HOW_MUCH.match(reading.text):
        is_date = reading.table.columns[order].kind == "date"
        # A date is given as its cell writes it, not as a number.
        operation = operation if is_date else "maximum" if spec.highest else "minimum"
        target = target if is_date else order
    shift = ENDS.get(reading.get_text(at - 1), ("", 0))[1]
    return replace(reading.base, operation=operation, order=order, target=target, shift=shift)


def _plan_loss(reading: TableQuestion, at: int, spec: Superlative) -> Iterator[Computation]:
    """Yield the thing with the largest or smallest loss: the amount farthest from or nearest to 0.

    Args:
        reading: The question.
        at: The place of the superlative before the word for a loss.
        spec: The meaning of the superlative.
    """
    column = find_result_column(reading.content)
    if column is None:
        return
    below = frozenset(
        row
        for row in reading.data_rows
        if isinstance(value := reading.table.get_value(row, column), float) and value < 0
    )
    name = reading.table.columns[column].name
    conditions = (*reading.kept, Condition(column, below, f"{name} < 0", frozenset({at, at + 1})))
    yield replace(
        reading.base,
        operation="lowest" if spec.highest else "highest",
        order=column,
        rows=reading.select(conditions),
        conditions=conditions,
    )


def _plan_end(reading: TableQuestion) -> Iterator[Computation]:
    """Yield the first, the last or the n-th row, by the table's order or by dates."""
    taken = frozenset[int]().union(*(condition.words for condition in reading.kept))
    for at, word in enumerate(reading.words):
        if word.text not in ENDS or at in taken or _COUNTING.match(reading.text):
            continue
        if word.text == "last" and _YEARS_BETWEEN.match(reading.text):
            continue  # a verb, as in "How long does the course last?"
        # One row is only a part of "the first three ports".
        if _SOME_ROWS.match(reading.text, word.start):
            return
        operation, shift = ENDS[word.text]
        name: Operation = "first" if operation == "first" else "last"
        listed = re.search(r"\b(?:listed|list|table|chart|top|bottom)\b", reading.text)
        event = [
            link.column
            for link in reading.columns
            if reading.table.columns[link.column].kind == "date"
            and reading.words[link.first].text not in {"year", "date", "season", "time"}
        ]
        dated = event[0] if event else reading.find_dated() if _is_falling(reading) else None
        order = None if listed else dated
        yield replace(reading.base, operation=name, order=order, shift=shift)
        return


def _plan_count(reading: TableQuestion) -> Iterator[Computation]:
    """Yield the count, the sum or the cell that a question such as "how many" asks for."""
    if not _asks_count(reading.text):
        return
    asked = reading.asked_column
    kind = reading.table.columns[asked.column].kind if asked else ""
    is_condition = asked is not None and asked.column in {c.column for c in reading.kept}
    if asked is not None and kind == "number" and not is_condition and asked.share >= 0.3:
        rows = reading.select(reading.kept)
        if rows and not reading.table.columns[asked.column].is_order:
            operation: Operation = "lookup" if len(rows) == 1 else "sum"
            yield replace(reading.base, operation=operation, target=asked.column)
            return
    if (
        asked is not None
        and asked.column != reading.table.key
        and not is_condition
        and kind == "text"
        and (_DISTINCT.search(reading.text) or (asked.share >= 0.99 and not reading.kept))
    ):
        yield replace(reading.base, operation="distinct", target=asked.column)
        return
    if _DISTINCT.search(reading.text):
        yield replace(reading.base, operation="distinct")
        return
    yield from _plan_stated_amount(reading)


def _plan_stated_amount(reading: TableQuestion) -> Iterator[Computation]:
    """Yield the amount that a column states for the named rows, else the number of rows."""
    stated = _find_stated_amount(reading)
    if stated is not None:
        operation: Operation = "lookup" if len(reading.base.rows) == 1 else "sum"
        yield replace(reading.base, operation=operation, target=stated)
        return
    plan = _count_rows(reading)
    # Rows are many and not much.
    if _asks_amount(reading) and not reading.find_unknown_noun(plan):
        return
    # "How many pages are read at most?" asks for a number that a cell with these words states.
    if not _selects_by_prose(reading, plan) or _MENTIONING.search(reading.text):
        yield plan


def _asks_amount(reading: TableQuestion) -> bool:
    """Return whether a question asks for an amount, which no number of rows and no name is."""
    return bool(_MUCH.search(reading.text)) and not _MANY.search(reading.text)


def _find_stated_amount(reading: TableQuestion) -> int | None:
    """Return the column of amounts that states what a question with "how many" asks for.

    An example is the column "Enrolled" for "How many people are enrolled in Yoga?", and for "how
    much" also a column that the question names by another word, as "cost" names "Price". `None` if
    the question names no such column behind the wanted noun, or no cell.
    """
    if not (reading.conditions.single or reading.conditions.groups) or not reading.base.rows:
        return None
    bounded = frozenset(condition.column for condition in reading.kept)
    least = _PART if _MUCH.search(reading.text) else _WHOLE
    behind = [
        link
        for link in reading.columns
        if link.share >= least
        and link.column not in bounded
        and link.first not in reading.asked_words
        and reading.is_measured(link.column)
    ]
    return behind[0].column if len({link.column for link in behind}) == 1 else None


def _asks_count(text: str) -> bool:
    """Return whether a question, folded, asks for a number of things.

    The number in "the telephone number of Aldby" is a name and no count.
    """
    matches = list(_COUNT.finditer(text))
    named = [match.span() for match in _NUMBER_NAME.finditer(text) if match[1] not in _NO_NAMES]
    return any(not any(start < m.start() < end for start, end in named) for m in matches)


def _selects_by_prose(reading: TableQuestion, plan: Computation) -> bool:
    """Return whether a condition selects rows by the words of cells that hold prose."""
    return any(
        len(reading.table.get_cell(row, condition.column).text.split()) >= _PROSE_WORDS
        for condition in plan.conditions
        for row in plan.rows[:_PROSE_ROWS]
    )


def _count_rows(reading: TableQuestion) -> Computation:
    """Return the count of the rows.

    If the question asks who won or has something in a named column of numbers, as in "How many
    teams won gold?", only the rows with a number above zero there count.
    """
    columns = {condition.column for condition in reading.kept}
    behind = range(reading.asked_words.stop, len(reading.words))
    named = reading.find_column(behind, kinds=frozenset({"number"}), skip=frozenset(columns))
    asked = reading.asked_column.column if reading.asked_column else reading.table.key
    is_owned = _OWNING.search(reading.text)
    if named is None or named == asked or not is_owned or reading.table.columns[named].is_order:
        return replace(reading.base, operation="count", target=asked)
    name = reading.table.columns[named].name
    positive = Condition(
        named,
        frozenset(
            row
            for row in reading.data_rows
            if isinstance(value := reading.table.get_value(row, named), float) and value > 0
        ),
        f"{name} > 0",
    )
    conditions = (*reading.kept, positive)
    return replace(
        reading.base,
        operation="count",
        target=asked,
        conditions=conditions,
        rows=reading.select(conditions),
    )


def _plan_span(reading: TableQuestion) -> Iterator[Computation]:
    """Yield a length of time: that of a cell, or that between two dates of one or two rows."""
    if not _YEARS_BETWEEN.search(reading.text):
        return
    rows = reading.select(reading.kept)
    if not reading.kept or not rows:
        return
    lasting = [
        at
        for at, column in enumerate(reading.table.columns)
        if column.kind == "duration" and not _TIME_OF_DAY.match(column.name.lower())
    ]
    dated = [at for at, c in enumerate(reading.table.columns) if c.kind == "date"]
    if lasting and re.search(r"\bhow long\b|\bberapa lama\b", reading.text):
        yield replace(reading.base, operation="lookup", target=lasting[0])
        return
    numbered = reading.find_by_hint("years", "number")
    if numbered is not None:
        yield replace(reading.base, operation="lookup", target=numbered)
        return
    if dated and len(rows) <= 2 and not (len(rows) == 2 and len(dated) == 1):
        yield replace(
            reading.base, operation="span", target=dated[0], order=dated[min(1, len(dated) - 1)]
        )


def _plan_aggregate(reading: TableQuestion) -> Iterator[Computation]:
    """Yield at most one sum or mean."""
    operation: Operation | None = (
        "mean" if _MEAN.search(reading.text) else "sum" if _SUM.search(reading.text) else None
    )
    # "Which team has the highest total?" asks for a thing, not for a number.
    if operation is None or _ASKS_THING.match(reading.text):
        return
    if _find_superlative(reading) is not None or _SOME_ROWS.search(reading.text):
        return
    measured = frozenset({"number", "duration"})
    asked = reading.asked_column
    is_counted = operation == "sum" and _COUNT.search(reading.text) and asked is not None
    if is_counted and asked is not None and reading.table.columns[asked.column].kind == "text":
        return
    bounded = frozenset(condition.column for condition in reading.kept)
    bounded -= reading.list_columns_behind(_MEAN if operation == "mean" else _SUM)
    column = reading.find_column(range(len(reading.words)), kinds=measured, skip=bounded)
    if column is None or reading.table.columns[column].is_order:
        return
    rows = reading.select(reading.kept)
    # With a row that totals others, amounts would be counted twice.
    if not reading.total_rows.isdisjoint(rows):
        return
    name = reading.table.columns[column].name
    # A column that is itself a total or a mean is looked up.
    own_value = (_MEAN if operation == "mean" else _SUM).search(name.lower())
    if own_value and len(rows) == 1:
        operation = "lookup"
    yield replace(reading.base, operation=operation, target=column)


def _plan_decision(reading: TableQuestion) -> Iterator[Computation]:
    """Yield the answer to a yes-no question, or the choice of "A or B"."""
    if not _YES_NO.match(reading.text) or not reading.conditions.every:
        return
    pair = next((group for group in reading.conditions.groups if len(group) == 2), ())
    if pair and _EITHER.search(reading.text):
        yield from _plan_either(reading, pair)
        return
    rows = reading.select(reading.conditions.every)
    yield replace(
        reading.base, operation="decision", rows=rows, conditions=reading.conditions.every
    )


def _plan_either(reading: TableQuestion, pair: Sequence[Condition]) -> Iterator[Computation]:
    """Yield the one of two things for which the rest holds, as for "Was A or B built in 1965?"."""
    others = [condition for condition in reading.kept if condition.column != pair[0].column]
    sides = [side for side in pair if reading.select([*others, side])]
    if others and len(sides) == 1:
        conditions = (*others, sides[0])
        yield replace(
            reading.base,
            operation="lookup",
            rows=reading.select(conditions),
            conditions=conditions,
            target=pair[0].column,
        )


def _plan_lookup(reading: TableQuestion) -> Iterator[Computation]:
    """Yield the target's cells in the rows that meet the conditions."""
    if not reading.kept:
        return
    columns = {condition.column for condition in reading.kept}
    target = reading.target
    if target in columns and reading.asked_column is None:
        others = [
            link.column
            for link in reading.columns
            if link.column not in columns and link.share > 0.3
        ]
        if not others:
            return
        target = others[0]
    if _asks_amount(reading) and reading.table.columns[target].kind == "text":
        return
    yield replace(reading.base, operation="lookup", target=target)


_RULES: tuple[tuple[float, _Rule], ...] = (
    (1.0, _plan_relation),
    (0.98, _plan_choice),
    (0.95, _plan_span),
    (0.94, _plan_same),
    (0.93, _plan_aggregate),
    (0.93, _plan_frequent_values),
    (0.92, _plan_neighbour),
    (0.9, _plan_superlative),
    (0.88, _plan_count),
    (0.8, _plan_end),
    (0.78, _plan_decision),
    (0.6, _plan_lookup),
)
"""The rules, each after its sureness, in [0, 1]."""

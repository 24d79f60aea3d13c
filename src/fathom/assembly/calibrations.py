"""Which calibration counts for an answer: the index's own, the shipped one, or none."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from fathom.assembly.agents import Assembly
from fathom.calibration.law import (
    FEWEST,
    RATES,
    READER,
    Answered,
    Calibrated,
    Calibration,
    Weigher,
    learn,
)
from fathom.errors import UsageError
from fathom.extensions import STRATEGIES, find
from fathom.jsonable import Json, canonical, digest
from fathom.models.shipped import card_of
from fathom.runs.trace import Trace
from fathom.settings import AskSettings, Settings, as_before

SHIPPED = "calibration.json"
_OF_NO_MATTER = frozenset({"ask.max_error", "ask.min_probability", "ask.strategy", "ask.seed"})
"""Settings that change none of the answers that a calibration is learned from."""
_STAND_IN = "naive"
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The calibration of a strategy, as it stands.

    Attributes:
        calibration: `None` where none fits.
        stale: Why the index's own does not count; empty where it does or there is none.
    """

    calibration: Calibration | None
    stale: str = ""


def chosen(assembly: Assembly, strategy: str, kept: Mapping[str, str]) -> Chosen:
    """The index's own calibration where it was made for these settings, else the shipped one.

    Args:
        assembly: Of the settings in force.
        strategy: That answers.
        kept: What the index keeps, by strategy.
    """
    stale = ""
    if strategy in kept:
        own = loaded(kept[strategy], strategy)
        changed = differences(own.identity, identity_of(assembly, strategy))
        if not changed:
            return Chosen(calibration=own)
        stale = (
            f"the index's calibration of {strategy} was made for other settings "
            f"({_listed(changed)}); run `fathom calibrate QUESTIONS --strategy {strategy}` again"
        )
    given = shipped().get(strategy)
    if given is None or not _fits(assembly, strategy, given):
        return Chosen(calibration=None, stale=stale)
    return Chosen(calibration=given, stale=stale)


def weigher(found: Chosen, strategy: str, ask: AskSettings) -> Weigher:
    """What weighs the answers of a run.

    Raises:
        UsageError: If a rate of errors is asked for that nothing certifies; it names what would.
    """
    known, max_error = found.calibration, ask.max_error
    threshold: float | None = 0.0
    if max_error is not None:
        if found.stale or known is None:
            raise UsageError(
                f"--max-error {max_error:g}: "
                + (found.stale or f"there is no calibration of {strategy} with these settings; ")
                + ("" if found.stale else f"run `fathom calibrate QUESTIONS --strategy {strategy}`")
            )
        threshold = known.threshold(max_error)
        if threshold is None:
            raise UsageError(_uncertified(known, strategy, max_error))
    alone = max_error is not None or ask.min_probability <= 0
    weigher = Weigher(min_probability=ask.min_probability, replaces_confidence=alone)
    if known is None or threshold is None:
        return weigher
    return replace(weigher, law=known.law, by=known.source, threshold=threshold)


def _uncertified(known: Calibration, strategy: str, max_error: float) -> str:
    able = [each.max_error for each in known.certificates if each.threshold is not None]
    command = f"`fathom calibrate QUESTIONS --strategy {strategy} --max-error {max_error:g}`"
    which = "; certified are " + ", ".join(f"{rate:g}" for rate in able) if able else ""
    return (
        f"--max-error {max_error:g}: the calibration of {strategy} by {known.source} certifies "
        f"no such rate{which}; ask for another, or run {command} with more questions"
    )


def calibrated(
    assembly: Assembly,
    strategy: str,
    asked: Sequence[Answered | None],
    *,
    max_error: float | None,
    delta: float,
    made_of: Mapping[str, Json],
) -> Calibrated:
    """What is learned from recorded answers, beginning with the shipped law where it fits.

    Raises:
        UsageError: If there are too few answers, or all are right, or none is.
    """
    given = shipped().get(strategy)
    fits = given is not None and given.identity["reader"] == reader_of(assembly)
    try:
        learned = learn(
            asked,
            rates=(*RATES, *([] if max_error is None else [max_error])),
            delta=delta,
            before=given.law if given is not None and fits else READER,
        )
    except ValueError:
        answers = [each for each in asked if each is not None]
        wrong = sum(not each.right for each in answers)
        raise UsageError(
            f"{len(asked)} questions, {len(answers)} answered, {wrong} of them wrong: to learn "
            f"from, at least {FEWEST} answers are needed, right ones and wrong ones among them"
        ) from None
    made = Calibration(
        identity=identity_of(assembly, strategy),
        source="own questions",
        made_of=made_of,
        law=learned.law,
        certificates=learned.certificates,
        drift=learned.drift,
    )
    return Calibrated(made, learned.held_out)


def identity_of(assembly: Assembly, strategy: str) -> dict[str, Json]:
    """What a calibration is made for: the strategy, its settings, its models."""
    parts = assembly.identity
    return {
        "strategy": strategy,
        "reader": reader_of(assembly),
        "index": {
            key: parts[key] for key in sorted(parts) if key.startswith(("embedder.", "chunker."))
        },
        "settings": _settings(assembly.recorded(strategy), strategy),
    }


def made_for(assembly: Assembly, trace: Trace) -> str:
    """The hash of what the strategy of a run depends on; empty where that has changed since."""
    strategy = trace.origin.strategy
    if strategy not in STRATEGIES and find("strategy", strategy) is None:
        return ""
    own = identity_of(assembly, strategy)
    if own["settings"] != _settings(trace.origin.settings, strategy):
        return ""
    return digest(canonical(own))


def reader_of(assembly: Assembly) -> str:
    """Names the cross-reader: the sha256 of its card, or what was given instead."""
    if assembly.models.given_reader is not None:
        return type(assembly.models.given_reader).__qualname__
    return str(card_of(assembly.settings.models.cross_reader).get("sha256", ""))


def differences(made_for: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is other now than a calibration was made for, as `name = then, now = now`.

    A setting that was not known then counts with its default.
    """
    before, after = _flat(made_for), _flat(now)
    default = _flat({"settings": Settings().recorded()})
    found = []
    for key in sorted(before.keys() | after.keys()):
        then, here = before.get(key, default.get(key)), after.get(key, default.get(key))
        if then != here:
            found.append(f"{key.removeprefix('settings.')} was {_short(then)}, is {_short(here)}")
    return found


def loaded(data: str, strategy: str) -> Calibration:
    """The calibration that an index keeps.

    Raises:
        UsageError: If this version cannot read it.
    """
    try:
        return Calibration.from_json(json.loads(data))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"the index's calibration of {strategy} is of another version of Fathom; "
            f"run `fathom calibrate QUESTIONS --strategy {strategy}` again"
        ) from error


@cache
def shipped() -> Mapping[str, Calibration]:
    """The calibrations of public questions that come with Fathom, by strategy.

    Fathom's own strategies emit the same signals. One that was not asked itself gets the law of
    `naive`, and no rate of errors is certified for it.
    """
    file = resources.files("fathom.data") / SHIPPED
    if not file.is_file():
        return {}
    given = json.loads(file.read_text(encoding="utf-8"))
    known = {name: Calibration.from_json(each) for name, each in given["strategies"].items()}
    others = {name: replace(known[_STAND_IN], certificates=()) for name in STRATEGIES}
    return others | known


def _fits(assembly: Assembly, strategy: str, given: Calibration) -> bool:
    """Whether it was learned with these models, and the settings are the defaults."""
    own = identity_of(assembly, strategy)
    same = all(own[name] == given.identity[name] for name in ("reader", "index"))
    return same and own["settings"] == _settings(Settings().recorded(), strategy)


def _settings(recorded: Mapping[str, Any], strategy: str) -> dict[str, Json]:
    """The settings that the strategy depends on; one that is not known may depend on all."""
    others = STRATEGIES.keys() - {strategy} if strategy in _SIMPLE else frozenset()
    told = as_before(recorded)
    flat = _flat({name: part for name, part in told.items() if name not in others})
    return {key: value for key, value in flat.items() if key not in _OF_NO_MATTER}


_SIMPLE = frozenset({"naive", "rrf", "maf", "anchor", "mao", "hybrid"})
"""Strategies that depend on no section of another one."""


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Json]:
    flat: dict[str, Json] = {}
    for key, value in values.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{name}.")
        else:
            flat[name] = list(value) if isinstance(value, tuple) else value
    return flat


def _listed(changed: list[str]) -> str:
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    return ", ".join(changed[:_SHOWN]) + more


def _short(value: object) -> str:
    return str(value)[:40]

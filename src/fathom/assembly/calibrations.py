"""The choice of the calibration of an answer: the index's own, the shipped one, or none."""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from fathom.assembly.agents import Assembly
from fathom.calibration.asking import BOUNDS, AskingRule
from fathom.calibration.caution import choose_bounds
from fathom.calibration.correctness import CorrectnessLaw
from fathom.calibration.law import (
    FEWEST,
    RATES,
    READER,
    Calibration,
    CalibrationFit,
    LabelledAnswer,
    Weigher,
    learn_law,
)
from fathom.errors import UsageError
from fathom.extensions import find_extension
from fathom.jsonable import Json, dump_canonical, hash_text
from fathom.llm.catalogue import KNOWN_MODELS, identify_model
from fathom.models.embedder import SHIPPED_IDENTITY, SHIPPED_INT8
from fathom.models.reader_loading import read_card
from fathom.registry import STRATEGIES
from fathom.runs.trace import Trace
from fathom.settings import AskSettings, Settings, drop_later_settings

SHIPPED = "calibration.json"
_IRRELEVANT = frozenset(
    {
        *("ask.caution", "ask.max_error", "ask.min_probability", "ask.strategy", "ask.seed"),
        "sources.trusted",
    }
)
"""Settings that change none of the answers from which a calibration is learned, or decide between
documents and leave the law of an answer's signals as it is."""
_MODEL = "llm.model"
"""The setting whose value chooses among the shipped calibrations."""
_STAND_IN = "naive"
_SHOWN_NAMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationInForce:
    """The calibration of a strategy that is in force.

    Attributes:
        calibration: The calibration; `None` where none fits.
        stale: The reason why the index's own is not in force; empty where it is or there is none.
        chain_law: The law of the strategy without a model, for chains, which no model answers;
            `None` unless the calibration is of a model.
    """

    calibration: Calibration | None
    stale: str = ""
    chain_law: CorrectnessLaw | None = None


def choose_calibration(
    assembly: Assembly, strategy: str, kept: Mapping[str, str]
) -> CalibrationInForce:
    """Return the index's own calibration if made for these settings, else the shipped one.

    Args:
        assembly: The parts of the settings in force.
        strategy: The strategy that answers.
        kept: The calibrations that the index stores, by strategy.
    """
    stale = ""
    if strategy in kept:
        stored = parse_calibration(kept[strategy], strategy)
        changed = list_differences(stored.identity, describe_identity(assembly, strategy))
        if not changed:
            return CalibrationInForce(calibration=stored)
        stale = (
            f"the index's calibration of {strategy} was made for other settings "
            f"({_join_differences(changed)}); run `fathom calibrate QUESTIONS --strategy "
            f"{strategy}` again"
        )
    shipped_calibration = _choose_shipped(assembly, strategy)
    is_of_model = shipped_calibration in load_model_calibrations().values()
    earlier = list_earlier_readers(assembly) if is_of_model else ()
    if shipped_calibration is None or not _fits(assembly, strategy, shipped_calibration, earlier):
        return CalibrationInForce(calibration=None, stale=stale)
    return CalibrationInForce(
        calibration=shipped_calibration,
        stale=stale,
        chain_law=load_shipped_calibrations()[strategy].law if is_of_model else None,
    )


def _choose_shipped(assembly: Assembly, strategy: str) -> Calibration | None:
    """Return the shipped calibration of a strategy, with a model that of the model.

    A model that is not known gets the calibration of the weakest known one: its answers are rather
    better than that says.
    """
    shipped_calibration = load_shipped_calibrations().get(strategy)
    calibrations = load_model_calibrations()
    provider, _, model = assembly.settings.llm.model.partition(":")
    if shipped_calibration is None or not provider or not calibrations:
        return shipped_calibration
    name = identify_model(model) if provider == "local" else ""
    weakest = next(entry for entry in KNOWN_MODELS if entry in calibrations)
    return calibrations.get(name, calibrations[weakest])


def make_weigher(in_force: CalibrationInForce, strategy: str, ask: AskSettings) -> Weigher:
    """Return the weigher of the answers of a run.

    Raises:
        UsageError: If a rate of errors is asked for that is not certified; the message names those
            that are.
    """
    calibration, max_error = in_force.calibration, ask.max_error
    threshold: float | None = 0.0
    if max_error is not None:
        if in_force.stale or calibration is None:
            raise UsageError(
                f"--max-error {max_error:g}: "
                + (
                    in_force.stale
                    or f"there is no calibration of {strategy} with these settings; "
                    f"run `fathom calibrate QUESTIONS --strategy {strategy}`"
                )
            )
        threshold = calibration.find_threshold(max_error)
        if threshold is None:
            raise UsageError(_refuse_rate(calibration, strategy, max_error))
    # With a certified rate the threshold alone decides: a second bound would break the certificate.
    weigher = Weigher(replaces_confidence=max_error is not None).apply_bounds(choose_bounds(ask))
    if calibration is None or threshold is None:
        return weigher
    return replace(
        weigher,
        law=calibration.law,
        by=calibration.source,
        threshold=threshold,
        chain_law=in_force.chain_law,
    )


def make_asking_rule(in_force: CalibrationInForce, settings: Settings) -> AskingRule | None:
    """Return the rule by which a run asks its model; `None` where the draft's confidence decides.

    That is so where the user has set it, and with a model that was not measured.
    """
    llm = settings.llm
    provider, _, model = llm.model.partition(":")
    bounds = BOUNDS.get(identify_model(model)) if provider == "local" else None
    if llm.skip_above_confidence is not None or bounds is None or in_force.chain_law is None:
        return None
    least, most = bounds
    shown = choose_bounds(settings.ask)
    # A model is right now and then where the reader hardly is; so improbable an answer is withheld,
    # unless the user wants to see it.
    is_withheld = (shown.given if shown.tentative is None else shown.tentative) >= least
    return AskingRule(law=in_force.chain_law, least=least if is_withheld else 0.0, most=most)


def _refuse_rate(calibration: Calibration, strategy: str, max_error: float) -> str:
    rates = [
        certificate.max_error
        for certificate in calibration.certificates
        if certificate.threshold is not None
    ]
    command = f"`fathom calibrate QUESTIONS --strategy {strategy} --max-error {max_error:g}`"
    which = "; certified are " + ", ".join(f"{rate:g}" for rate in rates) if rates else ""
    return (
        f"--max-error {max_error:g}: the calibration of {strategy} by {calibration.source} "
        f"certifies no such rate{which}; ask for another, or run {command} with more questions"
    )


def learn_calibration(
    assembly: Assembly,
    strategy: str,
    asked: Sequence[LabelledAnswer | None],
    *,
    max_error: float | None,
    delta: float,
    made_of: Mapping[str, Json],
) -> CalibrationFit:
    """Learn a calibration from recorded answers, starting with the shipped law where it fits.

    Raises:
        UsageError: If there are too few answers, or all are right, or none is.
    """
    shipped_calibration = load_shipped_calibrations().get(strategy)
    fits = shipped_calibration is not None and shipped_calibration.identity[
        "reader"
    ] == name_reader(assembly)
    try:
        learned = learn_law(
            asked,
            rates=(*RATES, *([] if max_error is None else [max_error])),
            delta=delta,
            before=shipped_calibration.law if shipped_calibration is not None and fits else READER,
        )
    except ValueError:
        answers = [answer for answer in asked if answer is not None]
        wrong = sum(not answer.right for answer in answers)
        raise UsageError(
            f"{len(asked)} questions, {len(answers)} answered, {wrong} of them wrong: to learn "
            f"from, at least {FEWEST} answers are needed, right ones and wrong ones among them"
        ) from None
    made = Calibration(
        identity=describe_identity(assembly, strategy),
        source="own questions",
        made_of=made_of,
        law=learned.law,
        certificates=learned.certificates,
        drift=learned.drift,
    )
    return CalibrationFit(made, learned.held_out)


def describe_identity(assembly: Assembly, strategy: str) -> dict[str, Json]:
    """Return what a calibration is made for: the strategy, its settings, its models."""
    parts = assembly.identity
    if parts["embedder.model"] == SHIPPED_INT8:
        # A law depends on readings of the best chunks, and these are the same (docs/speed.md).
        parts = {**parts, **{f"embedder.{key}": value for key, value in SHIPPED_IDENTITY.items()}}
        del parts["embedder.space"]
    return {
        "strategy": strategy,
        "reader": name_reader(assembly),
        "index": {
            key: parts[key] for key in sorted(parts) if key.startswith(("embedder.", "chunker."))
        },
        "settings": _select_settings(assembly.list_recorded_settings(strategy), strategy),
    }


def hash_identity(assembly: Assembly, trace: Trace) -> str:
    """Return the hash of what a run's strategy depends on; empty where that has changed."""
    strategy = trace.origin.strategy
    if strategy not in STRATEGIES and find_extension("strategy", strategy) is None:
        return ""
    identity = describe_identity(assembly, strategy)
    if identity["settings"] != _select_settings(trace.origin.settings, strategy):
        return ""
    return hash_text(dump_canonical(identity))


def name_reader(assembly: Assembly) -> str:
    """Return the cross-reader's name: a digest on its card, or the class of a given one.

    A reader of the same weights in another graph keeps the digest that calibrations were fitted as.
    """
    if assembly.models.given_reader is not None:
        return type(assembly.models.given_reader).__qualname__
    card = read_card(assembly.settings.models.cross_reader)
    return str(card.get("fitted_as", card.get("sha256", "")))


def list_earlier_readers(assembly: Assembly) -> tuple[str, ...]:
    """Return the digests of the readers whose calibrations of language models' answers apply.

    The answers of a language model are costly to record, and a reader that was trained further
    weighs them much like the one before.
    """
    if assembly.models.given_reader is not None:
        return ()
    return tuple(read_card(assembly.settings.models.cross_reader).get("follows", ()))


def list_differences(made_for: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return today's differences from a calibration's settings, as `name was X, is Y`.

    A setting that did not exist then counts with its default.
    """
    before, after = _flatten(made_for), _flatten(now)
    default = _flatten({"settings": Settings().to_record()})
    lines = []
    for key in sorted(before.keys() | after.keys()):
        then, today = before.get(key, default.get(key)), after.get(key, default.get(key))
        if then != today:
            lines.append(
                f"{key.removeprefix('settings.')} was {_shorten(then)}, is {_shorten(today)}"
            )
    return lines


def parse_calibration(data: str, strategy: str) -> Calibration:
    """Parse a calibration that an index keeps.

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
def load_shipped_calibrations() -> Mapping[str, Calibration]:
    """Return the calibrations of public questions that come with Fathom, by strategy.

    Fathom's own strategies emit the same signals. A strategy that was not calibrated itself gets
    the law of `naive`, without certificates.
    """
    file = resources.files("fathom.data") / SHIPPED
    if not file.is_file():
        return {}
    data = json.loads(file.read_text(encoding="utf-8"))
    calibrated = {
        name: Calibration.from_json(calibration) for name, calibration in data["strategies"].items()
    }
    others = {name: replace(calibrated[_STAND_IN], certificates=()) for name in STRATEGIES}
    return others | calibrated


@cache
def load_model_calibrations() -> Mapping[str, Calibration]:
    """Return the shipped calibrations of answers in which a model read, by the model's name."""
    file = resources.files("fathom.data") / SHIPPED
    data = json.loads(file.read_text(encoding="utf-8"))
    return {
        name: Calibration.from_json(calibration)
        for name, calibration in data.get("models", {}).items()
    }


def _fits(assembly: Assembly, strategy: str, given: Calibration, earlier: Container[str]) -> bool:
    """Return whether it was learned with these models and the settings are the defaults.

    Args:
        assembly: The parts of the settings in force.
        strategy: The strategy that answers.
        given: The calibration.
        earlier: Other cross-readers with which it may have been learned.
    """
    identity = describe_identity(assembly, strategy)
    reader = given.identity["reader"]
    same = identity["index"] == given.identity["index"] and (
        reader == identity["reader"] or reader in earlier
    )
    default = _select_settings(Settings().to_record(), strategy)
    return same and identity["settings"] == default | {
        key: value for key, value in identity["settings"].items() if key == _MODEL
    }


def _select_settings(recorded: Mapping[str, Any], strategy: str) -> dict[str, Json]:
    """Return the settings that the strategy depends on; an extension may depend on all."""
    others = STRATEGIES.keys() - {strategy} if strategy in _INDEPENDENT else frozenset()
    settings = drop_later_settings(recorded)
    flat = _flatten({name: part for name, part in settings.items() if name not in others})
    if flat.get("models.embedder") == SHIPPED_INT8:  # as in `describe_identity`
        flat["models.embedder"] = SHIPPED_IDENTITY["model"]
    return {key: value for key, value in flat.items() if key not in _IRRELEVANT}


_INDEPENDENT = frozenset({"naive", "rrf", "maf", "anchor", "mao", "hybrid"})
"""Strategies that depend on no section of another strategy."""


def _flatten(values: Mapping[str, Any], before: str = "") -> dict[str, Json]:
    flat: dict[str, Json] = {}
    for key, value in values.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{name}.")
        else:
            flat[name] = list(value) if isinstance(value, tuple) else value
    return flat


def _join_differences(changed: list[str]) -> str:
    more = f" and {len(changed) - _SHOWN_NAMES} more" if len(changed) > _SHOWN_NAMES else ""
    return ", ".join(changed[:_SHOWN_NAMES]) + more


def _shorten(value: object) -> str:
    return str(value)[:40]

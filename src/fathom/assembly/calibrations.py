"""The choice of the calibration in force: the index's own, a shipped one, or none."""

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
"""The file of the shipped calibrations, in `fathom.data`."""
_IRRELEVANT = frozenset(
    {
        *("ask.caution", "ask.max_error", "ask.min_probability", "ask.strategy", "ask.seed"),
        "sources.trusted",
    }
)
"""Settings with which a calibration need not agree: most change no answer that a calibration is
learned from, and `sources.trusted` does not change the law of the signals."""
_MODEL = "llm.model"
"""The setting whose value chooses among the shipped calibrations."""
_STAND_IN = "naive"
"""The strategy whose law is used for strategies without a shipped calibration."""
_SHOWN_NAMES = 3
"""The largest number of changed settings in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationInForce:
    """The calibration of a strategy that is in force.

    Attributes:
        calibration: The calibration; `None` if none fits.
        stale: The reason why the index's own calibration is not in force; empty if it is in force
            or there is none.
        chain_law: The law of the strategy without a language model, for the answers to chains of
            questions, which no model gives; `None` unless the calibration is that of a model.
    """

    calibration: Calibration | None
    stale: str = ""
    chain_law: CorrectnessLaw | None = None


def choose_calibration(
    assembly: Assembly, strategy: str, kept: Mapping[str, str]
) -> CalibrationInForce:
    """Return the index's own calibration if it was made for these settings, else a shipped one.

    Args:
        assembly: The parts of the settings in force.
        strategy: The strategy that answers.
        kept: The calibrations stored with the index, as JSON by strategy.

    Returns:
        The choice; it has no calibration if none fits the models and settings.

    Raises:
        UsageError: If this version cannot read the index's own calibration.
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
    """Return the shipped calibration of the language model in force, else that of the strategy.

    An unknown model gets the calibration of the weakest known model, because its answers are
    probably at least as good. `None` for a strategy without a shipped calibration.
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
    """Return the weigher that judges the answers of a run.

    Args:
        in_force: The calibration in force.
        strategy: The strategy that answers, for messages.
        ask: The settings with the bounds of probability and the largest rate of errors.

    Raises:
        UsageError: If the wanted rate of errors is not certified; the message names the certified
            ones.
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
    # With a certified rate only the threshold decides, because a second bound would invalidate the
    # certificate.
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
    """Return the rule that decides whether a run asks its language model.

    `None` if the confidence of the draft decides instead: the user has set a bound for it
    (`llm.skip_above_confidence`), or the model was not measured, or no calibration of a model is in
    force.
    """
    llm = settings.llm
    provider, _, model = llm.model.partition(":")
    bounds = BOUNDS.get(identify_model(model)) if provider == "local" else None
    if llm.skip_above_confidence is not None or bounds is None or in_force.chain_law is None:
        return None
    least, most = bounds
    shown = choose_bounds(settings.ask)
    # A model is sometimes right where the reader hardly ever is. But so improbable an answer would
    # be withheld, so the model is asked only if the user wants to see such answers.
    is_withheld = (shown.given if shown.tentative is None else shown.tentative) >= least
    return AskingRule(law=in_force.chain_law, least=least if is_withheld else 0.0, most=most)


def _refuse_rate(calibration: Calibration, strategy: str, max_error: float) -> str:
    """Return the message for a rate of errors that a calibration does not certify."""
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
    """Learn a calibration from labelled answers.

    Learning starts from the shipped law of the strategy if that was learned with the same reader.

    Args:
        assembly: The parts of the settings in force.
        strategy: The strategy that answered.
        asked: One entry for each question; `None` for a question that was not answered.
        max_error: A rate of errors to certify besides the usual ones, in [0, 1].
        delta: The probability that a certificate does not hold, in [0, 1].
        made_of: A description of the questions.

    Returns:
        The calibration, with what was measured on held-out answers.

    Raises:
        UsageError: If there are too few answers, or if all are right or all are wrong.
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
    """Return the identity of a calibration: its strategy, settings, reader, embedder and chunker.

    A calibration fits only a run with the same identity.
    """
    parts = assembly.identity
    if parts["embedder.model"] == SHIPPED_INT8:
        # The int8 embedder counts as the fp32 one, because a law depends on the readings of the
        # best chunks, which are the same with both (docs/speed.md).
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
    """Return the hash of the identity of a calibration that a run's answer can be used for.

    Empty if the settings have changed since the run, or the strategy no longer exists.
    """
    strategy = trace.origin.strategy
    if strategy not in STRATEGIES and find_extension("strategy", strategy) is None:
        return ""
    identity = describe_identity(assembly, strategy)
    if identity["settings"] != _select_settings(trace.origin.settings, strategy):
        return ""
    return hash_text(dump_canonical(identity))


def name_reader(assembly: Assembly) -> str:
    """Return the name of the cross-reader: the digest on its card, or the class of a given one.

    A reader with the same weights in another graph has the digest of the reader with which the
    calibrations were fitted (`fitted_as`).
    """
    if assembly.models.given_reader is not None:
        return type(assembly.models.given_reader).__qualname__
    card = read_card(assembly.settings.models.cross_reader)
    return str(card.get("fitted_as", card.get("sha256", "")))


def list_earlier_readers(assembly: Assembly) -> tuple[str, ...]:
    """Return the digests of earlier readers whose calibrations of language models still apply.

    It is costly to record the answers of a language model again, and a reader that was trained
    further judges them much like the earlier one. Empty for a reader given as an argument.
    """
    if assembly.models.given_reader is not None:
        return ()
    return tuple(read_card(assembly.settings.models.cross_reader).get("follows", ()))


def list_differences(made_for: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the differences between two identities of calibrations, as `name was X, is Y`.

    A setting that one of them lacks counts with its default.

    Args:
        made_for: The identity of a calibration.
        now: The identity of the settings in force.
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
    """Parse a calibration that is stored with an index.

    Args:
        data: The calibration as JSON.
        strategy: The name of its strategy, for the message.

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
    """Return the shipped calibrations, learned on public questions, by strategy.

    All strategies of Fathom have the same signals, so a strategy without a calibration of its own
    gets the law of `naive`, without certificates.
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
    """Return the shipped calibrations for readers with a language model, by name of the model."""
    file = resources.files("fathom.data") / SHIPPED
    data = json.loads(file.read_text(encoding="utf-8"))
    return {
        name: Calibration.from_json(calibration)
        for name, calibration in data.get("models", {}).items()
    }


def _fits(assembly: Assembly, strategy: str, given: Calibration, earlier: Container[str]) -> bool:
    """Return whether a shipped calibration fits the models and settings in force.

    It must have been learned with the same embedder, chunker and cross-reader, and all relevant
    settings except the language model must be the defaults.

    Args:
        assembly: The parts of the settings in force.
        strategy: The strategy that answers.
        given: The calibration.
        earlier: The digests of other cross-readers that are accepted.
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
    """Return the settings that the answers of a strategy depend on, by dotted key.

    The sections of other strategies are left out for a strategy in `_INDEPENDENT`; any other may
    depend on all sections.
    """
    others = STRATEGIES.keys() - {strategy} if strategy in _INDEPENDENT else frozenset()
    settings = drop_later_settings(recorded)
    flat = _flatten({name: part for name, part in settings.items() if name not in others})
    if flat.get("models.embedder") == SHIPPED_INT8:  # as in `describe_identity`
        flat["models.embedder"] = SHIPPED_IDENTITY["model"]
    return {key: value for key, value in flat.items() if key not in _IRRELEVANT}


_INDEPENDENT = frozenset({"naive", "rrf", "maf", "anchor", "mao", "hybrid"})
"""The strategies that depend on no section of another strategy."""


def _flatten(values: Mapping[str, Any], before: str = "") -> dict[str, Json]:
    """Return the values of nested tables by dotted key, with `before` in front of each key."""
    flat: dict[str, Json] = {}
    for key, value in values.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{name}.")
        else:
            flat[name] = list(value) if isinstance(value, tuple) else value
    return flat


def _join_differences(changed: list[str]) -> str:
    """Return the first differences as text, with the number of further ones."""
    more = f" and {len(changed) - _SHOWN_NAMES} more" if len(changed) > _SHOWN_NAMES else ""
    return ", ".join(changed[:_SHOWN_NAMES]) + more


def _shorten(value: object) -> str:
    """Return the first 40 characters of a value as text."""
    return str(value)[:40]

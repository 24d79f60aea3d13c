"""The prices of language models: the shipped table and the user's own, which win."""

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from fathom.errors import SettingsError
from fathom.usage import Price

_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$")


class Prices:
    """The prices of models. A model that is in no table has an unknown price, not a price of 0."""

    def __init__(self, by_model: Mapping[str, Price]) -> None:
        """Take the prices by `provider:model`; `provider:*` is for all its other models."""
        self._by_model = dict(by_model)

    def get_price(self, model: str) -> Price | None:
        """Return the price of `provider:model`; `None` if it is unknown.

        The full name is looked up first, then the name without a trailing date or `-latest`
        (`gpt-4o-2024-08-06` is priced as `gpt-4o`), then `*` of its provider.
        """
        provider = model.partition(":")[0]
        for name in (model, _DATED.sub("", model), f"{provider}:*"):
            if name in self._by_model:
                return self._by_model[name]
        return None

    def __or__(self, other: "Prices") -> "Prices":
        """Return one table of both; the prices of `other` win."""
        return Prices(self._by_model | other._by_model)


def load_prices(file: Path | None = None) -> Prices:
    """Return the shipped prices, overridden by those of the user's file.

    Args:
        file: A TOML file in the form of `data/prices.toml`; `None` for the shipped prices alone.

    Raises:
        SettingsError: If the file cannot be read or a line is not `"model" = [prompt, completion]`
            under a `[provider]`.
    """
    shipped = files("fathom").joinpath("data/prices.toml").read_text(encoding="utf-8")
    prices = _parse_table(shipped, "prices.toml")
    if file is None:
        return prices
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: the price file cannot be read: {error}") from None
    return prices | _parse_table(text, str(file))


def _parse_table(text: str, origin: str) -> Prices:
    """Return the prices in a TOML text, which messages call `origin`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{origin}: the price file is not TOML: {error}") from None
    prices: dict[str, Price] = {}
    for provider, models in table.items():
        if not isinstance(models, Mapping):
            raise SettingsError(f"{origin}: {provider!r} must stand under a [provider]")
        for model, pair in models.items():
            prices[f"{provider}:{model}"] = _parse_price(pair, f"{origin}: {provider}:{model}")
    return Prices(prices)


def _parse_price(pair: Any, origin: str) -> Price:  # noqa: ANN401 - a TOML value of any type
    """Return the price that `[prompt, completion]` gives, in USD per million tokens."""
    # The types are exact, because texts and truth values are no prices but can be converted.
    if type(pair) is list and {*map(type, pair)} <= {int, float}:
        with suppress(ValueError, OverflowError):
            prompt, completion = pair
            return Price(prompt=float(prompt), completion=float(completion))
    raise SettingsError(f"{origin} = {pair!r}: give [prompt, completion] in USD per million tokens")

from pathlib import Path

import pytest

from fathom.errors import SettingsError
from fathom.llm.prices import load_prices
from fathom.usage import FREE, Price


def test_known_models_have_a_price() -> None:
    prices = load_prices()

    assert prices.get_price("openai:gpt-4o-mini") == Price(prompt=0.15, completion=0.60)
    assert prices.get_price("groq:llama-3.3-70b-versatile") == Price(prompt=0.59, completion=0.79)
    assert prices.get_price("groq:openai/gpt-oss-120b") == Price(prompt=0.15, completion=0.60)


@pytest.mark.parametrize(
    ("name", "undated"),
    [
        ("openai:gpt-4o-2024-08-06", "openai:gpt-4o"),
        ("anthropic:claude-sonnet-4-5-20250929", "anthropic:claude-sonnet-4-5"),
        ("openai:o3-latest", "openai:o3"),
    ],
)
def test_a_dated_model_costs_what_the_undated_one_does(name: str, undated: str) -> None:
    prices = load_prices()

    assert prices.get_price(name) == prices.get_price(undated)
    assert prices.get_price(undated) is not None


def test_models_on_the_users_machine_are_free() -> None:
    assert load_prices().get_price("ollama:whatever") == FREE


@pytest.mark.parametrize("name", ["openai:gpt-99", "nobody:model", "gpt-4o", "", "openai:*o"])
def test_an_unknown_model_has_no_price(name: str) -> None:
    assert load_prices().get_price(name) is None


def test_the_users_file_overrides_line_by_line(tmp_path: Path) -> None:
    price_file = tmp_path / "prices.toml"
    price_file.write_text('[openai]\n"gpt-4o" = [1, 2]\n[local-server]\n"*" = [0, 0]\n')

    prices = load_prices(price_file)

    assert prices.get_price("openai:gpt-4o") == Price(prompt=1, completion=2)
    assert prices.get_price("openai:gpt-4o-mini") == Price(prompt=0.15, completion=0.60)
    assert prices.get_price("local-server:x") == FREE


def test_a_byte_order_mark_begins_no_price_file(tmp_path: Path) -> None:
    price_file = tmp_path / "prices.toml"
    price_file.write_text('[openai]\n"gpt-4o" = [1, 2]\n', encoding="utf-8-sig")

    assert load_prices(price_file).get_price("openai:gpt-4o") == Price(prompt=1, completion=2)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[openai", "not TOML"),
        ("openai = 3", "under a [provider]"),
        ('[openai]\n"x" = 3', "openai:x = 3"),
        ('[openai]\n"x" = [1]', "openai:x"),
        ('[openai]\n"x" = [1, -2]', "openai:x"),
        ('[openai]\n"x" = [1, nan]', "openai:x"),
        ('[openai]\n"x" = ["a", 1]', "openai:x"),
        ('[openai]\n"x" = "15"', "openai:x"),
        ('[openai]\n"x" = ["1", "2"]', "openai:x"),
        ('[openai]\n"x" = [true, false]', "openai:x"),
        ("[openai.x]\n1 = 1\n2 = 2", "openai:x"),
    ],
)
def test_a_bad_price_file_is_refused_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    price_file = tmp_path / "prices.toml"
    price_file.write_text(text)

    with pytest.raises(SettingsError) as caught:
        load_prices(price_file)

    assert complaint in str(caught.value)
    assert str(price_file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_price_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.toml"):
        load_prices(tmp_path / "nowhere.toml")

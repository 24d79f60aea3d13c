"""Settings in layers, with one-line errors that name the place of a mistake."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fathom.config import (
    RENAMED_SETTINGS,
    Layers,
    Settings,
    load_settings,
    parse_settings,
    save_settings,
)
from fathom.errors import SettingsError
from fathom.settings.anchor import AnchorSettings


def load_layers(
    tmp_path: Path,
    project: str = "",
    user: str = "",
    environment: Mapping[str, str] | None = None,
    **more: Any,
) -> Layers:
    config = tmp_path / "config" / "fathom"
    config.mkdir(parents=True)
    (config / "fathom.toml").write_text(user)
    (tmp_path / "fathom.toml").write_text(project)
    variables = {"XDG_CONFIG_HOME": str(tmp_path / "config"), **(environment or {})}
    return Layers.load(cwd=tmp_path, environment=variables, **more)


def test_defaults_apply_without_files(tmp_path: Path) -> None:
    settings = Layers.load(cwd=tmp_path, environment={"HOME": str(tmp_path)}).build_settings()
    assert settings.retrieval.k == 10
    assert settings.index.directory == Path(".fathom")


def test_later_layers_win_and_origins_are_recorded(tmp_path: Path) -> None:
    layers = load_layers(
        tmp_path,
        user="[ask]\nseed = 1\n[retrieval]\nk = 1\nvector_weight = 1\nkeyword_weight = 1",
        project="[retrieval]\nk = 2\nvector_weight = 2\nkeyword_weight = 2",
        environment={"FATHOM_RETRIEVAL__K": "3", "FATHOM_RETRIEVAL__VECTOR_WEIGHT": "3"},
        flags={"retrieval.k": 4, "offline": None},
        assignments=["retrieval.fusion=weighted_sum"],
    )
    settings = layers.build_settings()
    chosen = settings.retrieval
    assert (chosen.k, chosen.vector_weight, chosen.keyword_weight, settings.ask.seed) == (
        4,
        3,
        2,
        1,
    )
    assert chosen.fusion == "weighted_sum"
    origins = {value.key: value.origin for value in layers.list_values()}
    assert origins["retrieval.k"] == "flag"
    assert origins["retrieval.vector_weight"] == "FATHOM_RETRIEVAL__VECTOR_WEIGHT"
    assert origins["retrieval.keyword_weight"].endswith("fathom.toml")
    assert origins["ask.chunks"] == "default"


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"project": "[retrieval]\nkk = 1"}, "did you mean 'retrieval.k'"),
        ({"environment": {"FATHOM_RETRIEVAL__KK": "1"}}, "FATHOM_RETRIEVAL__KK"),
        ({"assignments": ["retrieval.k"]}, "section.key=value"),
        ({"assignments": ["retrieval.k=0"]}, "retrieval.k = 0 in --set"),
        ({"project": "retrieval.k = true"}, "expected a number instead of true or false"),
        ({"environment": {"FATHOM_RETRIEVAL__VECTOR_WEIGHT": "true"}}, "expected a number instead"),
        ({"assignments": ["budget.tokens=false"]}, "budget.tokens = False in --set: expected a"),
        ({"assignments": ["hybrid.agent_weights=[0.5, true]"]}, "expected a number instead of"),
        ({"project": "[retrieval"}, "cannot be read"),
        ({"project": "retrieval = 3"}, "unknown setting 'retrieval'"),
    ],
)
def test_a_mistake_is_one_line_that_names_its_place(
    tmp_path: Path, layer: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load_layers(tmp_path, **layer).build_settings()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_recorded_settings_override_the_present_ones_and_assignments_override_both() -> None:
    present = Layers()
    present.assign(["retrieval.k=3", "ask.chunks=4"])
    layers = Layers.from_trace(
        present.build_settings(), {"ask": {"chunks": 5}, "llm": {"model": ""}}
    )
    layers.assign(["llm.skip_above_confidence=2"])
    settings = layers.build_settings()
    assert (settings.retrieval.k, settings.ask.chunks, settings.llm.skip_above_confidence) == (
        3,
        5,
        2.0,
    )
    with pytest.raises(SettingsError, match=r"unknown setting 'ask.gone' in trace"):
        Layers.from_trace(present.build_settings(), {"ask": {"gone": 1}})


def test_a_renamed_setting_is_refused_with_its_new_name_but_read_in_old_traces() -> None:
    keys = {value.key for value in Layers().list_values(constants=True)}
    for old, new in RENAMED_SETTINGS.items():
        assert old not in keys
        assert new in keys
        with pytest.raises(SettingsError, match=rf"{old}' in --set; it is called '{new}' now"):
            Layers().assign([f"{old}=1"])
    then = Layers.from_trace(
        Settings(), {"anchor": {"look": 7}, "llm": {"certain": 0.5}}
    ).build_settings()
    assert (then.get_section(AnchorSettings).first_k, then.llm.skip_above_confidence) == (7, 0.5)


@pytest.mark.parametrize(
    ("layer", "origin"),
    [
        ({"user": "[anchor]\nmin_score = 0.3"}, "fathom.toml"),
        ({"project": "[anchor]\nmin_score = 0.3"}, "fathom.toml"),
        ({"environment": {"FATHOM_ANCHOR__MIN_SCORE": "0.3"}}, "FATHOM_ANCHOR__MIN_SCORE"),
        ({"flags": {"anchor.min_score": 0.3}}, "flag"),
        ({"assignments": ["anchor.min_score=0.3"]}, "--set"),
    ],
)
def test_a_constant_is_refused_in_every_source_of_a_user(
    tmp_path: Path, layer: Mapping[str, Any], origin: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load_layers(tmp_path, **layer)
    assert f"anchor.min_score in {layer.get('origin', '')}" in str(caught.value)
    assert f"{origin} is a constant of anchor, which only experiments vary" in str(caught.value)
    assert "docs/strategies/anchor.md; leave it out" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_experiments_vary_a_constant_and_replay_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="which only experiments vary"):
        parse_settings({"anchor.min_score": 0.3})
    varied = parse_settings({"anchor.min_score": 0.3}, constants=True)
    assert varied.get_section(AnchorSettings).min_score == 0.3
    layers = load_layers(tmp_path, assignments=["anchor.min_score=0.3"], constants=True)
    assert layers.build_settings().get_section(AnchorSettings).min_score == 0.3
    replayed = Layers.from_trace(Settings(), {"anchor": {"min_score": 0.3}})
    replayed.assign(["anchor.gate=false"])
    assert replayed.build_settings().get_section(AnchorSettings).min_score == 0.3
    assert replayed.build_settings().get_section(AnchorSettings).gate is False


def test_constants_are_listed_on_request_only() -> None:
    settings = {value.key for value in Layers().list_values()}
    constants = {value.key for value in Layers().list_values(constants=True)} - settings
    assert "anchor.min_score" in constants
    assert {"llm.prompts", "anchor.config", "offline"} <= settings
    assert not any(key.startswith(("effort.", "llm.prompts.")) for key in settings)


def test_a_limit_of_an_effort_is_refused_with_the_settings_to_use() -> None:
    with pytest.raises(SettingsError, match=r"set budget.effort and the limits of \[budget\]"):
        parse_settings({"effort": {"low": {"calls": 5}}})


@pytest.mark.parametrize(
    ("key", "name"),
    [("llm.prompts", "reader"), ("grading.prompts", "correctness")],
)
def test_prompts_are_replaced_from_a_folder(tmp_path: Path, key: str, name: str) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    file = folder / f"{name}.txt"
    file.write_text("Answer.")
    layers = load_layers(tmp_path, assignments=[f"{key}={folder}"])
    values = {value.key: value for value in layers.list_values(constants=True)}
    assert values[key] == (key, str(folder), "--set")
    assert values[f"{key}.{name}"].value == str(file)
    # The tree goes back into layers file by file, as for a replay.
    assert (
        Layers.from_trace(layers.build_settings(), {}).build_settings() == layers.build_settings()
    )
    layers.assign([f"{key}="])
    assert layers.build_settings() == Settings()
    (folder / "raeder.txt").write_text("Answer.")
    with pytest.raises(SettingsError, match=r"raeder.txt replaces nothing; the names are .*"):
        load_layers(tmp_path / "other", assignments=[f"{key}={folder}"]).build_settings()
    with pytest.raises(SettingsError, match=rf"{key} = 'none' in --set: expected a folder"):
        load_layers(tmp_path / "third", assignments=[f"{key}=none"]).build_settings()


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("llm.prompts.reader", r"put it at DIR/reader\.txt and set llm\.prompts = DIR"),
        ("grading.correctness", r"put it at DIR/correctness\.txt and set grading\.prompts = DIR"),
        ("grading.prompts.correctness", r"put it at DIR/correctness\.txt and set"),
    ],
)
def test_a_setting_for_a_single_prompt_is_refused_with_the_folder(key: str, answer: str) -> None:
    with pytest.raises(SettingsError, match=answer):
        parse_settings({key: "mine.txt"})


def test_an_older_trace_names_its_prompts_one_by_one() -> None:
    recorded = {"llm": {"prompts": {"reader": "mine.txt", "judge": ""}}}
    settings = Layers.from_trace(Settings(), recorded).build_settings()
    assert settings.llm.prompts.model_dump()["reader"] == "mine.txt"
    assert settings.to_record()["llm"]["prompts"]["reader"] == "mine.txt"


def test_settings_may_be_given_as_tables_or_by_dotted_names() -> None:
    tables = {"retrieval": {"k": 3}, "anchor": {"config": "C"}}
    assert parse_settings(tables) == parse_settings({"retrieval.k": 3, "anchor.config": "C"})
    with pytest.raises(SettingsError, match=r"did you mean 'retrieval.k'"):
        parse_settings({"retrieval.kk": 3})


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(SettingsError, match=r"llm\.base_url in --set holds") as caught:
        Layers().assign(["llm.base_url=https://me:sk-canary@host/v1"])
    assert "canary" not in str(caught.value)


def test_an_effort_overrides_the_budget_of_lower_layers(tmp_path: Path) -> None:
    flags = {"budget.effort": "low", "budget.calls": 9}
    layers = load_layers(tmp_path, "[budget]\ntokens = 123_456\n", flags=flags)
    budget = layers.build_settings().budget
    assert (budget.effort, budget.tokens, budget.calls, budget.seconds) == ("low", 10_000, 9, 20)
    with pytest.raises(SettingsError, match=r"effort\.low\.calls = -1 in settings: .*greater"):
        parse_settings({"effort.low.calls": -1}, constants=True)
    with pytest.raises(SettingsError, match=r"budget\.effort = 'huge' in settings: .*'low'"):
        parse_settings({"budget.effort": "huge"})


@pytest.mark.parametrize(
    "before",
    [
        "",
        "offline = true\n",
        "[ask]\nstrategy = 'naive' # mine\n\n[maf]\nmin_score = 0.2\n",
        "[maf]\nmin_score = 0.2\n[ask]",
        "# only a remark\n",
    ],
)
def test_saving_settings_keeps_the_rest_of_the_file(tmp_path: Path, before: str) -> None:
    file = tmp_path / "fathom.toml"
    file.write_text(before)
    payload = tomllib.loads(before)
    save_settings(file, {"ask.strategy": "maf", "ask.min_confidence": "0.5"})
    now = tomllib.loads(file.read_text())
    assert now.pop("ask") == {"strategy": "maf", "min_confidence": 0.5}
    payload.pop("ask", None)
    assert now == payload
    assert all(line in file.read_text() for line in before.splitlines() if line.startswith("#"))
    assert [file.name for file in tmp_path.iterdir()] == ["fathom.toml"]


def test_a_byte_order_mark_before_the_settings_is_no_part_of_them(tmp_path: Path) -> None:
    file = tmp_path / "fathom.toml"
    file.write_bytes(b"\xef\xbb\xbf[retrieval]\r\nk = 7\r\n")
    assert load_settings(tmp_path).retrieval.k == 7
    save_settings(file, {"retrieval.k": "8"})
    assert load_settings(tmp_path).retrieval.k == 8


def test_a_file_that_cannot_be_edited_line_by_line_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "fathom.toml"
    file.write_text('ask.strategy = "naive"\n')
    with pytest.raises(SettingsError, match=r"cannot be changed: set ask.strategy=maf there"):
        save_settings(file, {"ask.strategy": "maf"})
    assert file.read_text() == 'ask.strategy = "naive"\n'

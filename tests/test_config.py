"""Settings come in layers, and every mistake is one line that names its place."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fathom.config import RENAMED, Layers, Settings, save_settings, settings_of
from fathom.errors import SettingsError


def load(
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


def test_defaults_stand_without_files(tmp_path: Path) -> None:
    settings = Layers.load(cwd=tmp_path, environment={"HOME": str(tmp_path)}).settings()
    assert settings.retrieval.rrf_k == 60
    assert settings.index.directory == Path(".fathom")


def test_later_layers_win_and_origins_are_known(tmp_path: Path) -> None:
    layers = load(
        tmp_path,
        user="[retrieval]\nk = 1\nrrf_k = 1\ncandidates = 1\nvector_weight = 1.5",
        project="[retrieval]\nk = 2\nrrf_k = 2\ncandidates = 2",
        environment={"FATHOM_RETRIEVAL__K": "3", "FATHOM_RETRIEVAL__RRF_K": "3"},
        flags={"retrieval.k": 4, "offline": None},
        assignments=["retrieval.fusion=weighted_sum"],
    )
    chosen = layers.settings().retrieval
    assert (chosen.k, chosen.rrf_k, chosen.candidates, chosen.vector_weight) == (4, 3, 2, 1.5)
    assert chosen.fusion == "weighted_sum"
    origins = {value.key: value.origin for value in layers.values()}
    assert origins["retrieval.k"] == "flag"
    assert origins["retrieval.rrf_k"] == "FATHOM_RETRIEVAL__RRF_K"
    assert origins["retrieval.candidates"].endswith("fathom.toml")
    assert origins["retrieval.keyword_weight"] == "default"


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"project": "[retrieval]\nkk = 1"}, "did you mean 'retrieval.k'"),
        ({"environment": {"FATHOM_RETRIEVAL__KK": "1"}}, "FATHOM_RETRIEVAL__KK"),
        ({"assignments": ["retrieval.k"]}, "section.key=value"),
        ({"assignments": ["retrieval.k=0"]}, "retrieval.k = 0 in --set"),
        ({"project": "[retrieval"}, "cannot be read"),
        ({"project": "retrieval = 3"}, "unknown setting 'retrieval'"),
    ],
)
def test_a_mistake_is_one_line_that_names_its_place(
    tmp_path: Path, layer: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, **layer).settings()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_recorded_settings_lie_over_the_present_ones_and_assignments_over_both() -> None:
    present = Layers()
    present.assign(["retrieval.k=3", "ask.chunks=4"])
    layers = Layers.over(present.settings(), {"ask": {"chunks": 5}, "llm": {"model": ""}})
    layers.assign(["llm.skip_above_confidence=2"])
    settings = layers.settings()
    assert (settings.retrieval.k, settings.ask.chunks, settings.llm.skip_above_confidence) == (
        3,
        5,
        2.0,
    )
    with pytest.raises(SettingsError, match=r"unknown setting 'ask.gone' in trace"):
        Layers.over(present.settings(), {"ask": {"gone": 1}})


def test_a_renamed_setting_is_refused_with_its_new_name_but_read_in_old_traces() -> None:
    known = {value.key for value in Layers().values()}
    for old, new in RENAMED.items():
        assert old not in known
        assert new in known
        with pytest.raises(SettingsError, match=rf"{old}' in --set; it is called '{new}' now"):
            Layers().assign([f"{old}=1"])
    then = Layers.over(Settings(), {"anchor": {"look": 7}, "llm": {"certain": 0.5}}).settings()
    assert (then.anchor.first_k, then.llm.skip_above_confidence) == (7, 0.5)


def test_settings_may_be_given_as_tables_or_by_dotted_names() -> None:
    tables = {"retrieval": {"k": 3}, "anchor": {"fine": 4}}
    assert settings_of(tables) == settings_of({"retrieval.k": 3, "anchor.fine": 4})
    with pytest.raises(SettingsError, match=r"did you mean 'retrieval.k'"):
        settings_of({"retrieval.kk": 3})


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(SettingsError, match=r"llm\.base_url in --set holds") as caught:
        Layers().assign(["llm.base_url=https://me:sk-canary@host/v1"])
    assert "canary" not in str(caught.value)


def test_an_effort_hides_what_lower_layers_say_of_the_budget(tmp_path: Path) -> None:
    flags = {"budget.effort": "low", "budget.calls": 9}
    layers = load(
        tmp_path, "[budget]\ntokens = 123_456\n[effort.low]\nseconds = 4.0\n", flags=flags
    )
    budget = layers.settings().budget
    assert (budget.effort, budget.tokens, budget.calls, budget.seconds) == ("low", 10_000, 9, 4.0)
    with pytest.raises(SettingsError, match=r"effort\.low\.calls = -1 in settings: .*greater"):
        settings_of({"effort.low.calls": -1})
    with pytest.raises(SettingsError, match=r"budget\.effort = 'huge' in settings: .*'low'"):
        settings_of({"budget.effort": "huge"})


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
def test_settings_are_saved_and_the_rest_of_the_file_stays(tmp_path: Path, before: str) -> None:
    file = tmp_path / "fathom.toml"
    file.write_text(before)
    known = tomllib.loads(before)
    save_settings(file, {"ask.strategy": "maf", "ask.min_confidence": "0.5"})
    now = tomllib.loads(file.read_text())
    assert now.pop("ask") == {"strategy": "maf", "min_confidence": 0.5}
    known.pop("ask", None)
    assert now == known
    assert all(line in file.read_text() for line in before.splitlines() if line.startswith("#"))
    assert [each.name for each in tmp_path.iterdir()] == ["fathom.toml"]


def test_a_file_that_cannot_be_changed_line_by_line_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "fathom.toml"
    file.write_text('ask.strategy = "naive"\n')
    with pytest.raises(SettingsError, match=r"cannot be changed: set ask.strategy=maf there"):
        save_settings(file, {"ask.strategy": "maf"})
    assert file.read_text() == 'ask.strategy = "naive"\n'

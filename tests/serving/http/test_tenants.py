"""Workspaces see nothing of each other: `fathom.serving.http.workspaces`."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchmarks.probes import ProbeCounts
from benchmarks.tenants import run_probes
from tests.postgres_server import Server

from fathom import Engine
from fathom.config import parse_settings
from fathom.serving.http.access import LOCAL, Caller
from fathom.serving.http.workspaces import Workspaces

PROBES = int(os.environ.get("TENANT_PROBES", "10_000"))
SEED = int(os.environ.get("SEED", "0"))


def test_no_probe_of_any_route_shows_data_of_another_tenant() -> None:
    check_probes(run_probes(tenants=3, least=150), 150)


def check_probes(outcome: ProbeCounts, count: int) -> None:
    assert outcome.leaks == []
    assert outcome.probes >= count
    assert outcome.statuses[404] > count / 10
    assert not [status for status in outcome.statuses if status >= 500]


def test_no_probe_shows_data_of_another_workspace_of_the_database(postgres: Server) -> None:
    check_probes(run_probes(tenants=3, least=150, url=postgres.open_database()), 150)


@pytest.mark.slow
def test_twenty_tenants_of_a_folder_are_separate_in_ten_thousand_probes(
    count_probes: Callable[[int], None],
) -> None:
    outcome = run_probes(tenants=20, least=PROBES, seed=SEED)
    count_probes(outcome.probes)
    check_probes(outcome, PROBES)


@pytest.mark.slow
def test_twenty_tenants_of_a_database_are_separate_in_ten_thousand_probes(postgres: Server) -> None:
    check_probes(run_probes(tenants=20, least=10_000, url=postgres.open_database()), 10_000)


@pytest.fixture
def spaces(tmp_path: Path) -> Iterator[Workspaces]:
    workspaces = Workspaces(
        Engine(parse_settings({"index.directory": str(tmp_path), "offline": True}))
    )
    yield workspaces
    workspaces.close()


def test_a_workspace_has_its_own_folder_and_shares_the_models(
    spaces: Workspaces, tmp_path: Path
) -> None:
    first, other = (
        spaces.get_workspace(Caller(workspace="one")),
        spaces.get_workspace(Caller(workspace="other")),
    )
    assert first.directory == tmp_path / "workspaces" / "one"
    assert spaces.get_workspace(LOCAL).directory == tmp_path
    assert spaces.get_workspace(Caller(workspace="one")) is first
    assert first.engine.assembly.cross_reader is other.engine.assembly.cross_reader
    assert first.engine.models.language_models is other.engine.models.language_models

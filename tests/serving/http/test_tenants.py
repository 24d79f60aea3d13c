"""Workspaces see nothing of each other: `fathom.serving.http.workspaces`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.tenants import run

from fathom import Engine
from fathom.config import settings_of
from fathom.serving.http.access import LOCAL, Caller
from fathom.serving.http.workspaces import Workspaces


def test_no_probe_of_any_route_shows_what_another_tenant_has() -> None:
    found = run(tenants=3, wanted=150)
    assert found.leaks == []
    assert found.probes >= 150
    assert found.statuses[404] > 20
    assert not [status for status in found.statuses if status >= 500]


@pytest.fixture
def spaces(tmp_path: Path) -> Iterator[Workspaces]:
    made = Workspaces(Engine(settings_of({"index.directory": str(tmp_path), "offline": True})))
    yield made
    made.close()


def test_a_workspace_is_a_folder_of_its_own_and_shares_the_models(
    spaces: Workspaces, tmp_path: Path
) -> None:
    one, other = spaces.of(Caller(workspace="one")), spaces.of(Caller(workspace="other"))
    assert one.directory == tmp_path / "workspaces" / "one"
    assert spaces.of(LOCAL).directory == tmp_path
    assert spaces.of(Caller(workspace="one")) is one
    assert one.engine.assembly.cross_reader is other.engine.assembly.cross_reader
    assert one.engine.assembly.models is other.engine.assembly.models

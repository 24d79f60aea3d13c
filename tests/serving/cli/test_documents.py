"""`fathom vectors`, and the reports of status and doctor on additional embedders."""

import json
from pathlib import Path

import pytest
from tests.embedding_server import EmbeddingAct
from tests.factories import index_fees
from tests.scripted_server import serve
from tests.test_library import LARGE, SMALL, open_with_embedders

from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.index.base import SpaceStatus
from fathom.serving.cli.doctor import diagnose
from fathom.serving.cli.documents import copy, drop_vectors, list_vectors
from fathom.serving.cli.output import format_space

Captured = pytest.CaptureFixture[str]


def test_an_index_is_not_copied_onto_itself(tmp_path: Path) -> None:
    index = index_fees(tmp_path) / "index"
    link = tmp_path / "link"
    link.symlink_to(index)
    for other in (str(index), f"embedded:{index}", f"{index}/../index", str(link)):
        with pytest.raises(UsageError, match="are the same index; name another one"):
            copy(str(index), other)


def test_spaces_are_listed_and_dropped(tmp_path: Path, capsys: Captured) -> None:
    folder = index_fees(tmp_path)
    with (
        serve(EmbeddingAct()) as server,
        open_with_embedders(folder, server, SMALL, LARGE) as engine,
    ):
        engine.ingest()
    index = str(folder / "index")
    list_vectors(str(index))
    output = capsys.readouterr().out
    drop_vectors(SMALL, index)
    dropped = capsys.readouterr().out
    list_vectors(index, as_json=True)

    assert f"{SMALL}: all 1 chunks, 32 numbers each" in output
    assert dropped == f"vectors of {SMALL} dropped\n"
    (remaining,) = json.loads(capsys.readouterr().out)["vectors"]
    assert (remaining["name"], remaining["dimension"], remaining["chunks"]) == (LARGE, 48, 1)


def test_without_spaces_the_list_says_so(tmp_path: Path, capsys: Captured) -> None:
    list_vectors(str(index_fees(tmp_path) / "index"))

    assert capsys.readouterr().out == "no vectors except those of models.embedder\n"


def test_a_space_without_all_vectors_names_the_next_step() -> None:
    space = SpaceStatus(name="e5", identity={}, dimension=384, chunks=2)

    assert format_space(space, 5) == "e5: 2 of 5 chunks; `fathom ingest` makes the rest"


def test_the_doctor_asks_each_embedder(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)

    def list_checks(engine: Engine) -> dict[str, tuple[bool, str]]:
        findings = diagnose(engine, fix=False)
        return {
            finding.name: (finding.ok, finding.detail)
            for finding in findings
            if SMALL in finding.name
        }

    with serve(EmbeddingAct()) as server, open_with_embedders(folder, server, SMALL) as engine:
        assert list_checks(engine) == {f"embedder {SMALL}": (True, "32 numbers a vector")}
    with open_with_embedders(folder, server, SMALL) as engine:
        ((ok, detail),) = list_checks(engine).values()
    assert not ok
    assert "cannot be reached" in detail

"""A manifest lists the training data in hashes, which can be compared without the data."""

import gzip
import json
from pathlib import Path

import pytest
from research.contamination import (
    Manifest,
    fingerprint,
    fingerprint_all,
    load_choices,
    load_manifests,
    locate_manifest,
    read_manifest,
    write_manifest,
)
from tests.training.rivers import ROWS
from training.manifest import CHOSEN, MANIFESTS, make_manifest


def test_a_fingerprint_depends_on_the_words_only() -> None:
    assert fingerprint("Who  was “Éric”?") == fingerprint("who was éric")
    assert fingerprint("Private_school") == fingerprint("Private school")
    assert fingerprint("who is eric") != fingerprint("who was eric")
    assert len(fingerprint("a")) == 10
    assert fingerprint_all(["a", "A.", "", " ?"]) == {fingerprint("a")}


def test_every_part_of_every_row_is_in_the_manifest() -> None:
    manifest = make_manifest(ROWS)
    assert manifest.questions == fingerprint_all(row.question for row in ROWS)
    assert manifest.documents == {fingerprint(row.text) for row in ROWS}
    assert manifest.articles == {fingerprint("Rivers")}
    assert not manifest.systems


def test_a_manifest_is_read_as_it_was_written_and_holds_no_text(tmp_path: Path) -> None:
    manifest = make_manifest(ROWS)
    write_manifest(tmp_path / "a.json.gz", manifest)
    write_manifest(tmp_path / "b.json.gz", make_manifest(ROWS[::-1]))
    assert read_manifest(tmp_path / "a.json.gz") == manifest
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
    content = gzip.decompress((tmp_path / "a.json.gz").read_bytes()).decode()
    assert "river" not in content.casefold()
    write_manifest(tmp_path / "none.json.gz", Manifest(what="nothing"))
    assert read_manifest(tmp_path / "none.json.gz") == Manifest(what="nothing")


def test_a_manifest_is_named_by_its_model(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    named = locate_manifest(tmp_path / "model.onnx", tmp_path)
    (tmp_path / "card.json").write_text(json.dumps({"sha256": named.name[8:18] + "0" * 54}))
    assert locate_manifest(tmp_path / "card.json", tmp_path) == named


def test_all_manifests_and_choices_are_loaded(tmp_path: Path) -> None:
    write_manifest(
        tmp_path / "learned-0.json.gz", Manifest(what="learned", questions=frozenset({"0" * 10}))
    )
    chosen = tmp_path / "chosen.toml"
    chosen.write_text('[a]\nwhat = "a was chosen"\nsystems = ["mao"]\n[a.sets]\nx = "all"\n')
    with pytest.raises(FileNotFoundError, match="chosen-a"):
        list(load_manifests(tmp_path, chosen))
    write_manifest(
        tmp_path / "chosen-a.json.gz", Manifest(what="-", questions=frozenset({"1" * 10}))
    )
    learned, chosen_manifest = load_manifests(tmp_path, chosen)
    assert learned.questions == {"0" * 10}
    assert chosen_manifest == Manifest(
        what="a was chosen", systems=frozenset({"mao"}), questions=frozenset({"1" * 10})
    )


def test_the_shipped_choices_have_manifests() -> None:
    assert load_choices(CHOSEN)
    for name in load_choices(CHOSEN):
        assert read_manifest(MANIFESTS / f"chosen-{name}.json.gz").questions, name

"""A manifest says what was learned from, in hashes that need no data to be compared."""

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
from training.manifest import CHOSEN, MANIFESTS, learned_from


def test_a_fingerprint_is_of_the_words() -> None:
    assert fingerprint("Who  was “Éric”?") == fingerprint("who was éric")
    assert fingerprint("Private_school") == fingerprint("Private school")
    assert fingerprint("who is eric") != fingerprint("who was eric")
    assert len(fingerprint("a")) == 10
    assert fingerprint_all(["a", "A.", "", " ?"]) == {fingerprint("a")}


def test_every_part_of_every_row_is_in_the_manifest() -> None:
    made = learned_from(ROWS)
    assert made.questions == fingerprint_all(row.question for row in ROWS)
    assert made.documents == {fingerprint(row.text) for row in ROWS}
    assert made.articles == {fingerprint("Rivers")}
    assert not made.systems


def test_a_manifest_is_read_as_it_was_written_and_holds_no_text(tmp_path: Path) -> None:
    made = learned_from(ROWS)
    write_manifest(tmp_path / "a.json.gz", made)
    write_manifest(tmp_path / "b.json.gz", learned_from(ROWS[::-1]))
    assert read_manifest(tmp_path / "a.json.gz") == made
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
    told = gzip.decompress((tmp_path / "a.json.gz").read_bytes()).decode()
    assert "river" not in told.casefold()
    write_manifest(tmp_path / "none.json.gz", Manifest(what="nothing"))
    assert read_manifest(tmp_path / "none.json.gz") == Manifest(what="nothing")


def test_a_manifest_is_named_by_its_model(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    named = locate_manifest(tmp_path / "model.onnx", tmp_path)
    (tmp_path / "card.json").write_text(json.dumps({"sha256": named.name[8:18] + "0" * 54}))
    assert locate_manifest(tmp_path / "card.json", tmp_path) == named


def test_all_manifests_are_known_with_what_was_chosen(tmp_path: Path) -> None:
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
    learned, made = load_manifests(tmp_path, chosen)
    assert learned.questions == {"0" * 10}
    assert made == Manifest(
        what="a was chosen", systems=frozenset({"mao"}), questions=frozenset({"1" * 10})
    )


def test_our_choices_have_manifests() -> None:
    assert load_choices(CHOSEN)
    for name in load_choices(CHOSEN):
        assert read_manifest(MANIFESTS / f"chosen-{name}.json.gz").questions, name

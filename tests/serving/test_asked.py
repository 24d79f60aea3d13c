"""Each choice of settings has files of its own."""

from pathlib import Path

from fathom.serving.asked import file_name


def test_a_name_tells_the_settings() -> None:
    assert file_name("rrf", {}) == "rrf"
    assert (
        file_name("rrf", {"rrf.k": "4", "web.provider": "a/b"}) == "rrf@rrf.k=4@web.provider=a%2Fb"
    )


def test_many_settings_have_a_name_that_can_be_a_file(tmp_path: Path) -> None:
    many = {f"section.setting-{n}": "a value of some length" for n in range(20)}
    names = {file_name("rrf", {**many, "rrf.k": k}) for k in "123"}
    assert len(names) == 3
    for name in names:
        (tmp_path / f"{name}.ranked.jsonl").write_text("")
        assert name.startswith("rrf@section.setting-0=")
    assert len(list(tmp_path.iterdir())) == 3

"""Domain files: the shipped ones are valid, and a mistake is one clear line."""

from pathlib import Path

import pytest

from fathom.domains.domain import SHIPPED, ClassRetrieval, load_domain
from fathom.errors import SettingsError, UsageError
from fathom.settings.maf import PHASES
from fathom.text.language import load_stop_words
from fathom.types import Filter

SMALL = """
name = "library"
terms = ["Loan", "loan", "shelf"]

[[classes]]
name = "Loans"
cues = ["borrow", "Due  Date"]
[classes.thresholds]
vor = 0.8
web = 1

[[classes]]
name = "General"

[synonyms]
ILL = ["inter-library loan"]
"""


@pytest.fixture
def domain_file(tmp_path: Path) -> Path:
    return tmp_path / "own.toml"


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_domains_are_valid(name: str) -> None:
    domain = load_domain(name)
    assert domain.name == name
    assert domain.classes[-1].name == "General"
    assert domain.classes[-1].cues == ()
    assert all(question_class.cues for question_class in domain.classes[:-1])
    assert all(set(question_class.thresholds) <= set(PHASES) for question_class in domain.classes)
    assert domain.terms
    # Capitals are not told apart: "IT" would be found in every "it".
    assert domain.synonyms
    assert not set(domain.synonyms) & (load_stop_words("en") | load_stop_words("id"))


def test_the_licensing_domain_has_the_classes_of_the_paper() -> None:
    domain = load_domain("licensing-id")
    names = [question_class.name for question_class in domain.classes]
    assert names == ["Technical", "Procedure", "Licensing", "NIB", "Support", "General"]
    assert any(question_class.thresholds for question_class in domain.classes)
    assert domain.synonyms["siup"] == ("Surat Izin Usaha Perdagangan",)
    assert {"nib", "oss", "kbli", "tdp", "imb", "pbg", "npwp"} <= set(domain.synonyms)


def test_a_user_file_is_read(domain_file: Path) -> None:
    domain_file.write_text(SMALL)
    domain = load_domain(str(domain_file))
    loans, general = domain.classes
    assert (loans.cues, dict(loans.thresholds)) == (("borrow", "due date"), {"vor": 0.8, "web": 1})
    assert (general.cues, dict(general.thresholds)) == ((), {})
    assert domain.terms == ("loan", "shelf")


def test_a_class_may_say_how_its_questions_are_retrieved(domain_file: Path) -> None:
    table = """
[classes.retrieval]
retriever = "keyword"
vor_k = 30
evr_read = 2
lists = 1
filters = { folder = "rules", language = ["en", "id"] }
"""
    domain_file.write_text(SMALL.replace("web = 1\n", f"web = 1\n{table}"))
    loans, general = load_domain(str(domain_file)).classes
    assert loans.retrieval == ClassRetrieval(
        retriever="keyword",
        vor_k=30,
        evr_read=2,
        lists=1,
        filters=(Filter("folder", "=", "rules"), Filter("language", "in", ("en", "id"))),
    )
    assert loans.retrieval.get_numbers() == {"vor_k": 30, "evr_read": 2}
    assert (general.retrieval, general.retrieval.describe()) == (ClassRetrieval(), {})


def test_only_classes_of_the_licensing_domain_have_a_retrieval_of_their_own() -> None:
    """The default domain leaves the retrieval as it is."""
    assert not any(entry.retrieval.describe() for entry in load_domain("generic").classes)
    licensing = {entry.name: entry.retrieval for entry in load_domain("licensing-id").classes}
    assert licensing["Procedure"].lists == 3
    assert licensing["NIB"].retriever == "hybrid"
    assert licensing["General"] == ClassRetrieval()


def test_synonyms_work_in_both_directions(domain_file: Path) -> None:
    domain_file.write_text(
        SMALL + 'IMB = ["izin bangunan", "PBG"]\nPBG = ["persetujuan bangunan"]\n'
    )
    synonyms = load_domain(str(domain_file)).synonyms
    assert synonyms["ill"] == ("inter-library loan",)
    assert synonyms["inter-library loan"] == ("ILL",)
    assert synonyms["pbg"] == ("IMB", "izin bangunan", "persetujuan bangunan")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("empty",)),
        ("# nothing but a comment\n", ("empty",)),
        ("name = ", ("not TOML", "Invalid value")),
        ("x = " + "[" * 5000, ("not TOML",)),
        ('name = "x"', ("'classes'", "missing")),
        ('name = "x"\nclasses = []', ("classes",)),
        ('name = "x"\nclasses = "General"', ("classes", "list")),
        ('name = ""\n[[classes]]\nname = "G"', ("name", "at least 1 character")),
        ('name = 5\n[[classes]]\nname = "G"', ("name = 5", "string")),
        ('name = "x"\n[[classes]]\ncues = []', ("'classes.0.name'", "missing")),
        ('name = "x"\ncolour = 1\n[[classes]]\nname = "G"', ("unknown key 'colour'",)),
        ('name = "x"\n[[classes]]\nname = "G"\ncue = []', ("unknown key 'classes.0.cue'",)),
        ('name = "x"\n[[classes]]\nname = "G"\ncues = "a"', ("classes.0.cues", "list")),
        ('name = "x"\n[[classes]]\nname = "G"\ncues = [1]', ("classes.0.cues.0 = 1", "string")),
        ('name = "x"\n[[classes]]\nname = "G"\ncues = [" "]', ("classes.0.cues.0",)),
        (SMALL.replace("vor = 0.8", "vor = 1.01"), ("classes.0.thresholds.vor = 1.01", "to 1")),
        (SMALL.replace("vor = 0.8", "vor = -0.1"), ("classes.0.thresholds.vor = -0.1", "to 0")),
        (SMALL.replace("vor = 0.8", "vor = nan"), ("classes.0.thresholds.vor = nan",)),
        (SMALL.replace("vor = 0.8", 'vor = "0.8"'), ("classes.0.thresholds.vor", "number")),
        (SMALL.replace("vor = 0.8", "vor = true"), ("classes.0.thresholds.vor", "number")),
        (SMALL.replace("vor = 0.8", "first = 0.8"), ("classes.0.thresholds.first", "'vor'")),
        (SMALL.replace("web = 1", "[classes.retrieval]\nk = 3"), ("'classes.0.retrieval.k'",)),
        (SMALL.replace("web = 1", "[classes.retrieval]\nvor_k = 0"), ("retrieval.vor_k = 0",)),
        (SMALL.replace("web = 1", '[classes.retrieval]\nretriever = "x"'), ("'x'", "keyword")),
        (SMALL.replace("web = 1", "[classes.retrieval]\nfilters = 1"), ("retrieval.filters",)),
        (SMALL + 'OPAC = "catalogue"', ("synonyms.OPAC", "list")),
        (SMALL + "OPAC = []", ("synonyms.OPAC", "at least 1")),
        (SMALL + 'ill = ["unwell"]', ("synonyms", "'ill'", "twice")),
        (SMALL.replace('"General"', '"Loans"'), ("classes.name", "'Loans'", "twice")),
        (SMALL.replace('"borrow"', '"due date"'), ("classes.cues", "'due date'", "twice")),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(
    domain_file: Path, text: str, parts: tuple[str, ...]
) -> None:
    domain_file.write_text(text)
    with pytest.raises(SettingsError) as raised:
        load_domain(str(domain_file))
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 300 + len(str(domain_file))
    for part in (str(domain_file), *parts):
        assert part in message


def test_a_missing_domain_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    for name in ("nowhere", "", str(tmp_path), "a\0b"):
        with pytest.raises(UsageError, match=r"domain\.file") as raised:
            load_domain(name)
        assert raised.value.exit_code == 2
        assert "\n" not in str(raised.value)
    with pytest.raises(SettingsError, match="generic, licensing-id"):
        load_domain("licensing")


def test_a_byte_order_mark_is_no_part_of_a_domain(domain_file: Path) -> None:
    domain_file.write_text(SMALL)
    expected = load_domain(str(domain_file))
    domain_file.write_text(SMALL, encoding="utf-8-sig")
    assert load_domain(str(domain_file)) == expected


def test_other_encodings_are_refused(domain_file: Path) -> None:
    domain_file.write_bytes('name = "caf\xe9"'.encode("latin-1"))
    with pytest.raises(SettingsError, match="cannot be read"):
        load_domain(str(domain_file))

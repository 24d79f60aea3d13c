from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.text.analyzer import MAX_TERM_CHARS, Analyzer


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer()


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Running runners", "en", ["run", "runner"]),
        ("bukunya dibaca", "id", ["buku", "baca"]),
        ("anak-anak", "id", ["anak-anak", "anak"]),
        ("1.250.000,50", "id", ["1.250.000,50", "1250000,50"]),
        ("pi is 3.14", "en", ["pi", "is", "3.14"]),
        ("in 2024.", "en", ["in", "2024"]),
        ("ISO-9001", "en", ["iso-9001", "iso", "9001"]),
        ("error_code", "en", ["error_code", "error", "code"]),
        ("k8s v1.2.3", "en", ["k8s", "v1.2.3", "v1", "2", "3"]),
        ("me@mail.org", "en", ["me@mail.org", "me", "mail", "org"]),
        ("Café", "en", ["café", "cafe"]),
        ("the company\u2019s", "en", ["the", "compani"]),
        ("\ufb01le", "en", ["file"]),
        ("x\u0304 = 5", "en", ["x\u0304", "x", "5"]),
        ("हिन्दी", "en", ["हिन्दी", "हिनदी"]),
        ("\u0130stanbul", "en", ["i\u0307stanbul", "istanbul"]),
        ("istanbul", "en", ["istanbul"]),
        ("Straße STRASSE", "en", ["strass", "strass"]),
        ("infor\u00admation", "en", ["inform"]),
        ("1\ufe0f\u20e3", "en", ["1"]),
        ("", "en", []),
        ("?!", "en", []),
    ],
)
def test_terms_of_documents_are_stems(
    analyzer: Analyzer, text: str, language: str, expected: list[str]
) -> None:
    assert analyzer.list_document_terms(text, language) == expected


def test_a_mark_ends_a_word_in_scripts_without_blanks_between_words(analyzer: Analyzer) -> None:
    # A whole sentence of Thai would be one word otherwise.
    assert analyzer.list_document_terms("\u0e17\u0e35\u0e48\u0e19\u0e35\u0e48", "en") == [
        "\u0e17",
        "\u0e19",
    ]


def test_a_query_is_stemmed_in_both_languages(analyzer: Analyzer) -> None:
    assert {"buku", "bukunya"} <= analyzer.count_query_terms("bukunya").keys()
    assert analyzer.count_query_terms("cats cats") == {"cat": 2, "cats": 2}


def test_stop_words_leave_queries_but_not_their_negations(analyzer: Analyzer) -> None:
    assert analyzer.count_query_terms("what is the gate") == {"gate": 1}
    assert "not" in analyzer.count_query_terms("when not to open the gate")
    assert "tidak" in analyzer.count_query_terms("gerbang yang tidak dibuka")
    assert "who" in analyzer.count_query_terms("advice of the WHO")
    assert analyzer.count_query_terms("to be or to have").keys() >= {"be", "have"}


@given(text=st.text(max_size=200), language=st.sampled_from(["en", "id", "und"]))
def test_a_query_finds_the_words_it_was_taken_from(text: str, language: str) -> None:
    analyzer = Analyzer()
    document = set(analyzer.list_document_terms(text, language))
    assert bool(document) == bool(analyzer.count_query_terms(text))
    assert all(0 < len(term) <= MAX_TERM_CHARS and not term.isspace() for term in document)
    assert not any(" " in term or "\n" in term for term in document)
    assert analyzer.count_query_terms(text).keys() & document or not document


def test_threads_share_one_analyzer(analyzer: Analyzer) -> None:
    texts = [f"word{number} running bukunya" for number in range(400)]
    alone = [analyzer.list_document_terms(text, "en") for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: Analyzer().list_document_terms(text, "en"), texts))
        shared = list(pool.map(lambda text: analyzer.list_document_terms(text, "en"), texts))
    assert alone == together == shared

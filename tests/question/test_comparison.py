import pytest

from fathom.question.comparison import (
    drop_shared_words,
    list_options,
    parse_comparison,
)

COMPARED = (
    (
        "Who was born first, Ana Silva or Nora Berg?",
        "least",
        ("When was Ana Silva born?", "When was Nora Berg born?"),
    ),
    (
        "Which band formed later, Swervers or The Incubi?",
        "most",
        ("When was Swervers formed?", "When was The Incubi formed?"),
    ),
    (
        "Are Ana Silva and Nora Berg of the same nationality?",
        "same",
        ("What is the nationality of Ana Silva?", "What is the nationality of Nora Berg?"),
    ),
    (
        "Are both Ana Silva and Nora Berg painters?",
        "every",
        ("Is Ana Silva a painter?", "Is Nora Berg a painter?"),
    ),
    (
        "Were Ana Silva and Nora Berg both American directors from Ohio?",
        "every",
        (
            "Was Ana Silva an American director from Ohio?",
            "Was Nora Berg an American director from Ohio?",
        ),
    ),
    (
        "Are Hamar and Lom both located in Norway?",
        "every",
        ("Is Hamar located in Norway?", "Is Lom located in Norway?"),
    ),
    (
        "Were Dune and Solaris published by the same house?",
        "same",
        ("What house was Dune published by?", "What house was Solaris published by?"),
    ),
    (
        "Which writer was educated in London, Ana Silva or Nora Berg?",
        "one",
        ("Was Ana Silva educated in London?", "Was Nora Berg educated in London?"),
    ),
    (
        "Which person went into space at a later date, Ana Silva or Nora Berg?",
        "most",
        ("When Ana Silva went into space?", "When Nora Berg went into space?"),
    ),
    (
        "Who lived longer, Ana Silva or Nora Berg?",
        "longest",
        (
            "When was Ana Silva born, and when did Ana Silva die?",
            "When was Nora Berg born, and when did Nora Berg die?",
        ),
    ),
    (
        "Siapa yang hidup lebih singkat, Chairil Anwar atau Amir Hamzah?",
        "shortest",
        (
            "Kapan Chairil Anwar lahir, dan kapan Chairil Anwar meninggal?",
            "Kapan Amir Hamzah lahir, dan kapan Amir Hamzah meninggal?",
        ),
    ),
    (
        "Between Oslo and Bergen, which city has more people?",
        "most",
        ("What is the population of Oslo?", "What is the population of Bergen?"),
    ),
    (
        "What profession is shared by both Ana Silva and Nora Berg?",
        "each",
        ("What profession is shared by Ana Silva?", "What profession is shared by Nora Berg?"),
    ),
    (
        "Which is older, Oslo, Bergen, or Tromso?",
        "least",
        ("When was Oslo born?", "When was Bergen born?", "When was Tromso born?"),
    ),
    (
        "Siapa yang lahir lebih dulu, Chairil Anwar atau Amir Hamzah?",
        "least",
        ("Kapan Chairil Anwar lahir?", "Kapan Amir Hamzah lahir?"),
    ),
    (
        "Mana yang didirikan lebih awal, Universitas Indonesia atau Universitas Gadjah Mada?",
        "least",
        (
            "Kapan Universitas Indonesia didirikan?",
            "Kapan Universitas Gadjah Mada didirikan?",
        ),
    ),
)
MEASURED = (
    ("Which mountain is taller, Galdhop or Glitter?", "most", "How tall is Galdhop?"),
    ("Which river is longer, the Glomma or the Tana?", "most", "How long is the Glomma?"),
    ("Mana yang lebih tinggi, Semeru atau Rinjani?", "most", "Berapa tinggi Semeru?"),
    (
        "Which genus has the most species, Rubus or Salix?",
        "most",
        "How many species does Rubus have?",
    ),
    ("Which of the two lies in Norway, Hamar or Lom?", "one", None),
    ("What profession did Ana Silva and Nora Berg both hold?", "each", None),
)
NOT_COMPARED = (
    "Who won a prize with Ana Silva and Nora Berg?",
    "Who wrote Dune?",
    "Where do I pay the fee and the tax?",
    "🙂",
)


@pytest.mark.parametrize(("question", "want", "questions"), COMPARED)
def test_each_side_gets_its_own_question(
    question: str, want: str, questions: tuple[str, ...]
) -> None:
    comparison = parse_comparison(question)
    assert comparison is not None
    assert (comparison.want, comparison.questions) == (want, questions)
    assert all(option in question for option in comparison.options)


@pytest.mark.parametrize(("question", "want", "first"), MEASURED)
def test_comparable_properties_are_recognised(question: str, want: str, first: str | None) -> None:
    comparison = parse_comparison(question)
    assert comparison is not None
    assert comparison.want == want
    assert first in {None, comparison.questions[0]}


@pytest.mark.parametrize("question", NOT_COMPARED)
def test_other_questions_compare_nothing(question: str) -> None:
    assert parse_comparison(question) is None


def test_the_number_of_compared_things_is_bounded() -> None:
    comparison = parse_comparison("Which is older, Oslo, Bergen, or Tromso?")
    assert comparison is not None
    assert len(comparison.options) == len(comparison.questions) == 3
    assert comparison.keep_first(2).options == ("Oslo", "Bergen")
    assert comparison.keep_first(2).questions == comparison.questions[:2]


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Which is older, the harbour office or the mill?", ("the harbour office", "the mill")),
        ("Who sang in Soulfly, Max Cavalera or Billy Idol?", ("Max Cavalera", "Billy Idol")),
        ("In 2024, who pays more, residents or visitors?", ("residents", "visitors")),
        ("Mana yang lebih murah, gerobak atau kontainer?", ("gerobak", "kontainer")),
        ("Which is longest, a skip, a cart or a van?", ("a skip", "a cart", "a van")),
        ("Which fee is for residents, students or visitors?", ()),
        ("Where do I pay, at the office or at the mill?", ()),
        ("Which permit is valid for 3 years?", ()),
    ],
)
def test_options_of_a_question_are_extracted(question: str, options: tuple[str, ...]) -> None:
    assert list_options(question) == options


def test_things_without_names_are_compared_too() -> None:
    comparison = parse_comparison("Which is cheaper, the mooring permit or the fishing permit?")
    assert comparison is not None
    assert comparison.want == "least"
    assert comparison.questions == (
        "How much does the mooring permit cost?",
        "How much does the fishing permit cost?",
    )
    assert parse_comparison("Which is older, the office or the mill?") is None


def test_options_are_distinguished_by_words_they_do_not_share() -> None:
    phones, computers = frozenset({"phone", "net", "sale"}), frozenset({"mac", "net", "sale"})
    assert drop_shared_words([phones, computers]) == [{"phone"}, {"mac"}]
    assert drop_shared_words([frozenset({"skip"}), frozenset({"cart"})]) == [{"skip"}, {"cart"}]
    short = frozenset({"sale"})
    assert drop_shared_words([phones, short]) == [{"phone", "net"}, short]
    assert drop_shared_words([frozenset(), short]) == [short]
    assert drop_shared_words([]) == []


@pytest.mark.parametrize(
    ("question", "questions"),
    [
        (
            "Is the Mill Bridge older than the Harbour Bridge?",
            ("When did the Mill Bridge open?", "When did the Harbour Bridge open?"),
        ),
        (
            "Which church is older, Old Oslo or New Bergen?",
            ("When was Old Oslo built?", "When was New Bergen built?"),
        ),
        (
            "Which is older, the old mill or the new mill?",
            ("When was the old mill built?", "When was the new mill built?"),
        ),
        (
            "Which is younger, Harvard University or Oxford University?",
            ("When was Harvard University founded?", "When was Oxford University founded?"),
        ),
        (
            "Which film is older, Jaws or Alien?",
            ("When was Jaws released?", "When was Alien released?"),
        ),
        (
            "Mana yang lebih tua, Jembatan Ampera atau Jembatan Suramadu?",
            ("Kapan Jembatan Ampera dibuka?", "Kapan Jembatan Suramadu dibuka?"),
        ),
        (
            "Who is older, Alonzo Church or Alan Turing?",
            ("When was Alonzo Church born?", "When was Alan Turing born?"),
        ),
        (
            "Which film director is older, Ada Cole or Bob Dean?",
            ("When was Ada Cole born?", "When was Bob Dean born?"),
        ),
        (
            "Is Alonzo Church older than Ada Cole?",
            ("When was Alonzo Church born?", "When was Ada Cole born?"),
        ),
    ],
)
def test_the_age_of_a_thing_is_that_of_its_beginning(
    question: str, questions: tuple[str, ...]
) -> None:
    comparison = parse_comparison(question)
    assert comparison is not None
    assert comparison.questions == questions


@pytest.mark.parametrize(
    ("question", "questions"),
    [
        (
            "Were Alan Turing and Alonzo Church European mathematicians?",
            (
                "Was Alan Turing a European mathematician?",
                "Was Alonzo Church a European mathematician?",
            ),
        ),
        (
            "Are both Ana Silva and Nora Berg American?",
            ("Is Ana Silva American?", "Is Nora Berg American?"),
        ),
        ("Is Dappy or Nora Berg German?", ("Is Dappy German?", "Is Nora Berg German?")),
        (
            "Are Swiftair and Pan American airlines?",
            ("Is Swiftair an airline?", "Is Pan American an airline?"),
        ),
        (
            "Are Being Very Polish and Lom both films?",
            ("Is Being Very Polish a film?", "Is Lom a film?"),
        ),
    ],
)
def test_words_of_origin_behind_the_last_name_are_no_part_of_it(
    question: str, questions: tuple[str, ...]
) -> None:
    comparison = parse_comparison(question)
    assert comparison is not None
    assert comparison.questions == questions


@pytest.mark.parametrize(
    ("kind", "singular"),
    [
        ("universities", "a university"),
        ("hour-long films", "an hour-long film"),
        ("US states", "a US state"),
        ("horror movies", "a horror movie"),
        ("television series", "a television series"),
        ("members of bands", "a member of bands"),
        ("used for hunting in packs", "used for hunting in packs"),
    ],
)
def test_the_kind_of_one_option_is_singular(kind: str, singular: str) -> None:
    comparison = parse_comparison(f"Are Hamar and Lom both {kind}?")
    assert comparison is not None
    assert comparison.questions == (f"Is Hamar {singular}?", f"Is Lom {singular}?")


def test_a_quoted_title_is_one_option_whatever_it_holds() -> None:
    comparison = parse_comparison('Are both "Tom and Ann Get Lost" and Solaris films?')
    assert comparison is not None
    assert comparison.options == ("Tom and Ann Get Lost", "Solaris")
    assert comparison.questions == ('Is "Tom and Ann Get Lost" a film?', "Is Solaris a film?")

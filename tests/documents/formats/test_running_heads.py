"""Text printed on every page is no part of the document."""

from fathom.documents.formats.running_heads import remove_running_heads, select_body_lines


def make_page(number: int, *body: str) -> str:
    return "\n".join(
        [f"RFC 1   Rules   May 19{number}", "", *body, "", f"Ann          [Page {number}]"]
    )


def test_headers_and_footers_between_form_feeds_are_left_out() -> None:
    text = "\f\n".join(
        make_page(n, f"The rule {n}.", "", "It holds.", "", "It does.") for n in (1, 2, 3)
    )
    assert remove_running_heads(text) == (
        "The rule 1.\n\nIt holds.\n\nIt does.\n\n"
        "The rule 2.\n\nIt holds.\n\nIt does.\n\n"
        "The rule 3.\n\nIt holds.\n\nIt does."
    )


def test_a_sentence_across_pages_is_one() -> None:
    pages = (
        make_page(1, "One.", "Two.", "It is"),
        make_page(2, "long.", "B.", "C."),
        make_page(3, "D", "E", "F"),
    )
    assert "It is\nlong." in remove_running_heads("\f".join(pages))


def test_a_few_pages_are_left_unchanged() -> None:
    two = [["Report", "a", "b", "1"], ["Report", "c", "d", "2"]]
    assert select_body_lines(two) == [[0, 1, 2, 3]] * 2
    assert select_body_lines([*two, ["Report", "e", "f", "3"]]) == [[1, 2]] * 3


def test_a_page_number_below_a_letterhead_is_left_out() -> None:
    pages = [
        ["PRESIDENT", "REPUBLIC", f"- {n} -", f"Article {n}", "It holds.", f"It {word}s.", word]
        for n, word in ((2, "do"), (3, "go"), (4, "be"))
    ]
    assert select_body_lines(pages) == [[3, 4, 5, 6]] * 3
    same = [["PRESIDENT", "REPUBLIC", "Article", "It holds.", "So", n, 2 * n] for n in "xyz"]
    assert (
        select_body_lines(same) == [[2, 3, 4, 5, 6]] * 3
    )  # what is no number is not peeled off further


def test_catchwords_at_the_foot_of_a_page_are_left_out() -> None:
    first_page = ["One holds.", "Two holds.", "(2) The council ..."]
    two = ["(2) The Council meets.", "It votes.", "CHAPTER II . . ."]
    three = ["CHAPTER II AIMS", "They are many ..."]
    assert select_body_lines([first_page, two, three]) == [[0, 1], [0, 1], [0, 1]]
    assert select_body_lines([["And so on ..."], ["And so on it went."]]) == [[0], [0]]


def test_a_page_never_loses_all_its_text() -> None:
    assert select_body_lines([["Report"], ["Report"], ["Report"]]) == [[0]] * 3


def test_header_and_footer_of_a_manual_page_are_left_out() -> None:
    text = (
        "GIT-BISECT(1)\t\t\t  Git Manual\t\t\t GIT-BISECT(1)\n\nNAME\n"
        "       git-bisect - Use binary search, see git(1)\n       git-log(1), git-bisect(1)\n\n"
        "Git 2.39.5\t\t\t  10/07/2025\t\t\t GIT-BISECT(1)\n"
    )
    assert remove_running_heads(text).strip() == (
        "NAME\n       git-bisect - Use binary search, see git(1)\n       git-log(1), git-bisect(1)"
    )
    assert remove_running_heads("Read this.   LS(1)\n") == "Read this.   LS(1)\n"

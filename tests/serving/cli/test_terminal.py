"""Control characters of documents never reach the terminal."""

from fathom.serving.cli.terminal import add_links
from fathom.serving.invisible import replace_controls


def test_control_characters_of_documents_do_not_reach_the_terminal() -> None:
    assert replace_controls("a\x1b[2Jb\nc\td\x07\u202e") == "a\ufffd[2Jb\nc\td\ufffd\ufffd"


def test_a_link_brings_no_commands_of_a_document_to_the_terminal() -> None:
    linked = add_links("a\ufffdb", {"a\x1bb": "https://a.example/\x1b]8;;x"})
    assert linked.count("\x1b") == 4  # those of the link itself
    assert "https://a.example/\ufffd]8;;x" in linked


def test_spaces_and_joiners_that_are_seen_stay() -> None:
    for text in (
        "12\u00a0000\u202fkm",
        "東京\u3000駅",
        "\u0645\u06cc\u200c\u062e\u0648\u0627",
        "👩\u200d💻",
        "ac\u00adcord",
    ):
        assert replace_controls(text) == text

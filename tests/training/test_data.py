import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.training.rivers import make_row
from training.cross_reader.data import Unseen, list_windows, load, select_new
from training.cross_reader.rows import Row


def make_plain(text: str, question: str = "?", title: str = "") -> Row:
    return Row(source="s", group="g", question=question, title=title, text=text)


def test_overlaps_with_development_texts_are_detected() -> None:
    unseen = Unseen([make_row("Oslo", "x")])
    copy = "Before. " + make_row("Oslo", "x").text + " After."

    assert not unseen.allows(make_plain(copy))
    assert not unseen.allows(make_plain("new", title="rivers"))
    assert not unseen.allows(make_plain("new", question=make_row("Oslo", "x").question.upper()))
    assert unseen.allows(make_plain("The river that"))


def test_a_short_text_has_windows() -> None:
    assert list_windows("Two words") == ["two words"]
    assert len(list_windows("a b c d e f g h i j")) == 2


def make_titled(group: str, title: str, text: str) -> Row:
    return Row(source="s", group=group, question=f"{title}?", title=title, text=text)


def test_generated_rows_on_what_our_own_development_rows_are_on_are_left_out() -> None:
    held = [
        make_titled("written", "apt", "The list of sources is read again by the update command.")
    ]
    copied = make_titled("generated", "apt-get", f"{held[0].text} Then it ends.")
    other = make_titled("generated", "dpkg", "It unpacks what it is given.")
    public = make_titled("squad", "Apt", held[0].text)

    assert select_new([copied, other, public], held) == [other, public]


def write_lines(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))


def test_reported_questions_and_their_documents_are_excluded(tmp_path: Path) -> None:
    folder = tmp_path / "facqa-id"
    write_lines(folder / "queries.jsonl.gz", [{"_id": "q", "text": "Siapa dia?"}])
    write_lines(
        folder / "corpus.jsonl.gz",
        [{"_id": "d", "title": "", "text": "Dia Ani."}, {"_id": "e", "title": "", "text": "Lain."}],
    )
    (folder / "qrels.tsv").write_text("query\tdocument\tscore\nq\td\t1\n")
    unseen = Unseen([])
    unseen.add_reported(tmp_path)

    assert not unseen.allows(make_plain("x", question="siapa DIA"))
    assert not unseen.allows(make_plain("dia: ani"))
    assert unseen.allows(make_plain("Lain."))


def test_loading_splits_and_keeps_the_requested_groups(tmp_path: Path) -> None:
    lines = [
        {
            "title": f"T{number}",
            "context": f"The {number} hall is old.",
            "question": f"The {number} hall is old.",
            "source": "snli-dev",
            "task": "nli",
            "label": "supported",
        }
        for number in range(200)
    ]
    write_lines(tmp_path / "reader-train-nli" / "reader_train.jsonl.gz", lines)
    for name in ("powershell-howto", "tldr-commands"):
        folder = tmp_path / name
        texts = [{"_id": str(n), "title": "", "text": f"Command {n}"} for n in range(20)]
        write_lines(folder / "corpus.jsonl.gz", texts)
        write_lines(folder / "queries.jsonl.gz", texts)
        (folder / "qrels.tsv").write_text(
            "q\td\ts\n" + "\n".join(f"{n}\t{n}\t1" for n in range(20))
        )

    split = load(tmp_path, ["nli", "yesno-made"])

    assert {row.group for row in split.train} == {"nli", "yesno-made"}
    assert {row.group for row in split.development} == {"nli", "yesno-made"}
    assert len(split.train) + len(split.development) == 400
    assert not {row.text for row in split.train} & {row.text for row in split.development}

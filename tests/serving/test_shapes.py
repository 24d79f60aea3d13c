"""The JSON of every surface."""

import json

from fathom.serving.shapes import replace_invisible, serialize_hits
from fathom.types import Chunk, Hit, Place, Span

CHUNK = Chunk(id="d1#0", document_id="d1", text="It costs 4", span=Span(3, 13), ordinal=0)
HIT = Hit(chunk=CHUNK, score=0.5, rank=1, retriever="hybrid")
PLACE = Place(path="/c/fees.pdf", title="Fees", section="Moorings", page=2, line=7)


def test_the_json_of_hits_has_the_promised_keys() -> None:
    serialized = serialize_hits("cost", [HIT], [PLACE])
    assert serialized["query"] == "cost"
    assert serialized["hits"] == [
        {
            "rank": 1,
            "score": 0.5,
            "document": "d1",
            "chunk": "d1#0",
            "path": "/c/fees.pdf",
            "title": "Fees",
            "section": "Moorings",
            "page": 2,
            "line": 7,
            "recognised": None,
            "start": 3,
            "end": 13,
            "text": "It costs 4",
        }
    ]


def test_invisible_characters_are_replaced_one_for_one() -> None:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    hidden = f"a\x1b[2Jb\u202ec\u200bd\ufeff{tags}\ud800\x9b\x00"
    replaced = replace_invisible(hidden)
    assert len(replaced) == len(hidden)
    assert replaced == "a\ufffd[2Jb\ufffdc\ufffdd" + "\ufffd" * (1 + len(tags) + 3)
    assert replace_invisible("line\r\nnext\fpage\u2028end") == "line \nnext page end"


def test_letters_of_all_scripts_stay() -> None:
    visible = "na\u00efve caf\u00e9\u00a0\u2013 5\u00adm\t\n"
    visible += "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f527"
    assert replace_invisible(visible) == visible


def test_every_text_of_an_object_is_checked() -> None:
    nested = {"a\x07": ["\x1b", {"b": ("\x1b", 1, None, True, 0.5)}]}
    assert replace_invisible(nested) == {
        "a\ufffd": ["\ufffd", {"b": ["\ufffd", 1, None, True, 0.5]}]
    }
    assert json.dumps(replace_invisible(nested))

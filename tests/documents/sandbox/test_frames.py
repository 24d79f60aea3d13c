import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal, RecordFailure
from fathom.documents.sandbox.frames import LENGTHS, Frame, decode_frame, encode_frame
from fathom.types import Block, Span


def send_frame(frame: Frame) -> Frame:
    data = encode_frame(frame)
    head, text = LENGTHS.unpack(data[: LENGTHS.size])
    body = data[LENGTHS.size :]
    assert len(body) == head + text
    return decode_frame(body[:head], body[head:])


def test_values_are_received_as_they_were_sent() -> None:
    builder = Builder()
    builder.set_page(3)
    builder.add_heading("Überschrift", 1)
    builder.add_paragraph("Ein Satz \U0001f600.")
    builder.set_sureness(0.875)
    builder.add_paragraph("Read off a picture.")
    parsed = builder.build("Titel", {"year": 2020, "open": True, "rate": 0.5, "by": "A"})
    failure = RecordFailure(line=7, outcome="empty", reason="nothing", record="r")
    parsed = replace(parsed, unread="page 3 of 4 without text")
    frame = send_frame(Frame(values=(parsed, failure), page=2, pages=7))
    assert frame.values == (parsed, failure)
    assert parsed.blocks[-1].recognised == 0.875
    assert (frame.page, frame.pages) == (2, 7)
    assert not frame.done


def test_a_refusal_is_received() -> None:
    frame = send_frame(Frame(done=True, refused=ParseRefusal("encrypted", "locked"), peak_bytes=5))
    assert frame.refused is not None
    assert (frame.refused.outcome, frame.refused.reason) == ("encrypted", "locked")
    assert (frame.done, frame.peak_bytes) == (True, 5)


def test_long_titles_and_deep_headings_of_any_reader_are_cut() -> None:
    block = Block(kind="paragraph", span=Span(0, 1), headings=("h" * 1000,) * 50)
    sent = ParsedDocument(text="a", title="t" * 1000, blocks=(block,))
    (value,) = send_frame(Frame(values=(sent,))).values
    assert isinstance(value, ParsedDocument)
    assert (value.title, value.blocks[0].headings) == ("t" * 300, ("h" * 300,) * 16)


@given(st.lists(st.text()))
def test_any_texts_can_be_sent(texts: list[str]) -> None:
    values = tuple(ParsedDocument(text=text) for text in texts)
    expected = [text.encode("utf-8", "replace").decode() for text in texts]
    assert [
        v.text for v in send_frame(Frame(values=values)).values if isinstance(v, ParsedDocument)
    ] == expected


def test_lone_surrogate_becomes_a_question_mark() -> None:
    (value,) = send_frame(Frame(values=(ParsedDocument(text="a\ud800b", title="\udfff"),))).values
    assert isinstance(value, ParsedDocument)
    assert (value.text, value.title) == ("a?b", "?")


GOOD = {
    "size": 3, "title": "", "metadata": {}, "record": None, "paths": [[]],
    "blocks": [1, 0, 3, 0, 0, 0],
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"size": 2},
        {"size": -3},
        {"size": True},
        {"title": 5},
        {"metadata": {"a": [1]}},
        {"metadata": []},
        {"paths": [[1]]},
        {"blocks": [1, 0, 4, 0, 0, 0]},
        {"blocks": [1, 2, 1, 0, 0, 0]},
        {"blocks": [99, 0, 3, 0, 0, 0]},
        {"blocks": [1, 0, 3, 9, 0, 0]},
        {"blocks": [1, 0, 3, 0, 0, 1002]},
        {"unread": 5},
        {"blocks": [1, 0, 3]},
        {"blocks": ["1", 0, 3, 0, 0, 0]},
        {"record": 1},
    ],
)
def test_a_damaged_frame_is_detected(change: dict[str, object]) -> None:
    head = {"values": [GOOD | change], "done": False, "peak": 0}
    with pytest.raises(ValueError, match=r"frame|unpack"):
        decode_frame(json.dumps(head).encode(), b"abc")


@pytest.mark.parametrize("head", [b"", b"[]", b"{}", b"nonsense", b"[" * 100_000, b'{"values": 1}'])
def test_nonsense_is_detected(head: bytes) -> None:
    with pytest.raises(ValueError):
        decode_frame(head, b"")


def test_an_invented_outcome_is_detected() -> None:
    head = {"values": [], "done": True, "peak": 0, "refused": ["ok", "fine"]}
    with pytest.raises(ValueError, match="outcome"):
        decode_frame(json.dumps(head).encode(), b"")


@pytest.mark.parametrize("more", [{}, {"line": 1, "refused": ["empty", "nothing"]}])
def test_an_id_that_no_corpus_file_gives_is_detected(more: dict[str, object]) -> None:
    for record, why in (("x/../y", "part of a path"), ("0" * 16, "id of a file")):
        head = {"values": [GOOD | {"record": record} | more], "done": False, "peak": 0}
        with pytest.raises(ValueError, match=why):
            decode_frame(json.dumps(head).encode(), b"abc")

import codecs
import json
from pathlib import Path

import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.decode import decode_legacy, decode_markup, decode_text

TEXT = "Überprüfung naïve café €"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (TEXT.encode(), TEXT),
        (codecs.BOM_UTF8 + TEXT.encode(), TEXT),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), TEXT),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), TEXT),
        (codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"), TEXT),
        (TEXT.encode("utf-16-le"), TEXT),
        (TEXT.encode("utf-16-be"), TEXT),
        (b"nul\x00s\x00 dropped", "nuls dropped"),
        ("é".encode() * 100 + b"\xff", "é" * 100 + "\ufffd"),
        (b"", ""),
    ],
)
def test_encodings_are_decoded(data: bytes, expected: str) -> None:
    assert decode_text(data) == expected


@pytest.mark.parametrize("data", [bytes(range(256)) * 10, b"\x00" * 100, b"\x01\x02abc"])
def test_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(ParseRefusal, match="binary") as refusal:
        decode_text(data)
    assert refusal.value.outcome == "no_document"


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="shift_jis">', "shift_jis"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=euc-kr">', "euc-kr"),
        ('<?xml version="1.0" encoding="gb18030"?>', "gb18030"),
    ],
)
def test_a_declared_encoding_is_believed(head: str, encoding: str) -> None:
    words = {"shift_jis": "日本語の文", "euc-kr": "한국어 문장", "gb18030": "中文句子"}[encoding]
    assert decode_markup((head + words).encode(encoding)) == head + words


def test_a_declared_encoding_is_not_believed_against_the_bytes() -> None:
    page = '<meta charset="iso-8859-1"><p>Überprüfung</p>'
    assert decode_markup(page.encode()) == page
    unknown = '<meta charset="nonsense"><p>Das Gebäude für die Prüfung</p>'
    assert decode_markup(unknown.encode("cp1252")) == unknown


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "El niño comió el año pasado, ¿qué?"),
        ("cp1252", "Das Gebäude für die Prüfung größer"),
        ("cp1252", "it’s “fine” – ok"),  # noqa: RUF001 - the marks are the point
        ("cp1252", "café"),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy"),
        ("cp1251", "Привет мир, как дела сегодня"),
        ("cp866", "Привет мир, как дела сегодня"),
        ("koi8-r", "Привет мир, как дела сегодня"),
        ("cp1253", "Καλημέρα κόσμε τι κάνεις"),
        ("cp850", "Das Gebäude für die Prüfung"),
        ("mac_roman", "Das Gebäude für die Prüfung"),
        ("cp500", "Hello World, this is plain text in EBCDIC."),
    ],
)
def test_the_encoding_is_reported(encoding: str, text: str) -> None:
    assert decode_legacy(text.encode(encoding)) == text


JAPANESE = "これは手数料の表です。ごみの収集は毎週月曜日です。料金は一日あたり四十円です。"
PROSE = {
    "shift_jis": JAPANESE,
    "euc-jp": JAPANESE,
    "gbk": "垃圾收集在每个星期一进行。费用为四十克朗。有关详细信息请联系市政府办公室。",
    "big5": "垃圾收集在每個星期一進行。費用為四十克朗。有關詳細信息請聯繫市政府辦公室。",
    "euc-kr": "쓰레기는 매주 월요일에 수거됩니다. 수수료는 사십 크로네입니다. 문의하십시오.",
}


@pytest.mark.parametrize("encoding", PROSE)
def test_east_asian_encodings_are_detected(encoding: str) -> None:
    text = f"Fees 2024\n{PROSE[encoding]}\n"
    assert decode_text(text.encode(encoding)) == text
    page = f'<html><head><meta charset="utf-8"></head><p>{PROSE[encoding]}</p></html>'
    assert decode_markup(page.encode(encoding)) == page


def test_the_first_lines_of_a_long_text_determine_the_encoding() -> None:
    text = f"{PROSE['shift_jis']}\n" * 2_000
    assert decode_text(text.encode("shift_jis")) == text


def test_the_likelier_of_contradictory_declarations_is_believed() -> None:
    sentence = "هذه جملة باللغة العربية عن رسوم النفايات في المدينة"
    for first, second in (("utf-8", "windows-1256"), ("iso-8859-1", "windows-1256")):
        head = f'<meta http-equiv="Content-Type" content="text/html; charset={first}">'
        page = f'{head}<meta charset="{second}"><p>{sentence}</p>'
        assert decode_markup(page.encode("cp1256")) == page


@pytest.mark.parametrize("encoding", ["cp1255", "cp874", "koi8-r", "cp1256"])
def test_other_texts_are_never_read_as_east_asian(encoding: str) -> None:
    words = {
        "cp1255": "זה משפט בעברית על אגרת אשפה והוא ארוך מאוד",
        "cp874": "นี่คือประโยคภาษาไทยที่ยาวมากเกี่ยวกับค่าธรรมเนียม",
        "koi8-r": "Это предложение на русском языке",
        "cp1256": "هذه جملة باللغة العربية عن رسوم النفايات",
    }[encoding]
    try:
        decoded = decode_text(f"{words}. ".encode(encoding) * 8)
    except ParseRefusal:
        return
    assert not any("\u3000" <= char <= "\ud7ff" for char in decoded)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gbk", "今天天气很好我们去公园玩"),
        ("shift_jis", "今日は天気がいいですね"),
        ("big5", "今天天氣很好"),
    ],
)
def test_text_is_refused_rather_than_read_wrongly(encoding: str, text: str) -> None:
    with pytest.raises(ParseRefusal, match="save it as UTF-8") as refusal:
        decode_legacy(text.encode(encoding))
    assert refusal.value.outcome == "unsupported"


ARTICLES = json.loads((Path(__file__).parent / "human_rights.json").read_text(encoding="utf-8"))
"""The first articles of the Universal Declaration of Human Rights, and sums of money."""
PAIRS = [(name, codec) for name, article in ARTICLES.items() for codec in article["encodings"]]


@pytest.mark.parametrize(("language", "encoding"), PAIRS)
def test_a_paragraph_is_read_in_its_encoding(language: str, encoding: str) -> None:
    text = ARTICLES[language]["text"]
    assert decode_text(text.encode(encoding)) == text
    assert decode_text("\n".join([text] * 8).encode(encoding)) == "\n".join([text] * 8)

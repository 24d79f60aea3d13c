import codecs

import pytest

from fathom.documents.base import Refused
from fathom.documents.decode import decode, decode_markup, guess

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
def test_decodes(data: bytes, expected: str) -> None:
    assert decode(data) == expected


@pytest.mark.parametrize("data", [bytes(range(256)) * 10, b"\x00" * 100, b"\x01\x02abc"])
def test_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(Refused, match="binary") as refusal:
        decode(data)
    assert refusal.value.outcome == "no_document"


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="shift_jis">', "shift_jis"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=euc-kr">', "euc-kr"),
        ('<?xml version="1.0" encoding="gb18030"?>', "gb18030"),
    ],
)
def test_declared_encoding_is_believed(head: str, encoding: str) -> None:
    words = {"shift_jis": "日本語の文", "euc-kr": "한국어 문장", "gb18030": "中文句子"}[encoding]
    assert decode_markup((head + words).encode(encoding)) == head + words


def test_declared_encoding_is_not_believed_against_the_bytes() -> None:
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
def test_tells_the_encoding(encoding: str, text: str) -> None:
    assert guess(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gbk", "今天天气很好我们去公园玩"),
        ("shift_jis", "今日は天気がいいですね"),
        ("big5", "今天天氣很好"),
    ],
)
def test_refuses_rather_than_give_the_wrong_letters(encoding: str, text: str) -> None:
    with pytest.raises(Refused, match="save it as UTF-8") as refusal:
        guess(text.encode(encoding))
    assert refusal.value.outcome == "unsupported"

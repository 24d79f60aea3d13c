import pytest

from fathom.documents.base import Refused
from fathom.documents.legacy import guess


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

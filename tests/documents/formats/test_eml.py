import base64
from email.message import EmailMessage

import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.eml import parse


def make_message(subject: str, text: str | None = "Hello.\n\nSecond\nline.") -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = subject
    mail["From"] = "Ada <ada@merrow.example>"
    mail["To"] = "works@merrow.example"
    mail["Date"] = "Thu, 02 May 2024 10:06:11 +0200"
    if text is not None:
        mail.set_content(text)
    return mail


HEAD = "From: Ada <ada@merrow.example>\nTo: works@merrow.example\nDate: 2024-05-02T10:06:11+02:00"


def test_headers_and_paragraphs_are_read() -> None:
    parsed = parse(make_message("Skip permit").as_bytes())
    assert parsed.text == f"Skip permit\n\n{HEAD}\n\nHello.\n\nSecond\nline."
    assert parsed.title == "Skip permit"
    assert parsed.metadata == {
        "author": "Ada <ada@merrow.example>",
        "recipient": "works@merrow.example",
        "created": "2024-05-02T10:06:11+02:00",
    }


def test_plain_text_is_preferred_to_html() -> None:
    mail = make_message("Both", "plain")
    mail.add_alternative("<p>rich</p>", subtype="html")
    assert parse(mail.as_bytes()).text.endswith("\n\nplain")


def test_a_page_is_read_where_the_plain_text_only_points_to_it() -> None:
    mail = make_message("Bill", "Please read this message as HTML.")
    rows = "".join(f"<tr><td>Skip {number}<td>{number} crowns" for number in range(20))
    mail.add_alternative(f"<p>Your bill</p><table>{rows}</table>", subtype="html")
    text = parse(mail.as_bytes()).text
    assert "Skip 19 | 19 crowns" in text
    assert "as HTML" not in text


def test_a_page_with_little_more_than_the_plain_text_is_left_out() -> None:
    mail = make_message("Bill", "The skip costs 40 crowns. " * 10)
    mail.add_alternative(f"<p>{'The skip costs 40 crowns. ' * 10} Sent by post.", subtype="html")
    assert "Sent by post" not in parse(mail.as_bytes()).text


def make_multipart(kind: str, *parts: str) -> str:
    mark = f"mark-{kind}"
    inner = "".join(f"--{mark}\n{part}\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{mark}"\n\n{inner}--{mark}--\n'


PLAIN = "Content-Type: text/plain\n\n"
HTML = "Content-Type: text/html\n\n"
FILE = "Content-Type: text/csv\nContent-Disposition: inline; filename=fees.csv\n\na,b\n1,2\n"
LOGO = "Content-Type: image/png\nContent-ID: <logo>\n\nlogo"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            make_multipart("mixed", f"{HTML}<p>body</p>", f"{PLAIN}foot of the list"),
            "body\n\nAttachment: text/plain\n\nfoot of the list",
        ),
        (
            make_multipart("mixed", f"{PLAIN}one", f"{HTML}<p>two</p>"),
            "one\n\nAttachment: text/html\n\ntwo",
        ),
        (
            make_multipart(
                "mixed", make_multipart("related", f"{HTML}<p>body</p>", LOGO), f"{PLAIN}foot"
            ),
            "body\n\nAttachment: text/plain\n\nfoot",
        ),
        (
            make_multipart(
                "alternative",
                f"{PLAIN}body",
                make_multipart("mixed", f"{HTML}<p>body</p>", FILE),
            ),
            "body\n\nAttachment: fees.csv\n\na | b\na: 1 | b: 2",
        ),
        (make_multipart("alternative", f"{PLAIN} \n", f"{HTML}<p>body</p>"), "body"),
        (make_multipart("alternative", f"{HTML}<p>rich</p>", f"{PLAIN}body"), "body"),
    ],
)
def test_all_texts_of_a_message_are_read_once(parts: str, text: str) -> None:
    parsed = parse(f"Subject: s\nMIME-Version: 1.0\n{parts}".encode())
    assert parsed.text == f"s\n\n{text}"


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("format=flowed", "The pier \nis closed.\nBye.", "The pier is closed.\nBye."),
        ("Format=Flowed; DelSp=Yes", "The pi \ner\nis closed.", "The pier\nis closed."),
        ("format=flowed; delsp=yes", "The  \npier. \n\nNext", "The pier.\n\nNext"),
        (
            "format=flowed",
            "Closed. \n\n> Is the \n> pier open? \n>> Why \n>> not?\nNo.",
            "Closed.\n\n> Is the pier open?\u0020\n>> Why not?\nNo.",
        ),
        ("format=flowed", " From here.\n > no quote\n>\n> a \n", "From here.\n> no quote\n>\n> a"),
        ("format=flowed", "Yours \n-- \nAda \nHarbour", "Yours\u0020\n--\u0020\nAda Harbour"),
        ("format=fixed", "The pier \nis closed.", "The pier\u0020\nis closed."),
    ],
)
def test_lines_that_the_sender_wrapped_are_joined(kind: str, body: str, text: str) -> None:
    parsed = parse(f"Subject: s\nContent-Type: text/plain; {kind}\n\n{body}".encode())
    assert parsed.text == f"s\n\n{text}"


def test_html_alone_is_read_as_html() -> None:
    mail = make_message("Rich", None)
    mail.set_content("<h1>Notice</h1><p>Road <b>closed</b>.</p>", subtype="html")
    parsed = parse(mail.as_bytes())
    assert parsed.text.endswith("Notice\n\nRoad closed.")
    assert parsed.blocks[-1].headings == ("Rich", "Notice")


def test_readable_attachments_are_read_and_others_named() -> None:
    mail = make_message("Files", "See below.")
    mail.add_attachment("Bring gloves.\n", filename="note.txt")
    mail.add_attachment(b"\x89PNG\r\n\x1a\n\0\0", maintype="image", subtype="png", filename="p.png")
    text = parse(mail.as_bytes()).text
    assert "See below.\n\nAttachment: note.txt\n\nBring gloves." in text
    assert "Attachment: p.png\n\np.png (image/png) is not read: " in text


def test_attached_messages_are_read_to_depth_two() -> None:
    deep = make_message("Third", "depth three")
    middle = make_message("Second", "depth two")
    middle.add_attachment(deep)
    mail = make_message("First", "depth one")
    mail.add_attachment(middle)
    text = parse(mail.as_bytes()).text
    assert "depth two" in text
    assert "depth three" not in text
    assert "too deep to be read: Third" in text


def test_too_many_attachments_are_refused() -> None:
    mail = make_message("Many")
    for _ in range(101):
        mail.add_attachment("x", filename="x.txt")
    with pytest.raises(ParseRefusal, match="more than 100 attachments"):
        parse(mail.as_bytes())


def test_an_unknown_charset_does_not_lose_the_text() -> None:
    raw = b"Subject: s\nContent-Type: text/plain; charset=klingon\n\ncaf\xe9"
    assert parse(raw).text == "s\n\ncafé"


@pytest.mark.parametrize("body", [b"caf\xe9", b"tea"])
def test_a_charset_with_a_nul_does_not_lose_the_text(body: bytes) -> None:
    raw = b"Subject: s\nContent-Type: text/plain; charset*=utf-8''a%00b\n\n" + body
    assert parse(raw).text == f"s\n\n{body.decode('cp1252')}"


def test_malformed_headers_do_not_lose_the_text() -> None:
    raw = b"Subject: s\nFrom: <<@@;\nDate: someday\n\nbody"
    assert parse(raw).text.endswith("body")


def test_text_of_an_unknown_type_is_plain() -> None:
    mail = make_message("How-to", "First.\n\nSecond.")
    mail.replace_header("Content-Type", 'text/asciidoc; charset="utf-8"')
    assert parse(mail.as_bytes()).text.endswith("\n\nFirst.\n\nSecond.")


def test_a_report_of_delivery_tells_what_failed() -> None:
    report = make_multipart(
        "report",
        f"{PLAIN}Not delivered.\n",
        "Content-Type: message/delivery-status\n\nReporting-MTA: dns; mail.example\n\n"
        "Final-Recipient: rfc822; bob@merrow.example\nAction: failed\n"
        "Diagnostic-Code: smtp; 550 no such user\n",
        "Content-Type: message/rfc822\n\nSubject: Plans\n\nThe harbour opens at nine.\n",
    )
    text = parse(f"Subject: s\nMIME-Version: 1.0\n{report}".encode()).text
    assert "Reporting-MTA: dns; mail.example\n\nFinal-Recipient: rfc822; bob@merrow" in text
    assert "Action: failed\nDiagnostic-Code: smtp; 550 no such user\n\n" in text
    assert text.endswith("Plans\n\nThe harbour opens at nine.")
    assert "not read" not in text


def test_a_message_attached_in_base64_is_read() -> None:
    inner = base64.encodebytes(make_message("Inner", "Ferry times.").as_bytes()).decode()
    kind = "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64"
    parts = make_multipart("mixed", f"{PLAIN}See below.\n", f"{kind}\n\n{inner}")
    text = parse(f"Subject: s\nMIME-Version: 1.0\n{parts}".encode()).text
    assert text.endswith(f"Inner\n\n{HEAD}\n\nFerry times.")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain; charset=us-ascii", "Grüße aus Köln".encode()),
        ("text/plain; charset=iso-8859-1", b"Gr\xfc\xdfe aus K\xf6ln"),
        ("text/html; charset=iso-8859-1", b"<p>Gr\xfc\xdfe aus K\xf6ln</p>"),
        ("text/html", b'<meta charset="iso-8859-1"><p>Gr\xfc\xdfe aus K\xf6ln</p>'),
        ("text/html; charset=utf-7", b'<meta charset="utf-8"><p>Gr+APwA3w-e aus K+APY-ln</p>'),
    ],
)
def test_the_encoding_of_a_text_is_told_by_the_mail_unless_it_is_wrong(
    kind: str, body: bytes
) -> None:
    raw = f"Subject: s\nMIME-Version: 1.0\nContent-Type: {kind}\n\n".encode() + body
    assert parse(raw).text == "s\n\nGrüße aus Köln"


MAILBOX = (
    b"From ada@merrow.example Mon Jun  1 10:00:00 2026\nSubject: One\nFrom: ada@merrow.example\n\n"
    b"First message.\n\n>From here on.\n\nFrom now on: nothing.\n\n"
    b"From bob@merrow.example Tue Jun  2 10:00:00 2026\nFrom: bob@merrow.example\n\nSecond one.\n"
)


def test_each_message_of_a_mailbox_is_a_section() -> None:
    parsed = parse(MAILBOX)
    sections = [(block.headings, block.span.cut(parsed.text)) for block in parsed.blocks]
    assert sections == [
        (("One",), "One"),
        (("One",), "From: ada@merrow.example"),
        (("One",), "First message."),
        (("One",), "From here on."),
        (("One",), "From now on: nothing."),
        (("Message 2",), "Message 2"),
        (("Message 2",), "From: bob@merrow.example"),
        (("Message 2",), "Second one."),
    ]
    assert (parsed.title, parsed.metadata) == ("", {})


def test_a_mailbox_of_one_message_is_that_message() -> None:
    raw = b"From ada Mon Jun  1 10:00:00 2026\n" + make_message("Skip permit").as_bytes()
    assert parse(raw) == parse(make_message("Skip permit").as_bytes())

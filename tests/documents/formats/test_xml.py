import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.xml import parse


def test_a_feed_is_read() -> None:
    parsed = parse(
        b"<rss><channel><title>News</title><item><title>One</title>"
        b"<description>&lt;p&gt;Hi &lt;b&gt;all&lt;/b&gt;&lt;/p&gt;</description></item>"
        b"</channel></rss>"
    )
    assert parsed.title == "News"
    assert parsed.text == "News\n\nOne\n\nHi all"
    assert parsed.blocks[2].headings == ("News", "One")


def test_titles_of_inner_sections_stand_below_those_of_outer_ones() -> None:
    parsed = parse(
        b"<book><chapter><title>One</title><para>a</para><section><title>Sub</title><para>b</para>"
        b"</section></chapter><chapter><title>Two</title><para>c</para></chapter></book>"
    )
    paragraphs = [block.headings for block in parsed.blocks if block.kind == "paragraph"]
    assert paragraphs == [("One",), ("One", "Sub"), ("Two",)]


def test_mixed_content_stays_together() -> None:
    assert (
        parse(b"<a><b>One <i>two</i> three</b><c/><d>four</d></a>").text == "One two three\n\nfour"
    )


@pytest.mark.parametrize(
    "source",
    [
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x; ok</a>',
        b'<!DOCTYPE a [<!ENTITY x "yyyy"><!ENTITY z "&x;&x;">]><a>&z; ok</a>',
        b'<!DOCTYPE a SYSTEM "http://localhost/evil.dtd"><a>ok</a>',
    ],
)
def test_entities_are_not_resolved(source: bytes) -> None:
    text = parse(source).text
    assert "ok" in text
    assert "root:" not in text
    assert "yyyy" not in text


def test_nonsense_is_refused() -> None:
    with pytest.raises(ParseRefusal):
        parse(b"<<<<")


def test_a_jats_article_has_its_own_title() -> None:
    parsed = parse(
        b"<article><front><article-title>Fees of waste</article-title></front><body><sec>"
        b"<title>Methods</title><p>We counted.</p></sec></body><back><ref>"
        b"<article-title>Cited</article-title></ref></back></article>"
    )
    assert parsed.title == "Fees of waste"
    assert parsed.text == "Fees of waste\n\nMethods\n\nWe counted.\n\nCited"

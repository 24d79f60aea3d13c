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


JATS = b"""<article><front><journal-meta><journal-title>Ports</journal-title></journal-meta>
<article-meta>
<article-categories><subj-group><subject>Research Article</subject></subj-group>
</article-categories>
<title-group><article-title>Fees of <italic>waste</italic></article-title></title-group>
<contrib-group><name><surname>Vega</surname><given-names>Ada</given-names></name></contrib-group>
<abstract><title>Abstract</title><p>We
   counted.</p></abstract></article-meta></front><body><sec><label>1</label><title>Methods</title>
<p>In two ways: <list list-type="alpha-lower"><list-item><p>by day</p><p>or night</p></list-item>
<list-item><p>by ship</p></list-item></list> and so on.</p><sec><title>Ships</title><p>Ten.</p>
</sec>
<table-wrap><label>Table 1</label><caption><title>Fees</title></caption><table><thead><tr>
<td>Port</td>
<td>Fee</td></tr></thead><tbody><tr><td rowspan="2">Aldby</td><td>12</td></tr><tr><td>14</td></tr>
</tbody>
</table></table-wrap><fig><label>Figure 1</label><graphic/></fig><p>See below.</p></sec></body>
<back>
<ref-list><title>References</title><ref><element-citation><name><surname>Lee</surname></name>
<article-title>Cited</article-title></element-citation></ref></ref-list></back></article>"""


def list_blocks(data: bytes) -> list[tuple[str, str, str]]:
    parsed = parse(data)
    return [
        (block.kind, " > ".join(block.headings), block.span.cut(parsed.text))
        for block in parsed.blocks
    ]


def test_an_article_of_a_journal_keeps_its_sections_lists_and_tables() -> None:
    title = "Fees of waste"
    methods, references = f"{title} > 1 Methods", f"{title} > References"
    assert parse(JATS).title == title
    assert list_blocks(JATS) == [
        ("paragraph", "", "Ports"),
        ("paragraph", "", "Research Article"),
        ("heading", title, title),
        ("paragraph", title, "Vega Ada"),
        ("heading", f"{title} > Abstract", "Abstract"),
        ("paragraph", f"{title} > Abstract", "We counted."),
        ("heading", methods, "1 Methods"),
        ("paragraph", methods, "In two ways:"),
        ("list_item", methods, "a. by day"),
        ("paragraph", methods, "or night"),
        ("list_item", methods, "b. by ship"),
        ("paragraph", methods, "and so on."),
        ("heading", f"{methods} > Ships", "Ships"),
        ("paragraph", f"{methods} > Ships", "Ten."),
        ("paragraph", f"{methods} > Ships", "Table 1 Fees"),
        ("table_head", f"{methods} > Ships", "Port | Fee"),
        ("table_row", f"{methods} > Ships", "Aldby | 12"),
        ("table_row", f"{methods} > Ships", "Aldby | 14"),
        ("paragraph", f"{methods} > Ships", "Figure 1"),
        ("paragraph", f"{methods} > Ships", "See below."),
        ("heading", references, "References"),
        ("paragraph", references, "Lee Cited"),
    ]


DOCBOOK = b"""<book xmlns="http://docbook.org/ns/docbook"><info><title>Guide</title><author>
<name>Ada</name>
</author></info><chapter><info><title><emphasis>One</emphasis></title></info>
<para>Use <command>ls</command>
of &lt;file&gt;&nbsp;&mdash; or<!-- no --> not.</para><section><title>Sub</title><orderedlist>
<listitem><para>Do
</para></listitem><listitem><programlisting>def x():
    return 1
</programlisting></listitem></orderedlist><para>Next.</para><figure><title>A map</title></figure>
<para>Last.</para>
<informaltable><tgroup><tbody><row><entry morerows="1"><para>A</para><para>B</para></entry>
<entry>&check;</entry>
</row><row><entry>2</entry></row></tbody></tgroup></informaltable></section></chapter></book>"""


def test_a_book_keeps_its_levels_listings_and_signs() -> None:
    assert list_blocks(DOCBOOK) == [
        ("heading", "Guide", "Guide"),
        ("paragraph", "Guide", "Ada"),
        ("heading", "Guide > One", "One"),
        ("paragraph", "Guide > One", "Use ls of <file> \u2014 or not."),
        ("heading", "Guide > One > Sub", "Sub"),
        ("list_item", "Guide > One > Sub", "1. Do"),
        ("code", "Guide > One > Sub", "def x():\n    return 1"),
        ("paragraph", "Guide > One > Sub", "Next."),
        ("paragraph", "Guide > One > Sub", "A map"),
        ("paragraph", "Guide > One > Sub", "Last."),
        ("table_row", "Guide > One > Sub", "A B | \u2713"),
        ("table_row", "Guide > One > Sub", "| 2"),
    ]


def test_raised_figures_are_no_digits_of_the_number_before_them() -> None:
    data = b"<a><p>10<sup>6</sup>, <i>10</i><superscript>9</superscript>, m<sup>2</sup></p></a>"
    assert parse(data).text == "10^6, 10^9, m2"


def test_soft_hyphens_part_no_word() -> None:
    data = "<a><p>Wald\u00adweg, <i>Wald&#173;weg</i>, Wald\u00adweg, Wald&shy;weg</p></a>"
    assert parse(data.encode()).text == "Waldweg, Waldweg, Waldweg, Waldweg"

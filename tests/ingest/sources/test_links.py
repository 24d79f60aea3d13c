"""Addresses of pages have one form, and pages and sitemaps name them."""

import pytest

from fathom.ingest.sources.links import (
    MOST_LINKS,
    canonicalize_url,
    is_sitemap_index,
    iterate_locations,
    read_directives,
    read_links,
)

BASE = "https://example.org/docs/guide/"


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("a.html", "https://example.org/docs/guide/a.html"),
        ("../b/./c", "https://example.org/docs/b/c"),
        ("#part", BASE),
        ("?page=2#x", f"{BASE}?page=2"),
        ("?utm_source=x&page=2&fbclid=y", f"{BASE}?page=2"),
        ("HTTPS://Example.ORG:443/A", "https://example.org/A"),
        ("http://example.org:80/", "http://example.org/"),
        ("http://example.org:8080", "http://example.org:8080/"),
        ("//example.org/a b", "https://example.org/a%20b"),
        ("/%61%2Fb", "https://example.org/a%2Fb"),
        ("/docs/%2e%2e/secret", "https://example.org/secret"),
        ("/docs/..", "https://example.org/"),
        ("/docs/a/..", "https://example.org/docs/"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("/B%fcrger.html?ort=M%FCnchen", "https://example.org/B%FCrger.html?ort=M%FCnchen"),
        ("?1234", f"{BASE}?1234"),
        ("?utm_id=1;a=b;;c&d=%3B", f"{BASE}?a=b;c&d=%3B"),
        ("?" + "&".join(["a=1"] * 101), f"{BASE}?" + "&".join(["a=1"] * 101)),
    ],
)
def test_an_address_has_one_form(url: str, canonical: str) -> None:
    assert canonicalize_url(url, BASE) == canonical
    assert canonicalize_url(canonical) == canonical


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "mailto:a@example.org",
        "data:text/html,x",
        "file:///etc/passwd",
        "https://ana:secret@example.org/",
        "https://example.org:port/",
        "https://[::1/",
        f"https://{'a' * 70}.org/",
    ],
)
def test_other_addresses_have_none(url: str) -> None:
    assert canonicalize_url(url, BASE) == ""


def test_links_and_directives_of_a_page_are_read() -> None:
    page = read_links(
        "<base href='/docs/'><link rel=canonical href='guide/'>"
        "<meta name=ROBOTS content='NoFollow'>"
        "<a href=a>A<a href=a>again</a><a rel='nofollow noopener' href=b>B</a><area href='c#d'>"
        "<a>none</a><a href='mailto:x'>mail</a><!-- <a href=hidden>",
        "https://example.org/x",
    )
    assert list(page.links) == ["https://example.org/docs/a", "https://example.org/docs/c"]
    assert page.canonical == "https://example.org/docs/guide/"
    assert page.is_indexed
    assert not page.is_followed
    assert read_directives("unavailable_after: x, none") == {"none"}


@pytest.mark.parametrize("text", ["<![foo[x]]>", "<![ x>", "<base href='http://[x'>"])
def test_links_after_a_malformed_declaration_are_read(text: str) -> None:
    assert list(read_links(f"{text}<a href=a>A</a>", BASE).links) == [f"{BASE}a"]


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"<a href='{number}'>" for number in range(50_000)),
        "<!" * 500_000,
        "<a " + "b=c " * 300_000,
        "</" * 500_000,
        "<![CDATA[" * 100_000,
        "<?" * 300_000,
        "&" * 1_000_000,
        "<a href='" * 100_000,
    ],
)
def test_a_hostile_page_gives_few_links_or_none(text: str) -> None:
    assert len(read_links(text, BASE).links) <= MOST_LINKS


def test_sitemaps_name_pages_or_other_sitemaps() -> None:
    text = (
        '<?xml version="1.0"?><urlset><url><loc> https://example.org/a?b=1&amp;c=2 </loc></url>'
        "<url><loc><![CDATA[https://example.org/d]]></loc></url><url><loc>nothing</loc></url>"
    )
    assert list(iterate_locations(text)) == [
        "https://example.org/a?b=1&c=2",
        "https://example.org/d",
    ]
    assert list(iterate_locations("<loc>" + " " * 1_000_000 + "<loc>\t" + "x " * 500_000)) == []
    assert not is_sitemap_index(text)
    assert is_sitemap_index("<sitemapindex><sitemap>")

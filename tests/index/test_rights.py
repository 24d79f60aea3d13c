"""Lists of readers: where they come from, and the fewest that say the same."""

from itertools import product

from fathom.index.rights import ReaderList, ReadingRule, Rights, combine_limits

ANA, BEN, EVE = "user:ana", "user:ben", "user:eve"
LISTS = ((), ("hr",), (ANA,), ("hr", ANA), (ANA, BEN), (BEN, EVE), ("hr", "leads", BEN))


def combine(*lists: tuple[str, ...]) -> list[tuple[str, ...]]:
    return list(combine_limits(ReaderList(readers, "document") for readers in lists))


def test_no_limit_is_for_everybody_and_an_empty_list_for_nobody() -> None:
    assert combine() == [("*",)]
    assert combine(("hr", ANA), ()) == [()]
    assert combine((ANA,), (BEN,)) == [()]  # nobody has the names of two users


def test_a_list_that_another_one_implies_is_left_out() -> None:
    assert combine(("hr", ANA, "leads"), ("hr", ANA), ("hr", ANA)) == [("hr", ANA)]
    assert combine((ANA, BEN), (BEN, EVE), ("hr", BEN)) == [(BEN,)]
    assert combine(("hr", ANA), (ANA, "hr")) == [(ANA, "hr")]
    assert combine(("hr", ANA), ("leads",)) == [("hr", ANA), ("leads",)]


def test_the_fewest_lists_admit_the_same_viewers() -> None:
    viewers = product(((), ("hr",), ("leads",), ("hr", "leads")), (ANA, BEN, EVE))
    all_names = [{*groups, user, "*"} for groups, user in viewers]
    for lists in product(LISTS, repeat=3):
        fewest = combine(*lists)
        for names in all_names:
            admits = [all(names & set(one) for one in some) for some in (lists, fewest)]
            assert admits[0] == admits[1], (lists, names)


def test_each_list_of_a_document_names_its_origin_once() -> None:
    rights = Rights(
        [
            ReadingRule("/a/*", ("hr",)),
            ReadingRule("/open/*", ("*",)),
            ReadingRule("/a/b.jsonl", ("leads",), narrows=True),
        ]
    )
    paths = ["/a/b.jsonl#1", "/a/b.jsonl#2", "/open/b.md", "/elsewhere"]
    assert rights.list_document_limits(paths, {"readers": f"[{ANA}]"}) == [
        ReaderList(("hr",), "rule", "/a/*"),
        ReaderList(("leads",), "sidecar", "/a/b.jsonl"),
        ReaderList((ANA,), "document"),
    ]
    # What is misspelt lets nobody read.
    assert rights.list_document_limits([], {"readers": "a b"}) == [ReaderList((), "document")]
    assert rights.list_document_limits(["/open/b.md"], {"readers": "*"}) == []

"""Rules for questions about several things at once: what is compared, and what to ask of each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fathom.question.clauses import LONGEST, mark, mentions, unmark
from fathom.text.language import detect

Want = Literal["least", "most", "less", "more", "same", "every", "one", "each"]

_A = r"§\d+§"
_OPTION = rf"(?:\b(?:the|a|an)\s+(?:(?!of\b|in\b|and\b|or\b)[a-z0-9-]+\s+){{0,3}})?{_A}"
_LINK = r"(?:or|and|vs\.?|versus|than|atau|dan|daripada)"
_OPTIONS = re.compile(
    rf"{_OPTION}(?:(?:,\s+{_OPTION})+,|,)?\s+(?P<link>{_LINK})\s+{_OPTION}(?:'s\b)?"
)
_TOGETHER = re.compile(
    r"\b(?:both|same|in common|similar|either|each|share|alike|keduanya|yang sama|sama-sama|"
    r"masing-masing)\b"
)
_BETWEEN = re.compile(r"\b(?:between|among|antara)\b")
_BEGINS = re.compile(r"^\s*(?:are|were|is|was|do|did|does|have|has|had|apakah|can|could)\b")
_YES_NO = re.compile(
    r"^\s*(?:(?:are|were|is|was|do|did|does|have|has|had|can|could|will|would|should)\b|apakah\b)",
    re.IGNORECASE,
)
_ORDER = re.compile(
    rf"^(?:is|are|was|were|do|does|did|has|have|had|apakah)\s+(?P<one>{_OPTION})\s+"
    rf"(?P<how>[^§?]{{0,60}}?\b(?:than|before|after|daripada|dari|sebelum|setelah))\s+"
    rf"(?P<other>{_OPTION})\s*\??$"
)
"""Whether one comes before the other."""
_AFTER = re.compile(r"\b(?:after|setelah)$")
_SAME = re.compile(r"\b(?:same|sama)\b")
_LEAST = re.compile(
    r"\b(?:first|earlier|earliest|older|oldest|before|sooner|fewer|fewest|less|least|smaller|"
    r"smallest|shorter|shortest|lower|lowest|cheaper|nearer|dulu|dahulu|tua|tertua|kecil|terkecil|"
    r"sedikit|pendek|rendah|murah|awal|sebelum)\b"
)
_MOST = re.compile(
    r"\b(?:later|latest|last|younger|youngest|recent|recently|newer|more|most|larger|largest|"
    r"bigger|biggest|longer|longest|taller|tallest|higher|highest|greater|farther|further|deeper|"
    r"muda|termuda|terakhir|besar|terbesar|banyak|terbanyak|panjang|tinggi|tertinggi|baru|jauh|mahal|termahal)\b"
)
_ONCE = re.compile(_LEAST.pattern + "|" + _MOST.pattern)
# What is asked of each, English and Indonesian; the first that matches decides.
_ASPECTS: tuple[tuple[str, str, str], ...] = (
    (r"\bborn\b|\bolder\b|\boldest\b|\byoung(?:er|est)\b|\blahir\b|\btua\b|\bmuda\b",
     "When was {} born?", "Kapan {} lahir?"),
    (r"\bdied?\b|\bdeath\b|\bmeninggal\b|\bwafat\b", "When did {} die?", "Kapan {} meninggal?"),
    (r"\b(?:came|come) out\b|\breleased?\b|\bdirilis\b|\brilis\b",
     "When was {} released?", "Kapan {} dirilis?"),
    (r"\bpublished\b|\bterbit\b|\bditerbitkan\b", "When was {} published?", "Kapan {} terbit?"),
    (r"\bfounded\b|\bestablished\b|\bdidirikan\b|\bberdiri\b",
     "When was {} founded?", "Kapan {} didirikan?"),
    (r"\bformed\b|\bdibentuk\b", "When was {} formed?", "Kapan {} dibentuk?"),
    (r"\bbuilt\b|\bdibangun\b", "When was {} built?", "Kapan {} dibangun?"),
    (r"\bopen(?:ed)?\b|\bdibuka\b", "When did {} open?", "Kapan {} dibuka?"),
    (r"\b(?:aired|premiered)\b|\btayang\b", "When did {} premiere?", "Kapan {} tayang?"),
    (r"\bpopulat|\bpopulous\b|\bmore people\b|\bpenduduk\b",
     "What is the population of {}?", "Berapa jumlah penduduk {}?"),
    (r"\btall(?:er|est)\b", "How tall is {}?", ""),
    (r"\bhigh(?:er|est)\b|\b(?:ter)?tinggi\b", "How high is {}?", "Berapa tinggi {}?"),
    (r"\blong(?:er|est)\b|\b(?:ter)?panjang\b", "How long is {}?", "Berapa panjang {}?"),
    (r"\b(?:larg|bigg)(?:er|est)\b|\b(?:ter)?(?:luas|besar)\b",
     "How large is {}?", "Berapa luas {}?"),
    (r"\bcheap(?:er|est)\b|\bexpensive\b|\bcosts? (?:more|less)\b|\b(?:ter)?(?:murah|mahal)\b",
     "How much does {} cost?", "Berapa biaya {}?"),
    (r"\bdeep(?:er|est)\b|\b(?:ter)?dalam\b", "How deep is {}?", "Berapa dalam {}?"),
)  # fmt: skip
_LIVED = re.compile(
    r"\b(?:lived?|life|age)\b.*\b(?:longer|older)\b|\b(?:longer|older) (?:life|age)\b"
)
_COUNTED = re.compile(r"\b(?:more|most|fewer|fewest) (?!(?:recent|than|popular)\w*\b)([a-z]+s)\b")
_SINGULAR = {"Are": "Is", "Were": "Was", "Have": "Has", "Do": "Does"}
_SAME_OF = re.compile(
    r"\bsame (?!(?:person|time|man|woman|thing|way)\b)([a-z]+)\b|\b(?!orang\b)([a-z]+) yang sama\b"
)
_BOTH = re.compile(r"\b(?:both|either|keduanya|kedua|masing-masing|in common)\b\s*", re.IGNORECASE)
_FIRST_BETWEEN = re.compile(r"^\W*(?:between|among|of|antara|di antara)\b.*$", re.IGNORECASE)
_AND_ALSO = re.compile(
    r",?\s+(?:and|dan)\s+(?:also\s+|juga\s+)?"
    r"(?=(?:what|which|who|whom|whose|when|where|why|how|apa|siapa|kapan|di\s?mana|mengapa|berapa|"
    r"bagaimana)\b)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^\W*(?:(?:in|on|at|from|di|dari|pada)\s+)?(?:what|which|who|whom|whose|when|where|why|how|"
    r"is|are|was|were|do|does|did|apa|siapa|kapan|mana|berapa|mengapa|bagaimana)",
    re.IGNORECASE,
)
_OFFERED = re.compile(
    r"^(?:[^,?]{1,60},\s+)?(?P<asks>(?:(?:in|on|at|of|to|for|from|by|di|dari|pada|yang)\s+)?"
    r"(?:which|who|whose|whom|mana|manakah|siapa|siapakah)\b[^,?]*),\s+"
    r"(?P<options>[^?]+?\s+(?:or|atau|ataukah)\s+[^?]+?)\s*\??\s*$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?:the |an? )?[A-Z\d]")
_IT = re.compile(r"\b(?:it|he|she|they|ia|dia|beliau|mereka)\b", re.IGNORECASE)
_ITS = re.compile(r"\b(?:its|his|her|their)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Several things about which one question asks.

    Attributes:
        options: What is compared, as it is called in the question.
        questions: What to ask of each, in the same order.
        want: Which of them is the answer: the one with the `least` or `most`; or whether the first
            has `less` or `more` than the second, the answers are the `same`, or `every` one is
            yes; `one` that the question fits; what `each` has in common.
    """

    options: tuple[str, ...]
    questions: tuple[str, ...]
    want: Want


def comparison(question: str, most: int) -> Comparison | None:
    """What is compared, at most `most` things; `None` where rules see no comparison."""
    if len(question) > LONGEST:
        return None
    lower = question.lower()
    apart = bool(_TOGETHER.search(lower) or _BETWEEN.search(lower))
    marked, cuts = mark(" ".join(question.split()), apart=apart)
    indonesian = detect(question) == "id"
    ordered = _ORDER.match(marked)
    if ordered:
        return _ordered(ordered, cuts, indonesian=indonesian)
    found = _OPTIONS.search(marked)
    if found is None or not _compares(marked, found):
        return _offering(question, most, indonesian=indonesian)
    whole = [part.strip(" ,") for part in re.split(rf",?\s+{_LINK}\s+|,\s+", found.group())]
    options = tuple(unmark(re.sub(r"'s$", "", part), cuts) for part in whole if part)[:most]
    before, after = marked[: found.start()], marked[found.end() :]
    questions = tuple(
        _of(option, unmark(before, cuts), unmark(after, cuts), indonesian=indonesian)
        for option in options
    )
    return Comparison(options=options, questions=questions, want=_want(marked))


def offered(question: str) -> tuple[str, ...]:
    """What a question offers to choose from: "Which is cheaper, a skip or a cart?".

    Only names, or what is compared: of "Which fee is for residents, students or visitors?" nobody
    can tell what is offered.

    Returns:
        The things as the question calls them; none where rules see no such choice.
    """
    found = _OFFERED.match(" ".join(question.split())) if len(question) <= LONGEST else None
    if found is None:
        return ()
    options = re.split(r",?\s+(?:or|atau|ataukah)\s+|,\s+", found["options"], flags=re.IGNORECASE)
    telling = _ONCE.search(found["asks"].lower()) or all(map(_NAMED.match, options))
    return tuple(options) if telling else ()


def apart(options: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Of each option the words that not all of them share: of two sorts of sales, the sorts."""
    shared = frozenset[str]().union(*options).intersection(*options)
    return [each - shared or each for each in options if each]


def _offering(question: str, most: int, *, indonesian: bool) -> Comparison | None:
    """A choice between things without names; `None` where nobody knows what to ask of each."""
    options = offered(question)[:most]
    asks = question.lower()
    about = _about(asks, indonesian=indonesian) if options else ""
    if not about or "born" in about or "lahir" in about:  # things are old in other ways
        return None
    questions = tuple(about.replace("{}", option) for option in options)
    return Comparison(options=options, questions=questions, want=_want(asks))


def _ordered(found: re.Match[str], cuts: Sequence[str], *, indonesian: bool) -> Comparison | None:
    """Whether the first comes before or after the second; `None` where that is not known of."""
    how = found["how"]
    about = _about(how, indonesian=indonesian)
    if not about or not (_ONCE.search(how) or _AFTER.search(how)):
        return None
    options = tuple(unmark(found[side], cuts) for side in ("one", "other"))
    questions = tuple(about.replace("{}", option) for option in options)
    more = _AFTER.search(how) or not _LEAST.search(how)
    return Comparison(options=options, questions=questions, want="more" if more else "less")


def joined(question: str, most: int) -> tuple[str, ...]:
    """The questions that "and" joins, each for itself; one where there is but one."""
    if len(question) > LONGEST:
        return (question,)
    first, *others = _AND_ALSO.split(" ".join(question.split()).rstrip("? "))
    if not _ASKS.search(first) or any(len(other.split()) < 3 for other in others):
        return (question,)
    found = mentions(first)
    name = found[0].cut(first) if found else ""
    if name:
        others = [_ITS.sub(f"{name}'s", _IT.sub(name, other)) for other in others]
    parts = [first, *others][:most]
    return tuple(f"{part[:1].upper()}{part[1:]}?" for part in parts) if others else (question,)


def _compares(marked: str, found: re.Match[str]) -> bool:
    if found["link"] in {"or", "atau", "vs", "vs.", "versus"}:
        return True
    if found["link"] in {"than", "daripada"}:
        return bool(_ONCE.search(marked))
    if _TOGETHER.search(marked):
        return True
    between = _BETWEEN.search(marked[: found.start()])
    if between and (between.start() <= 3 or _ONCE.search(marked)):
        return True
    return bool(_BEGINS.match(marked) and len(marked[: found.start()].split()) <= 1)


def _want(marked: str) -> Want:
    if _SAME.search(marked):
        return "same"
    if _YES_NO.match(marked) and not re.search(r"\bor\b|\batau\b", marked):
        return "every"
    if _LIVED.search(marked) or re.search(r"\b(?:both|share|in common|keduanya)\b", marked):
        return "each"  # of two lives, a birth or a death alone does not tell the longer one
    if _LEAST.search(marked):
        return "least"
    if _MOST.search(marked):
        return "most"
    return "one" if re.search(r"\bor\b|\batau\b", marked) else "each"


def _of(option: str, before: str, after: str, *, indonesian: bool) -> str:
    """What is asked of one option, given what stands before and after all of them."""
    around = f"{before} {after}".lower()
    same = _SAME_OF.search(around)
    if same:
        what = same.group(1) or same.group(2)
        return f"Apa {what} {option}?" if indonesian else f"What is the {what} of {option}?"
    ordered = _ONCE.search(around) and not (_LIVED.search(around) or _BOTH.search(around))
    about = _about(around, indonesian=indonesian) if ordered else ""
    if about:
        return about.replace("{}", option)
    if _FIRST_BETWEEN.match(before):
        before, after = f"{after.strip(' ,:-?')},", ""
    text = _BOTH.sub("", " ".join(f"{before.rstrip(' :-')} {option}{after}".split())).strip("? ")
    verb, _, rest = f"{text[:1].upper()}{text[1:]}".partition(" ")
    return f"{_SINGULAR.get(verb, verb)} {rest}?"


def _about(around: str, *, indonesian: bool) -> str:
    """What to ask of a thing, `{}`, so that answers can be put in order; empty where unknown."""
    for cue, english, other in _ASPECTS:
        if re.search(cue, around):
            return other if indonesian and other else english
    counted = _COUNTED.search(around)
    return f"How many {counted.group(1)} does {{}} have?" if counted else ""

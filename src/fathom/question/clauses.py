"""Clause rules: a nested question becomes a chain of plain ones; English and Indonesian.

"Who founded the company that distributed the film UHF?" asks first "What is the company that
distributed the film UHF?" and then "Who founded #1?". The innermost description of something
unnamed is asked for first; `#1` stands for its answer, and may itself be part of the next
description. Rules know no meaning: what they cannot take apart stays one question.
"""

import re
from collections.abc import Iterator, Sequence

from fathom.text.content_words import ContentTerms
from fathom.text.entities import names
from fathom.types import Span

MARK = re.compile(r"§(\d+)§")
A = r"§\d+§"

# What somebody or something is to somebody or something else.
_ROLES_EN = (
    "actor|actress|album|architect|artist|author|band|birthplace|body|book|boss|brother|"
    "capital|captain|cast|character|child|children|church|cinematographer|city|club|coach|"
    "company|composer|conductor|continent|county|country|creator|currency|daughter|designer|"
    "developer|director|distributor|district|division|duke|editor|emperor|empire|employer|"
    "episode|family|father|film|flag|founder|governor|grandfather|grandmother|group|"
    "headquarters|hometown|husband|illustrator|inventor|king|label|lake|language|leader|league|"
    "location|lyricist|manager|manufacturer|mascot|mayor|member|mother|mountain|movie|museum|"
    "musician|network|newspaper|novel|opponent|organization|organisation|origin|owner|painter|"
    "parent|parents|parliament|partner|party|performer|person|place|playwright|poet|"
    "predecessor|president|prime|producer|professor|program|programme|province|publisher|queen|"
    "record|region|religion|residence|river|rival|ruler|school|screenwriter|sculptor|series|"
    "sibling|singer|sister|son|song|sovereign|sponsor|spouse|star|state|stadium|station|studio|"
    "subject|subsidiary|successor|team|theologian|town|tribe|uncle|university|village|voice|"
    "wife|winner|writer"
)
_PERSONS = (
    "actor|actress|architect|artist|author|boss|brother|captain|character|child|cinematographer|"
    "coach|composer|conductor|creator|daughter|designer|developer|director|distributor|duke|"
    "editor|emperor|employer|father|founder|governor|grandfather|grandmother|guy|husband|"
    "illustrator|inventor|king|leader|lyricist|man|manager|mayor|member|mother|musician|opponent|"
    "owner|painter|parent|partner|performer|person|player|playwright|poet|predecessor|president|"
    "producer|professor|queen|rival|ruler|screenwriter|sculptor|sibling|singer|sister|son|"
    "spouse|star|successor|theologian|uncle|wife|winner|woman|writer"
)
_PLACES = r"place\s+of\s+(?:birth|death|origin|burial)|birth\s?place|country\s+of\s+\w+"
ROLES_ID = (
    "ibu kota|ibu kotanya|ibukota|tempat lahir|kota kelahiran|tanah air|mata uang|kepala negara|"
    "perdana menteri|kantor pusat|sutradara|penulis|pengarang|pencipta|pendiri|pemilik|penerbit|"
    "produser|penyanyi|vokalis|pemeran|aktor|aktris|istri|suami|ayah|ibu|anak|kakak|adik|putra|"
    "putri|presiden|gubernur|wali kota|bupati|raja|ratu|kaisar|ketua|pelatih|kapten|perancang|"
    "arsitek|penemu|komposer|pelukis|penerus|pendahulu|negara asal|kota asal"
)
_KINDS_ID = (
    r"(?:dari|film|novel|buku|lagu|album|seri|serial|acara|negara|kota|provinsi|kabupaten|pulau|"
    r"perusahaan|grup|band|klub|partai|suku|kerajaan|universitas|band|sekolah)"
)
# What an Indonesian clause may describe as a hop of its own.
_HEADS_ID = (
    rf"(?:{ROLES_ID}|negara|kota|kabupaten|provinsi|pulau|sungai|gunung|danau|desa|perusahaan|"
    r"organisasi|lembaga|partai|klub|tim|grup|band|universitas|sekolah|stasiun|bandara|film|novel|"
    r"buku|lagu|album|tokoh|perempuan|wanita|pria|suku|kerajaan|stadion|museum|majalah|koran)"
)
_RELATIVE = (
    r"(?:that|which|who|whom|whose|where|(?:in|on|at|for|from|to|of|by|with)\s+(?:which|whom))"
)
_PREPOSITION = r"(?:of|for|from|by|in|on|at|within|behind|to|near|inside|around|after)"
_AUX = r"(?:is|was|are|were|be|been|has|had|have|did|does|do|can|could|will|would|may)"
_SMALL = (
    rf"(?:{_AUX}|{_RELATIVE}|{_PREPOSITION}|the|a|an|and|or|as|with|what|when|how|why|than|into)"
)
_W = rf"(?:(?!{_SMALL}\b)[a-z0-9][\w'-]*)"
_ROLE = rf"(?:{_PLACES}|(?:{_ROLES_EN})s?)"
# A name, also with what it is: "the film UHF", "the largest city of Texas".
_NAMED = rf"(?:(?:the|a|an|its|his|her)\s+(?:{_W}\s+(?:of\s+)?){{0,4}})?{A}"
_THING = rf"\bthe\s+(?:{_W}\s+){{0,4}}{_W}"
# What the clause says of the name after it: "was a member of", "is located", "plays for".
_LEFT = rf"(?:\s+{_PREPOSITION}(?=\s+{_AUX}\b|\s+{_PREPOSITION}\b|\s*[?,]|\s*$))?"
_SAID = (
    rf"(?:(?:\s+(?!\w+ed\b){_W})?\s+{_AUX}(?:\s+(?:a|an|the|both|also))?(?:\s+{_W}){{1,2}}{_LEFT}"
    rf"|\s+{_AUX}\s+{_PREPOSITION}(?=\s*[?,]|\s*$)"
    rf"|(?:\s+{_W}){{1,2}}\s+(?:the\s+)?{A}"
    rf"|\s+{_W}{_LEFT})"
)
_MORE = rf"(?:\s+(?:and|from|at|in|of|on|&)\s+(?:the\s+)?{A}(?!'))?"
_TIME = r"(?:\s+in\s+(?:the\s+)?\d{4}s?)?"
OWNER = r"(?:'s|(?<=s§)'|'(?=\s))"

PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        # the team that Jose Cancela was a member of
        rf"{_THING}\s*,?\s+{_RELATIVE}\s+{_NAMED}{_MORE}{_SAID}",
        # the person Mach's principle was named after
        rf"{_THING}\s+{A}(?:'s\s+{_W})?\s+{_AUX}\s+{_W}\s+{_PREPOSITION}(?=\s*[?,]|\s*$)",
        # the county that houses Eric Marcus Municipal Airport
        rf"{_THING}\s*,?\s+{_RELATIVE}\s+(?:(?:{_W}|{_AUX}|{_PREPOSITION}|as|into|the|a)\s+){{1,5}}"
        rf"{_NAMED}(?!'){_MORE}{_TIME}",
        # the country containing Hue
        rf"{_THING}\s+{_W}ing\s+{_NAMED}{_TIME}",
        # north of where Israel is located
        rf"(?<=\s(?:of|in)\s)where\s+{_NAMED}{_SAID}",
        rf"(?<=\sfrom\s)where\s+{_NAMED}{_SAID}",
        # the film directed by David Lean, a company based in Oslo
        rf"{_THING}\s+(?:(?:{_W})\s+)?{_PREPOSITION}\s+{_NAMED}(?!'){_MORE}{_TIME}",
        # Anna Benson's husband
        rf"{_NAMED}{OWNER}\s+(?:{_W}\s+){{0,3}}?{_ROLE}\b(?:\s+{_ROLE}\b)?(?!\s*')",
        # sutradara film Laskar Pelangi; kota tempat Chairil Anwar lahir
        r"(?<!kandidat )(?<!calon )(?<!wakil )(?<!mantan )"
        rf"\b(?:{ROLES_ID})(?:\s+(?:{_W}\s+)?{_KINDS_ID}){{0,2}}\s+{A}",
        rf"\b{_HEADS_ID}\s+(?:tempat|di\s+mana|dimana)\s+{A}\s+(?:[a-z]+)",
        rf"\b{_HEADS_ID}\s+yang\s+(?:[a-z-]+\s+){{1,4}}{A}",
    )
)
OPEN_END = re.compile(
    rf"^(?:(?:who|what|which)\b(?!.*\b(?:did|does|do)\b).*?(?:\s{_AUX}\s|\s\w+ed\s).*#\d+)"
    rf"(?P<more>(?:\s+(?!\w+(?:ed|en)\b){_W}){{1,2}})\s*\??$"
)
"""A question that has its verb already: words behind its slot belong to what the slot is for."""
HOLLOW = re.compile(
    r"^(?:who|what|which)\s+(?:is|was|are|were)\s+(?:the\s+)?(?:(?:full\s+)?names?\s+of\s+)?#\d+"
    r"(?!'|\s+\w+(?:ed|en)\b)"
    r"|^(?:apa|siapa|berapa|mana)(?:kah)?\s+(?:yang\s+)?"
    r"(?:(?:bukan|nama|judul|jumlah|menjadi|adalah|saja)\s+)*#\d+",
    re.IGNORECASE,
)
"""A question that asks for nothing but what its slot stands for."""
PERSON = re.compile(
    rf"^(?:(?:the|a|an)\s+)?(?:{_W}\s+){{0,3}}?(?:{_PERSONS})\b(?!')|'s\s+(?:{_W}\s+)?(?:{_PERSONS})$"
)
_PERSONS_ID = (
    ROLES_ID[ROLES_ID.index("kepala negara") :]
    .replace("|kantor pusat", "")
    .split("|negara asal")[0]
)
PERSON_ID = re.compile(rf"^(?:{_PERSONS_ID})\b")
OF_ROLE = re.compile(rf"\b{_ROLE}\s+{_PREPOSITION}\b")
PARTICIPLE = re.compile(rf"\b\w+(?:ed|en|born|set|held|made|built|sung|won)\s+{_PREPOSITION}\b")
CLAUSE = re.compile(rf"\b{_RELATIVE}\b|\byang\b|\btempat\b|\bmana\b")
_QUESTION_WORD = r"(?:what|which|who|whom|whose|when|where|how|apa|siapa|kapan|mana|berapa)"
NOT_THINGS = re.compile(rf"^(?:{_QUESTION_WORD}|di|ke|dari|pada|adalah|dan|atau)\b\s*")

TAIL = re.compile(
    rf"^(?P<main>(?!{_QUESTION_WORD}\b).+?\b(?:(?P<det>a|an|the|seorang|sebuah)\s+))"
    rf"(?P<thing>(?:{_W}\s+|{A}\s+){{0,5}}?(?:{_W})),?\s+"
    rf"(?P<link>who|which|that|whose|where|yang|(?=\w+ed\s+(?:by|in|on|at|from|for)\b))\s*"
    rf"(?P<rest>.*\b{_QUESTION_WORD}\b.*)$",
    re.IGNORECASE,
)


MOST = 4
"""So many questions a chain has at most (MAO-ARAG, section 3)."""
LONGEST = 1_000
"""Rules look at questions of so many characters; what is longer is no question but a text."""

_QUOTED = re.compile(r"[\"“«][^\"“”»]{2,80}[\"”»]")
_SLOT = re.compile(r"#\d+")
_AND = re.compile(r"\s+(?:and|dan)\s+")

_terms = ContentTerms()


def chain(question: str, most: int = MOST) -> tuple[str, ...]:
    """The questions to ask one after the other, at most `most`; itself where rules see no clause.

    Later ones hold `#1`, `#2`, ... where the answers to earlier ones belong.
    """
    if len(question) > LONGEST:
        return (question,)
    rest = " ".join(question.split())
    asked: list[str] = []
    while len(asked) < most - 1:
        parts = _tail(rest, len(asked) + 1) or _inner(rest, len(asked) + 1)
        if parts is None:
            break
        asked.append(parts[0])
        rest = parts[1]
    return (*asked, rest) if asked else (question,)


def mentions(text: str) -> list[Span]:
    """Where names, quoted words and slots stand, in order; they do not overlap."""
    found = [Span(*match.span()) for match in (*_SLOT.finditer(text), *_QUOTED.finditer(text))]
    for name in names(text):
        if all(name.end <= other.start or name.start >= other.end for other in found):
            found.append(name)
    return sorted(found, key=lambda span: span.start)


def _inner(text: str, number: int) -> tuple[str, str] | None:
    """The innermost description as a question, and the rest with a slot in its place."""
    marked, cuts = mark(text)
    for start, end in sorted(_descriptions(marked), key=lambda place: place[1] - place[0]):
        outer = f"{marked[:start]}#{number}{marked[end:]}"
        more = OPEN_END.match(outer)
        after = end + len(more["more"]) if more else end
        inner = marked[start:after]
        described = unmark(inner, cuts)
        rest = unmark(f"{marked[:start]}#{number}{marked[after:]}", cuts)
        if _says_more(rest) and _says_more(described) and not HOLLOW.match(rest):
            return _asking(described, inner), rest[:1].upper() + rest[1:]
    return None


def _descriptions(marked: str) -> Iterator[tuple[int, int]]:
    for pattern in PATTERNS:
        at = 0
        while match := pattern.search(marked, at):
            at = match.start() + 1  # an inner description may begin within an outer one
            start = match.start() + len(_lead(match.group()))
            start -= 4 if marked[:start].endswith("the ") else 0
            if _wanted(marked[start : match.end()]):
                yield start, match.end()


def _lead(phrase: str) -> str:
    found = NOT_THINGS.match(phrase)
    return found.group() if found else ""


def _wanted(phrase: str) -> bool:
    """Whether a phrase asks for something else than what it names."""
    if not MARK.search(phrase):
        return False
    is_clause = CLAUSE.search(phrase) or PARTICIPLE.search(phrase)
    owned = re.search(rf"{A}{OWNER}\s", phrase)
    indonesian = re.match(rf"(?:{ROLES_ID})\b", phrase)
    return bool(is_clause or owned or indonesian or OF_ROLE.search(phrase))


def _says_more(text: str) -> bool:
    """Whether there are words of meaning beside the names and slots."""
    for span in reversed(mentions(text)):
        text = f"{text[: span.start]} {text[span.end :]}"
    return bool(_terms(text))


def _asking(described: str, marked: str) -> str:
    """A question for what is described; the same words, marked, tell who or what it is."""
    if marked.startswith("where"):
        return f"What is the place {described}?"
    if re.search(r"\b(?:yang|tempat|dari)\b", marked) or re.match(ROLES_ID, marked):
        return f"Siapa {described}?" if PERSON_ID.match(marked) else f"Apa {described}?"
    return f"Who is {described}?" if PERSON.search(marked) else f"What is {described}?"


def _tail(text: str, number: int) -> tuple[str, str] | None:
    """For a question whose question word stands in the clause at its end."""
    marked, cuts = mark(text)
    found = TAIL.match(marked.rstrip("? "))
    if found is None or not MARK.search(found["main"]):
        return None
    main = found["main"][: found.start("det")]
    owner = "'s" if found["link"].lower() == "whose" else ""
    first = unmark(f"{main}which {found['thing']}?", cuts)
    return first[:1].upper() + first[1:], unmark(f"#{number}{owner} {found['rest']}?", cuts)


def mark(text: str, *, apart: bool = False) -> tuple[str, Sequence[str]]:
    """The text in lower case with `§0§`, `§1§`, ... for its names, and the names.

    Apostrophes become straight ones. Names joined by "and" are two if they are to be `apart`.
    """
    text = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    cuts: list[str] = []
    out, at = "", 0
    for span in _apart(text) if apart else mentions(text):
        out += text[at : span.start].lower() + f"§{len(cuts)}§"
        cuts.append(span.cut(text))
        at = span.end
    return out + text[at:].lower(), cuts


def _apart(text: str) -> Iterator[Span]:
    for span in mentions(text):
        at = span.start
        for joint in _AND.finditer(text, span.start, span.end):
            yield Span(at, joint.start())
            at = joint.end()
        yield Span(at, span.end)


def unmark(marked: str, cuts: Sequence[str]) -> str:
    """The text with its names again."""
    return MARK.sub(lambda match: cuts[int(match.group(1))], marked)

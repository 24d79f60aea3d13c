"""Clause rules: split a nested question into a chain of plain ones; English and Indonesian.

"Who founded the company that distributed the film UHF?" becomes "What is the company that
distributed the film UHF?" and then "Who founded #1?". The innermost description of an unnamed thing
becomes the first question. `#1` stands for its answer and may be part of the next description. The
rules look at the form of the words only; a question that they cannot split stays whole.
"""

import re
from collections.abc import Iterator, Sequence

from fathom.text.content_words import ContentTerms
from fathom.text.entities import find_names
from fathom.types import Span

MARK = re.compile(r"§(\d+)§")
MARKED_NAME = r"§\d+§"

# Nouns for the relation of one person or thing to another.
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
    "spouse|star|successor|theologian|uncle|wife|winner|woman|writer|"
    "boxer|chemist|comedian|drummer|economist|engineer|fighter|footballer|general|guitarist|"
    "historian|judge|lawyer|mathematician|monarch|philosopher|physicist|pianist|politician|pope|"
    "rapper|scientist|soldier|wrestler"
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
# Indonesian nouns whose relative clause may become a question of its own.
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
# A name, also with a noun before it: "the film UHF", "the largest city of Texas".
_NAMED = rf"(?:(?:the|a|an|its|his|her)\s+(?:{_W}\s+(?:of\s+)?){{0,4}})?{MARKED_NAME}"
_THING = rf"\bthe\s+(?:{_W}\s+){{0,6}}{_W}"
# The verb phrase of a clause: "was a member of", "is located", "plays for".
_STRANDED = rf"(?:\s+{_PREPOSITION}(?=\s+{_AUX}\b|\s+{_PREPOSITION}\b|\s*[?,]|\s*$))?"
_PREDICATE = (
    rf"(?:\s+{_AUX}\s+\w+ed(?=\s+(?:\w+ed|{_AUX})\b)"
    rf"|(?:\s+(?!\w+ed\b){_W})?\s+{_AUX}(?:\s+{_AUX})?(?:\s+(?:a|an|the|both|also))?"
    rf"(?:\s+{_W}){{1,2}}{_STRANDED}"
    rf"|\s+{_AUX}\s+{_PREPOSITION}(?=\s*[?,]|\s*$|\s+\w+(?:ed|cast)\b)"
    rf"|(?:\s+{_W}){{1,2}}\s+(?:the\s+)?{MARKED_NAME}"
    rf"|\s+{_W}{_STRANDED})"
)
_POSSESSION = rf"(?:'s(?:\s+{_W}){{1,4}}(?=\s+{_AUX}\b))?"
_MORE = rf"(?:\s+(?:and|from|at|in|of|on|&)\s+(?:the\s+)?{MARKED_NAME}(?!'))?"
_TIME = r"(?:\s+in\s+(?:the\s+)?\d{4}s?)?"
OWNER = r"(?:'s|(?<=s§)'|'(?=\s))"

PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        # the team that Jose Cancela was a member of
        rf"{_THING}\s*,?\s+{_RELATIVE}\s+{_NAMED}{_POSSESSION}{_MORE}{_PREDICATE}",
        # the person Mach's principle was named after
        rf"{_THING}\s+{MARKED_NAME}(?:'s\s+{_W})?\s+{_AUX}\s+{_W}\s+{_PREPOSITION}(?=\s*[?,]|\s*$)",
        # the county that houses Eric Marcus Municipal Airport
        rf"{_THING}\s*,?\s+{_RELATIVE}\s+(?:(?:{_W}|{_AUX}|{_PREPOSITION}|as|into|the|a)\s+){{1,5}}"
        rf"{_NAMED}(?!'){_MORE}{_TIME}",
        # the country containing Hue
        rf"{_THING}\s+{_W}ing\s+{_NAMED}{_TIME}",
        # north of where Israel is located
        rf"(?<=\s(?:of|in)\s)where\s+{_NAMED}{_PREDICATE}",
        rf"(?<=\sfrom\s)where\s+{_NAMED}{_PREDICATE}",
        # the film directed by David Lean, a company based in Oslo
        rf"{_THING}\s+(?:(?:{_W})\s+)?{_PREPOSITION}\s+{_NAMED}(?!'){_MORE}{_TIME}",
        # Anna Benson's husband
        rf"{_NAMED}{OWNER}\s+(?:{_W}\s+){{0,3}}?{_ROLE}\b(?:\s+{_ROLE}\b)?(?!\s*')",
        # sutradara film Laskar Pelangi; kota tempat Chairil Anwar lahir
        r"(?<!kandidat )(?<!calon )(?<!wakil )(?<!mantan )"
        rf"\b(?:{ROLES_ID})(?:\s+(?:{_W}\s+)?{_KINDS_ID}){{0,2}}\s+{MARKED_NAME}",
        rf"\b{_HEADS_ID}\s+(?:tempat|di\s+mana|dimana)\s+{MARKED_NAME}\s+(?:[a-z]+)",
        rf"\b{_HEADS_ID}\s+yang\s+(?:[a-z-]+\s+){{1,4}}{MARKED_NAME}",
    )
)
OPEN_END = re.compile(
    rf"^(?>(?:who|what|which)\b(?!.*\b(?:did|does|do)\b)(?=[^#]*#\d)"
    rf"[^#]*?(?:\s{_AUX}\s|\s\w+ed\s).*#\d+)"
    rf"(?!.*\b{_PREPOSITION}\s*\??$)"
    rf"(?P<more>\s+(?!\w+(?:ed|en)\b)(?:an?\s+)?{_W}\b(?:[^?#]*[^?#\s])?)\s*\??$"
)
"""A question with its verb before the slot; the words after the slot belong to the description."""
HOLLOW = re.compile(
    r"^(?:who|what|which)\s+(?:is|was|are|were)\s+(?:the\s+)?(?:(?:full\s+)?names?\s+of\s+)?#\d+"
    r"(?!'|\s+\w+(?:ed|en)\b)"
    r"|^(?:what|which)\s+(?:\w+\s+)?(?:is|was|are|were)\s+(?:one\s+of\s+)?#\d+\s*\??$"
    r"|^(?:apa|siapa|berapa|mana)(?:kah)?\s+(?:yang\s+)?"
    r"(?:(?:bukan|nama|judul|jumlah|menjadi|adalah|saja)\s+)*#\d+",
    re.IGNORECASE,
)
"""A question that asks only for the answer in its slot: "What is #1?"."""
PERSON = re.compile(
    rf"^(?:(?:the|a|an)\s+)?(?:{_W}\s+){{0,3}}?(?:{_PERSONS})\b(?!')|'s\s+(?:{_W}\s+)?(?:{_PERSONS})$"
)
_PERSONS_ID = (
    ROLES_ID[ROLES_ID.index("kepala negara") :]
    .replace("|kantor pusat", "")
    .split("|negara asal")[0]
)
PERSON_ID = re.compile(rf"^(?:{_PERSONS_ID})\b")
_NAMED_PLACE = re.compile(
    rf"the\s+(?:city|town|village|state|county|province|district|region|republic|kingdom|island|"
    rf"river|lake|university)\s+of\s+{MARKED_NAME}$"
)
"""A full name such as "the city of Fresno", which is no description of another thing."""
OF_ROLE = re.compile(rf"\b{_ROLE}\s+{_PREPOSITION}\b")
PARTICIPLE = re.compile(rf"\b\w+(?:ed|en|born|set|held|made|built|sung|won)\s+{_PREPOSITION}\b")
_CONTAINING = re.compile(
    rf"\b(?:contain|hold|hous|includ|border|surround|cover|cross|own|produc|publish|operat|run+|host|"
    rf"featur|starr|serv|represent|govern|rul)ing\s+(?:the\s+)?{MARKED_NAME}"
)
_ASKED_PART = re.compile(
    rf"\b{_PREPOSITION}\s+(?:which|what)\s+(?!(?:the|a|an|his|her|its|their)\b)[a-z]"
)
"""A question word inside a description: "the murder of which king"."""
CLAUSE = re.compile(rf"\b{_RELATIVE}\b|\byang\b|\btempat\b|\bmana\b")
_QUESTION_WORD = r"(?:what|which|who|whom|whose|when|where|how|apa|siapa|kapan|mana|berapa)"
NOT_THINGS = re.compile(rf"^(?:{_QUESTION_WORD}|di|ke|dari|pada|adalah|dan|atau)\b\s*")

TAIL = re.compile(
    rf"^(?P<main>(?!{_QUESTION_WORD}\b).+?\b(?:(?P<det>a|an|the|seorang|sebuah)\s+))"
    rf"(?P<thing>(?:{_W}\s+|{MARKED_NAME}\s+){{0,5}}?(?:{_W})),?\s+"
    rf"(?P<link>who|which|that|whose|where|yang|(?=\w+ed\s+(?:by|in|on|at|from|for)\b))\s*"
    rf"(?P<rest>.*\b{_QUESTION_WORD}\b.*)$",
    re.IGNORECASE,
)


MOST_QUESTIONS = 4
"""The largest number of questions of a chain (MAO-ARAG, arXiv 2508.01005, section 3)."""
LONGEST_QUESTION = 1_000
"""The largest number of characters of a question that the rules of this room parse."""

_QUOTED = re.compile(r"[\"“«][^\"“”»]{2,80}[\"”»]")
_SLOT = re.compile(r"#\d+")
_AND = re.compile(r"(?<!\s)\s+(?:and|dan)\s+")

_ORIGIN = re.compile(r"[A-Z][a-z]+(?:an|ish|ese|[ae]k|ch|sh)(?:-[A-Z][a-z]+(?:an|ish|ese|ch|sh))?")
_ORIGINS = (
    "African|American|Argentine|Asian|Australian|Austrian|Belgian|Brazilian|British|Bulgarian|"
    "Canadian|Chilean|Chinese|Colombian|Croatian|Cuban|Czech|Danish|Dutch|Egyptian|English|"
    "Estonian|European|Finnish|French|German|Greek|Hungarian|Icelandic|Indian|Indonesian|Iranian|"
    "Iraqi|Irish|Israeli|Italian|Jamaican|Japanese|Jewish|Kenyan|Korean|Latvian|Lebanese|"
    "Lithuanian|Malaysian|Mexican|Moroccan|Nigerian|Norwegian|Pakistani|Peruvian|Polish|"
    "Portuguese|Romanian|Russian|Scottish|Serbian|Slovak|Slovenian|Spanish|Swedish|Swiss|Turkish|"
    "Ukrainian|Venezuelan|Vietnamese|Welsh"
)
_BEFORE_ORIGIN = re.compile(r"\b(?:the|an?|which|what|this)\s$", re.IGNORECASE)
_AFTER_ORIGIN = re.compile(r"\s[a-z]+\s")
_NAME_WITH_ORIGINS = re.compile(
    rf"(?P<name>\S+\s.{{0,80}}?\S)\s(?P<origins>(?:{_ORIGINS})(?:\s(?:{_ORIGINS}))*)"
)
_BEFORE_NEXT_NAME = re.compile(r"\s*,|\s+(?:and|or|dan|atau|vs\.?|versus|than)\s", re.IGNORECASE)
_terms = ContentTerms()


def build_chain(question: str, most: int = MOST_QUESTIONS) -> tuple[str, ...]:
    """Return the plain questions that a nested question consists of, in the order to ask them.

    Args:
        question: The question.
        most: The largest number of questions.

    Returns:
        The questions; later ones have `#1`, `#2`, ... in place of the answers to earlier ones. The
        question alone if no rule applies.
    """
    if len(question) > LONGEST_QUESTION:
        return (question,)
    rest = " ".join(question.split())
    questions: list[str] = []
    while len(questions) < most - 1:
        halves = _split_tail(rest, len(questions) + 1) or _split_innermost(rest, len(questions) + 1)
        if halves is None:
            break
        questions.append(halves[0])
        rest = halves[1]
    return (*questions, rest) if questions else (question,)


def find_mentions(text: str) -> list[Span]:
    """Return the spans of names, quoted words and slots, in order and without overlaps."""
    spans = [Span(*match.span()) for match in (*_SLOT.finditer(text), *_QUOTED.finditer(text))]
    for name in find_names(text):
        # A name within quotation marks is part of the quoted title.
        if all(name.end <= other.start or name.start >= other.end for other in spans):
            spans.append(name)
    return sorted(spans, key=lambda span: span.start)


def _split_innermost(text: str, number: int) -> tuple[str, str] | None:
    """Return the innermost description as a question, and the question with a slot in its place.

    Args:
        text: A question.
        number: The number of the slot.

    Returns:
        Both questions; `None` if the question has no description to split off.
    """
    marked, cuts = mark_names(text)
    # The shortest description contains no other, so it can be asked for first.
    for start, end in sorted(_find_descriptions(marked), key=lambda place: place[1] - place[0]):
        outer = f"{marked[:start]}#{number}{marked[end:]}"
        more = OPEN_END.match(outer)
        after = end + len(more["more"]) if more else end
        inner = marked[start:after]
        described = restore_names(inner, cuts)
        rest = restore_names(f"{marked[:start]}#{number}{marked[after:]}", cuts)
        # Otherwise one of the two questions would have no content of its own.
        if _says_more(rest) and _says_more(described) and not HOLLOW.match(rest):
            return _word_question(described, inner), rest[:1].upper() + rest[1:]
    return None


def _find_descriptions(marked: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each description in a marked text (`mark_names`)."""
    for pattern in PATTERNS:
        at = 0
        while match := pattern.search(marked, at):
            # Go on by one character, because an inner description may begin within an outer one.
            at = match.start() + 1
            start = match.start() + len(_match_lead(match.group()))
            start -= 4 if marked[:start].endswith("the ") else 0
            if _is_description(marked[start : match.end()]):
                yield start, match.end()


def _match_lead(phrase: str) -> str:
    """Return the question word or preposition that a phrase begins with; may be empty."""
    match = NOT_THINGS.match(phrase)
    return match.group() if match else ""


def _is_description(phrase: str) -> bool:
    """Return whether a phrase describes another thing than the name in it."""
    if not MARK.search(phrase) or _NAMED_PLACE.fullmatch(phrase) or _ASKED_PART.search(phrase):
        return False
    is_clause = CLAUSE.search(phrase) or PARTICIPLE.search(phrase) or _CONTAINING.search(phrase)
    has_owner = re.search(rf"{MARKED_NAME}{OWNER}\s", phrase)
    has_role_id = re.match(rf"(?:{ROLES_ID})\b", phrase)
    return bool(is_clause or has_owner or has_role_id or OF_ROLE.search(phrase))


def _says_more(text: str) -> bool:
    """Return whether a text has content words besides its names and slots."""
    # Cut from the end, so that the earlier spans stay valid.
    for span in reversed(find_mentions(text)):
        text = f"{text[: span.start]} {text[span.end :]}"
    return bool(_terms(text))


def _word_question(described: str, marked: str) -> str:
    """Return the question for a description.

    Args:
        described: The description in the words of the question.
        marked: The description with marks for its names; its nouns decide between who and what.
    """
    if marked.startswith("where"):
        return f"What is the place {described}?"
    if re.search(r"\b(?:yang|tempat|dari)\b", marked) or re.match(ROLES_ID, marked):
        return f"Siapa {described}?" if PERSON_ID.match(marked) else f"Apa {described}?"
    return f"Who is {described}?" if PERSON.search(marked) else f"What is {described}?"


def _split_tail(text: str, number: int) -> tuple[str, str] | None:
    """Split a question whose question word is in a relative clause at its end.

    "Ann Lee directed a film that won which award?" gives "Ann Lee directed which film?" and
    "#1 won which award?".

    Args:
        text: A question.
        number: The number of the slot.

    Returns:
        Both questions; `None` if the question has another form.
    """
    marked, cuts = mark_names(text)
    match = TAIL.match(marked.rstrip("? "))
    if match is None or not MARK.search(match["main"]):
        return None
    main = match["main"][: match.start("det")]
    owner = "'s" if match["link"].lower() == "whose" else ""
    first = restore_names(f"{main}which {match['thing']}?", cuts)
    return first[:1].upper() + first[1:], restore_names(f"#{number}{owner} {match['rest']}?", cuts)


def mark_names(
    text: str, *, split_joined: bool = False, split_origins: bool = False
) -> tuple[str, Sequence[str]]:
    """Replace the names in a text by `§0§`, `§1§`, ... and put the rest in lower case.

    Curly apostrophes become straight. Words of origin ("the American band") are no names.

    Args:
        text: The text.
        split_joined: Whether names that "and" joins are separate names.
        split_origins: Whether words of origin behind a name of two words or more are no part of it.

    Returns:
        The marked text, and the names by number, for `restore_names`.
    """
    text = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    cuts: list[str] = []
    out, at = "", 0
    spans = _split_mentions(text) if split_joined else find_mentions(text)
    if split_origins:
        spans = [part for span in spans for part in _split_origins(text, span)]
    for span in spans:
        if _is_origin(text, span):
            continue
        out += text[at : span.start].lower() + f"§{len(cuts)}§"
        cuts.append(span.cut(text))
        at = span.end
    return out + text[at:].lower(), cuts


def _is_origin(text: str, span: Span) -> bool:
    """Return whether a name is only the origin of a thing: "the American band"."""
    return bool(
        _ORIGIN.fullmatch(text, span.start, span.end)
        and _BEFORE_ORIGIN.search(text, max(0, span.start - 8), span.start)
        and _AFTER_ORIGIN.match(text, span.end)
    )


def _split_origins(text: str, span: Span) -> tuple[Span, ...]:
    """Return the spans of a name and of the words of origin behind it; the name alone without any.

    A name keeps its first two words: Pan American and Dawn French are names. Before "and" and "or"
    no kind can follow, so the words belong to the name.
    """
    match = _NAME_WITH_ORIGINS.fullmatch(text, span.start, span.end)
    if match is None or _BEFORE_NEXT_NAME.match(text, span.end):
        return (span,)
    return Span(*match.span("name")), Span(*match.span("origins"))


def _split_mentions(text: str) -> Iterator[Span]:
    """Yield the spans of names, quoted words and slots, with names split at "and"."""
    for span in find_mentions(text):
        at = span.start
        # A quoted title is one name, even with "and" in it.
        joints = () if _QUOTED.match(text, at) else _AND.finditer(text, at, span.end)
        for joint in joints:
            yield Span(at, joint.start())
            at = joint.end()
        yield Span(at, span.end)


def restore_names(marked: str, cuts: Sequence[str]) -> str:
    """Return a marked text with its names, which `mark_names` returned, in place of the marks."""
    return MARK.sub(lambda match: cuts[int(match.group(1))], marked)

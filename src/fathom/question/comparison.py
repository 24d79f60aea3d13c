"""Rules for questions that compare several things: the options, and a question about each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from fathom.question.clauses import LONGEST_QUESTION, mark_names, restore_names
from fathom.text.language import detect_language
from fathom.text.noun_forms import choose_article, make_noun_singular

Want = Literal[
    "least", "most", "less", "more", "longest", "shortest", "same", "every", "one", "each"
]

_MARKED = r"§\d+§"
_OPTION = rf"(?:\b(?:the|a|an)\s+(?:(?!of\b|in\b|and\b|or\b)[a-z0-9-]+\s+){{0,3}})?{_MARKED}"
_LINK = r"(?:or|and|vs\.?|versus|than|atau|dan|daripada)"
_OPTIONS = re.compile(
    rf"{_OPTION}(?:(?:,\s+{_OPTION}){{1,20}},|,)?\s+(?P<link>{_LINK})\s+{_OPTION}(?:'s\b)?"
)
_SHARED_CUE = re.compile(
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
"""Questions that ask for the order of two things: "Is A older than B?"."""
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
_COMPARATIVE = re.compile(_LEAST.pattern + "|" + _MOST.pattern)
# The question for each option, English and Indonesian; the first cue that matches decides.
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
_AGE = re.compile(r"\b(?:old(?:er|est)|young(?:er|est)|(?:ter)?tua|(?:ter)?muda)\b")
_PERSON = re.compile(
    r"\b(?:who|whose|born|siapa|lahir|director|actor|actress|author|writer|singer|composer|founder|"
    r"player|owner|performer|producer|person|man|woman|brother|sister|sutradara|penulis|penyanyi|"
    r"pemain|aktor|aktris|pendiri|orang)\b"
)
# The question for the beginning of a thing, by its noun; it is used where a person "was born".
_BEGINNINGS: tuple[tuple[str, str, str], ...] = (
    (r"\b(?:bridge|tunnel|airport|station|stadium|museum|park|zoo|library|hospital|hotel|theatre|"
     r"theater|dam|canal|railway|jembatan|terowongan|bandara|stasiun|stadion|taman|perpustakaan|"
     r"rumah sakit|bendungan)\b", "When did {} open?", "Kapan {} dibuka?"),
    (r"\b(?:building|house|tower|castle|palace|church|cathedral|mosque|temple|lighthouse|fort|"
     r"monument|mill|gedung|rumah|menara|istana|gereja|katedral|masjid|candi|benteng|monumen)\b",
     "When was {} built?", "Kapan {} dibangun?"),
    (r"\b(?:company|firm|bank|university|college|school|club|team|band|party|newspaper|magazine|"
     r"organi[sz]ation|city|town|perusahaan|universitas|sekolah|klub|partai|koran|majalah|"
     r"organisasi|kota)\b", "When was {} founded?", "Kapan {} didirikan?"),
    (r"\b(?:film|movie|album|song|game|lagu)\b", "When was {} released?", "Kapan {} dirilis?"),
    (r"\b(?:book|novel|poem|buku|puisi)\b", "When was {} published?", "Kapan {} terbit?"),
)  # fmt: skip
_LIFETIME = re.compile(
    r"\b(?:lived?|life|age)\b.{0,200}\b(?:longer|older|shorter)\b"
    r"|\b(?:longer|older|shorter) (?:life|age)\b"
    r"|\b(?:hidup|umur|usia|berumur|berusia)\b.{0,200}\blebih (?:lama|panjang|tua|pendek|singkat)\b"
)
_SHORT_LIFE = re.compile(r"\b(?:shorter|pendek|singkat)\b")
_LIFE = {
    "en": "When was {} born, and when did {} die?",
    "id": "Kapan {} lahir, dan kapan {} meninggal?",
}
_TIME_ORDER = re.compile(
    r"(?<!\s)\s*\b(?:(?:at )?an? (?:earlier|later) (?:date|time)|(?:more |most )?recently|(?:the )?"
    r"(?:earlier|earliest|later|latest|first|last)|sooner)\b"
)
"""Words for an order in time that go with any verb: "went into space first"."""
_DOING = re.compile(
    r"^\W*(?:(?:which|what)\s+(?:\w+\s+){0,2}?(?=\w+ed\b|went\b|came\b|became\b|began\b|won\b|left\b"
    r"|took\b|made\b|got\b|ran\b|met\b|rose\b|fell\b)|who\s+)(?P<does>\w[^,?]*?),?\s*$"
)
"""A question for the option that did something: "Which person went into space"."""
_BEING = re.compile(
    r"^\W*(?:which|what|who)\b(?:\s+\w+(?:\s+of\s+\w+)?){0,3}?\s+(?P<aux>is|was|are|were|has|had|can)"
    r"\s+(?P<rest>[^,?]+?)[,:]?\s*$",
    re.IGNORECASE,
)
"""A question for the option that is something: "Which dog is based in Switzerland"."""
_SAME_DOING = re.compile(
    r"\b(?P<does>(?:\w+ed|made|built|written|born|set|held|found|shot) (?:by|in|at|from))\s+"
    r"(?:the )?same (?P<what>[a-z]+)\b"
)
_SMALL = r"(?:an?|the|in|on|at|from|of|by|for|with|to)\b"
_PLURAL_KIND = re.compile(
    rf"^(?P<kind>(?:(?!{_SMALL})[\w'-]+,?\s+){{0,4}}?(?!{_SMALL})[a-z]+(?<!s)s)"
    r"(?P<rest>\s+(?:in|on|at|from|of|by|for|with|who|that)\b.*)?$"
)
"""A noun phrase in the plural for the kind of the options: "American writers"."""
_COUNTED_THINGS = re.compile(
    r"\b(?:more|most|fewer|fewest) (?!(?:recent|than|popular)\w*\b)([a-z]+s)\b"
)
_SINGULAR = {"Are": "Is", "Were": "Was", "Have": "Has", "Do": "Does"}
_SAME_OF = re.compile(
    r"\bsame (?!(?:person|time|man|woman|thing|way)\b)([a-z]+)\b|\b(?!orang\b)([a-z]+) yang sama\b"
)
_BOTH = re.compile(r"\b(?:both|either|keduanya|kedua|masing-masing|in common)\b\s*", re.IGNORECASE)
_FIRST_BETWEEN = re.compile(r"^\W*(?:between|among|of|antara|di antara)\b.*$", re.IGNORECASE)
_CHOICE = re.compile(
    r"^(?:[^,?]{1,60},\s+)?(?P<asks>(?:(?:in|on|at|of|to|for|from|by|di|dari|pada|yang)\s+)?"
    r"(?:which|who|whose|whom|mana|manakah|siapa|siapakah)\b[^,?]*),\s+"
    r"(?P<options>[^?]+?\s+(?:or|atau|ataukah)\s+[^?]+?)\s*\??\s*$",
    re.IGNORECASE,
)
_NAME_START = re.compile(r"(?:the |an? )?[A-Z\d]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of several options in one question.

    Attributes:
        options: The compared things, as the question names them.
        questions: The question to ask about each option, in the same order.
        want: The form of the answer. `least`, `most`: the option with the smallest or largest
            value, or earliest or latest time. `less`, `more`: yes if the first option has less or
            more than the second. `longest`, `shortest`: the person with the longest or shortest
            life. `same`: yes if all answers are equal. `every`: yes if all answers are yes. `one`:
            the option that fits. `each`: the words that the answers have in common.
    """

    options: tuple[str, ...]
    questions: tuple[str, ...]
    want: Want

    def keep_first(self, most: int) -> Self:
        """Return the comparison of the first `most` options only."""
        return replace(self, options=self.options[:most], questions=self.questions[:most])


def parse_comparison(question: str) -> Comparison | None:
    """Return the comparison that a question makes; `None` if the rules find none.

    Args:
        question: The text of the question; one longer than `LONGEST_QUESTION` is not parsed.
    """
    if len(question) > LONGEST_QUESTION:
        return None
    lower = question.lower()
    # "and" may be part of a name; a cue such as "both" tells that it joins two names.
    split_joined = bool(_SHARED_CUE.search(lower) or _BETWEEN.search(lower))
    # A question for yes or no puts the kind behind the last name: "Alonzo Church European writers".
    marked, cuts = mark_names(
        " ".join(question.split()),
        split_joined=split_joined,
        split_origins=bool(_BEGINS.match(lower)),
    )
    indonesian = detect_language(question) == "id"
    order_match = _ORDER.match(marked)
    if order_match:
        return _compare_order(order_match, cuts, indonesian=indonesian)
    match = _OPTIONS.search(marked)
    if match is None or not _compares(marked, match):
        return _compare_unnamed(question, indonesian=indonesian)
    names = [name.strip(" ,") for name in re.split(rf",?(?<!\s)\s+{_LINK}\s+|,\s+", match.group())]
    options = tuple(restore_names(re.sub(r"'s$", "", name), cuts) for name in names if name)
    head, tail = marked[: match.start()], marked[match.end() :]
    questions = tuple(
        _ask_about(
            option,
            options,
            restore_names(head, cuts),
            restore_names(tail, cuts),
            indonesian=indonesian,
        )
        for option in options
    )
    return Comparison(
        options=tuple(option.replace('"', "") for option in options),
        questions=questions,
        want=_detect_want(marked),
    )


def list_options(question: str) -> tuple[str, ...]:
    """Return the options of a question that offers a choice: "Which is cheaper, a skip or a cart?".

    Options are names, or anything in a question with a comparative. In "Which fee is for residents,
    students or visitors?" the listed words are not the options.

    Returns:
        The options as the question names them; empty if the rules find no choice.
    """
    match = _CHOICE.match(" ".join(question.split())) if len(question) <= LONGEST_QUESTION else None
    if match is None:
        return ()
    links = r",?(?<!\s)\s+(?:or|atau|ataukah)\s+|,\s+"
    options = re.split(links, match["options"], flags=re.IGNORECASE)
    is_choice = _COMPARATIVE.search(match["asks"].lower()) or all(map(_NAME_START.match, options))
    return tuple(options) if is_choice else ()


def drop_shared_words(options: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Return the words of each option without those that all options share.

    Options without words are left out. An option that has shared words only keeps them.
    """
    shared = frozenset[str]().union(*options).intersection(*options)
    return [words - shared or words for words in options if words]


def _compare_unnamed(question: str, *, indonesian: bool) -> Comparison | None:
    """Return the comparison of options that are no names; `None` if no template fits."""
    options = list_options(question)
    lower = question.lower()
    template = _find_template(lower, options, indonesian=indonesian) if options else ""
    # Options without names are things, so "older" does not ask when they were born.
    if not template or "born" in template or "lahir" in template:
        return None
    questions = tuple(template.replace("{}", option) for option in options)
    return Comparison(options=options, questions=questions, want=_detect_want(lower))


def _compare_order(
    match: re.Match[str], cuts: Sequence[str], *, indonesian: bool
) -> Comparison | None:
    """Return the comparison of the order of two options; `None` if no template fits."""
    how = match["how"]
    options = tuple(restore_names(match[side], cuts) for side in ("one", "other"))
    template = _find_template(how, options, indonesian=indonesian)
    if not template or not (_COMPARATIVE.search(how) or _AFTER.search(how)):
        return None
    questions = tuple(template.replace("{}", option) for option in options)
    more = _AFTER.search(how) or not _LEAST.search(how)
    return Comparison(options=options, questions=questions, want="more" if more else "less")


def _compares(marked: str, match: re.Match[str]) -> bool:
    """Return whether a question compares the options of a match of `_OPTIONS`."""
    if match["link"] in {"or", "atau", "vs", "vs.", "versus"}:
        return True
    if match["link"] in {"than", "daripada"}:
        return bool(_COMPARATIVE.search(marked))
    if _SHARED_CUE.search(marked):
        return True
    # In many questions "and" joins names without comparing them, so a further cue is needed.
    between = _BETWEEN.search(marked[: match.start()])
    if between and (between.start() <= 3 or _COMPARATIVE.search(marked)):
        return True
    return bool(_BEGINS.match(marked) and len(marked[: match.start()].split()) <= 1)


def _detect_want(marked: str) -> Want:
    """Return the form of the answer by the words of a question; the first rule decides."""
    if _SAME.search(marked):
        return "same"
    if _YES_NO.match(marked) and not re.search(r"\bor\b|\batau\b", marked):
        return "every"
    if _LIFETIME.search(marked):
        return "shortest" if _SHORT_LIFE.search(marked) else "longest"
    if re.search(r"\b(?:both|share|in common|keduanya)\b", marked):
        return "each"
    if _LEAST.search(marked) or _MOST.search(marked):
        return "least" if _LEAST.search(marked) else "most"
    return "one" if re.search(r"\bor\b|\batau\b", marked) else "each"


def _ask_about(
    option: str, options: Sequence[str], before: str, after: str, *, indonesian: bool
) -> str:
    """Return the question about one option.

    Args:
        option: The option.
        options: All options.
        before: The text of the question before the options.
        after: The text after the options.
        indonesian: Whether the question is Indonesian.
    """
    around = f"{before} {after}".lower()
    if _LIFETIME.search(around):
        return _LIFE["id" if indonesian else "en"].replace("{}", option)
    shared = _ask_shared(option, around, indonesian=indonesian)
    if shared:
        return shared
    is_ordered = _COMPARATIVE.search(around) and not _BOTH.search(around)
    template = _find_template(around, options, indonesian=indonesian) if is_ordered else ""
    if template:
        return template.replace("{}", option)
    if not after.strip(" ?") and not _BOTH.search(before):
        asked = _ask_of_choice(option, before, is_ordered=bool(is_ordered))
        if asked:
            return asked
    if _FIRST_BETWEEN.match(before):
        before, after = f"{after.strip(' ,:-?')},", ""
    text = _BOTH.sub("", " ".join(f"{before.rstrip(' :-')} {option}{after}".split())).strip("? ")
    verb, _, rest = f"{text[:1].upper()}{text[1:]}".partition(" ")
    if verb in {"Are", "Were"}:
        kind = _BOTH.sub("", after).strip("? ")
        rest = f"{rest[: len(rest) - len(kind)]}{_make_singular(kind)}"
    return f"{_SINGULAR.get(verb, verb)} {rest}?"


def _ask_shared(option: str, around: str, *, indonesian: bool) -> str:
    """Return the question for a property of one option that the others may share.

    "the same director" gives "What is the director of ...?". Empty if no such property is named.
    """
    doing = _SAME_DOING.search(around)
    if doing and not indonesian:
        return f"What {doing['what']} was {option} {doing['does']}?"
    shared_match = _SAME_OF.search(around)
    if shared_match is None:
        return ""
    attribute = shared_match.group(1) or shared_match.group(2)
    return f"Apa {attribute} {option}?" if indonesian else f"What is the {attribute} of {option}?"


def _ask_of_choice(option: str, before: str, *, is_ordered: bool) -> str:
    """Return the question about one option of a choice; empty if the form is unknown.

    If the choice asks for an order in time, the question asks when; else it asks for yes or no.
    """
    if is_ordered:
        bare = _TIME_ORDER.sub("", before)
        doing = _DOING.match(bare) if bare != before else None
        return f"When {option} {doing['does']}?" if doing else ""
    being = _BEING.match(before)
    return f"{being['aux'].capitalize()} {option} {being['rest']}?" if being else ""


def _make_singular(kind: str) -> str:
    """Return a plural in the singular with an article: "American writers", "an American writer".

    Words that are no plural stay unchanged.
    """
    match = _PLURAL_KIND.match(kind)
    if match is None:
        return kind
    *before, noun = match["kind"].split()
    one = " ".join((*before, make_noun_singular(noun)))
    return f"{choose_article(one)} {one}{match['rest'] or ''}"


def _find_template(around: str, options: Sequence[str], *, indonesian: bool) -> str:
    """Return the template of a question whose answers can be ordered; empty if none fits.

    Args:
        around: The question without its options, in lower case.
        options: The options.
        indonesian: Whether the question is Indonesian.

    Returns:
        A question with `{}` in place of the option.
    """
    if _AGE.search(around) and not _PERSON.search(around):
        for nouns, english, other in _BEGINNINGS:
            # The noun must be in the question or in each option. One name alone misleads: Alonzo
            # Church is no church.
            if re.search(rf"{nouns} (?:is|was|mana|manakah|yang)\b", around) or all(
                re.search(nouns, option.lower()) for option in options
            ):
                return other if indonesian else english
    for cue, english, other in _ASPECTS:
        if re.search(cue, around):
            return other if indonesian and other else english
    things = _COUNTED_THINGS.search(around)
    return f"How many {things.group(1)} does {{}} have?" if things else ""

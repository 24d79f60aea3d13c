"""Follow-up questions: "And Norway?" becomes a complete question.

Rules for English and Indonesian, used if no language model is configured. A question that is
already complete stays as it is, byte for byte.
"""

import re
from collections.abc import Callable, Sequence
from itertools import islice

from fathom.question.antecedents import (
    ASKS_ATTRIBUTE,
    PriorQuestion,
    is_attribute,
    make_indefinite,
    speaks_of_attribute,
)
from fathom.question.clauses import find_mentions
from fathom.question.conversation import DialogueTurn
from fathom.question.incomplete import (
    AUX,
    QUESTION_WORD_ID,
    has_question_word,
    leaves_out_topic,
    list_content_words,
)
from fathom.text.entities import find_names
from fathom.text.language import split_set

_LEAD = re.compile(
    r"^\W*(?:(?:and|but|so|then|ok(?:ay)?|also|dan|lalu|terus|kemudian|tapi|tetapi|nah|oke|"
    r"sedangkan|sementara)\b[\s,]*)*"
    r"(?:(?:what|how) about\b|what if it is\b|bagaimana (?:dengan|kalau|jika)\b|gimana (?:dengan|"
    r"kalau)\b|kalau\b|untuk\b(?=[^?]{1,60}\?*$)|(?:and|but|then|so|dan|lalu|terus|kemudian|tapi|"
    r"sedangkan)\b)?[\s,]*",
    re.IGNORECASE,
)
_BARE_QUESTION = re.compile(
    r"^(?:(?:since|until|from|for|by|at|to|in|with|after|before|sejak|sampai|dari|di|ke|untuk|"
    r"dengan|setiap|pada|jam|hari|tanggal|tahun)\s+)?"
    r"(?:why(?: not)?|when(?: exactly)?|where(?: else| exactly)?|who(?:m)?(?: else)?|"
    r"how(?: (?:much|many|long|often|far|deep|high|old|come|so))?|"
    r"how many (?:minutes|hours|days|weeks|months|years|times|people)|"
    r"what(?: (?:time|day|year|date|price|for))?|which(?: one)?|"
    r"(?<=\s)(?:which|what) \w+|"
    r"mengapa|kenapa|kapan|(?:di |ke |dari )?mana|siapa|bagaimana(?: caranya)?|"
    r"berapa(?: (?:lama|banyak|jauh|sering|menit|jam|hari|minggu|bulan|tahun|orang|"
    r"besar|kali|meter|kilogram))?)\s*[?.!]*$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'-]+")
_MOST_WORDS = 7
"""The largest number of words of a follow-up without a question word."""
_LONGEST = 400
"""The largest number of characters of a follow-up; a longer question names its own topic."""
_NYA_WORDS = split_set(
    "hanya punya tanya bertanya biasanya sebaiknya sebenarnya seharusnya misalnya akhirnya "
    "umumnya khususnya tentunya rupanya sepertinya selanjutnya sebelumnya sesudahnya "
    "setidaknya adanya artinya caranya lainnya pertanyaannya mempunyai kiranya semuanya "
    "keduanya "
)
"""Words in which "-nya" is no pronoun."""


def complete_question(question: str, turns: Sequence[DialogueTurn]) -> str:
    """Return a question that is complete without the conversation before it.

    Args:
        question: The newest question.
        turns: The turns before it, oldest first. Follow-ups among them are completed first, so that
            "And Peru?" can follow "And Norway?".

    Returns:
        The complete question; the question itself, unchanged, if it is no follow-up.
    """
    before: PriorQuestion | None = None
    spoken = [turn for turn in turns if turn.content]
    if spoken and spoken[-1].role == "user" and spoken[-1].content.split() == question.split():
        # Some clients include the newest question in the history.
        spoken.pop()
    for turn in spoken:
        if turn.role == "user":
            before = PriorQuestion(resolve_question(turn.content, before))
        elif before is not None:
            before = PriorQuestion(before.question, turn.content)
    return resolve_question(question, before)


def resolve_question(question: str, before: PriorQuestion | None) -> str:
    """Return a question completed from the one before it; unchanged if it is no follow-up.

    Args:
        question: The question.
        before: The question before it, itself complete, with its answer; `None` if there is none.
    """
    if before is None or max(len(question), len(before.question)) > _LONGEST:
        return question
    text = " ".join(question.split())
    lead = _LEAD.match(text)
    has_lead = bool(lead and lead.group().strip())
    bare = text[lead.end() if lead else 0 :].rstrip(" ?.!")
    if has_lead:
        bare = re.sub(r"(?<!\s)\s+(?:bagaimana|gimana)$", "", bare)
    if not bare:
        return question
    # Three forms: a fragment ("in Oslo?"), a bare question word ("why?"), a whole question.
    if not has_question_word(bare):
        return _resolve_fragment(bare, before, has_lead=has_lead) or question
    if _BARE_QUESTION.match(bare):
        return _replace_question_word(bare, before)
    bare = re.sub(r"(?<!\s)\s+(?:too|as well|juga)$", "", bare)
    completed = _spell_out_references(bare, before)
    if (
        completed == bare
        and (has_lead or leaves_out_topic(bare))
        and not _has_name(bare)
        and before.topic
    ):
        completed = _add_topic(bare, before)
    # A question that stays as it is must keep even its blanks.
    return question if completed == bare and not has_lead else _form_question(completed)


_BARE_ATTRIBUTE = re.compile(rf"{ASKS_ATTRIBUTE}(?:\s+[\w'-]+){{1,4}}", re.IGNORECASE)
"""A question for an attribute that does not say of what: "who is the secretary"."""


def _add_topic(bare: str, before: PriorQuestion) -> str:
    """Return a question that leaves out its topic with the topic of the question before.

    After "Who is the chair of the Harbour Society?", "who is the secretary" asks for another
    attribute of the same thing.
    """
    if before.owner and _BARE_ATTRIBUTE.fullmatch(bare):
        return f"{bare} of {before.owner}"
    return f"{bare} ({before.topic if before.act else _choose_thing(before, bare)})"


def _form_question(text: str) -> str:
    """Return a text with single blanks, a capital at its start and a question mark."""
    text = " ".join(text.split())
    return f"{text[:1].upper()}{text[1:]}?"


_ROLE_ID = re.compile(r"(?!wakil|istri|suami|anak|ayah|ibu|peng)([^\W\d_]{3,})nya", re.IGNORECASE)
"""Another role of the same body, "sekretarisnya", but no relative or deputy of the person."""
_CASE_ID = re.compile(
    r"(?:(?:sudah|belum|tidak)\s\w+|ter(?:lambat|lewat|tinggal|hapus|blokir)|hilang|rusak|batal|gagal|"
    r"lupa|telat|sakit)",
    re.IGNORECASE,
)
"""An event that may befall the topic: "Kalau hilang bagaimana?"."""


def _resolve_fragment(bare: str, before: PriorQuestion, *, has_lead: bool) -> str:
    """Return the complete question for a follow-up without a question word; empty if none fits.

    Args:
        bare: The follow-up without its opening words.
        before: The question before it.
        has_lead: Whether it began with words such as "and" or "what about".
    """
    role = _ROLE_ID.fullmatch(bare)
    if role and before.owner and before.is_indonesian:
        return _form_question(f"{before.opening} {role[1]} {before.owner}")
    if _CASE_ID.fullmatch(bare) and before.is_indonesian:
        return _form_question(f"bagaimana kalau {bare} ({before.thing})")
    if has_lead or _is_fragment(bare):
        return _replace_in_question(bare, before) if _is_short(bare) else ""
    completed = _spell_out_references(bare, before)
    return "" if completed == bare else completed


def _has_name(bare: str) -> bool:
    """Return whether a text has a name, a quotation or a slot, not counting its first word."""
    spans = find_mentions(f"{bare[:1].lower()}{bare[1:]}")
    return any(span.cut(bare) != "I" for span in spans)


def _is_short(bare: str) -> bool:
    """Return whether a text has at most `_MOST_WORDS` words."""
    return len(_WORD.findall(bare)) <= _MOST_WORDS


def _is_fragment(bare: str) -> bool:
    """Return whether a text begins with a preposition, and so continues an earlier question."""
    return bool(re.match(r"(?:in|on|at|for|from|to|by|di|ke|dari|pada|untuk|hari)\s", bare, re.I))


# Fragments: their words replace words of the same kind in the question before.

_NUMBERED = re.compile(r"\b([^\W\d_]+)\s+(\d+)\b")
_KINDS = tuple(
    re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for words in (
        r"(?:19|20)\d\d",
        r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekdays|weekends?",
        r"senin|selasa|rabu|kamis|jumat|sabtu|minggu",
        r"january|february|march|april|may|june|july|august|september|october|november|december|"
        r"januari|februari|maret|mei|juni|juli|agustus|oktober|desember",
        r"first|second|third|fourth|fifth|last",
        r"pertama|kedua|ketiga|keempat|kelima|terakhir",
        r"adults?|children|students?|pensioners?|residents?|visitors?|members?",
        r"today|tomorrow|yesterday|hari ini|besok|kemarin",
    )
)
_ENDS = re.compile(
    rf"(?<!\s)\s+(?={AUX}\b|(?:be|been|in|on|at|to|from|for|by|with|of|during|after|before|opened|closed|"
    r"filled|stored|kept|cost|costs|di|ke|dari|pada|untuk|selama|saat|oleh|setelah|sebelum|"
    r"(?:di|ter|ber|me)\w{4,}|buka|tutup|tiba)\b)|[?,]|$",
    re.IGNORECASE,
)
_LEADING_PREPOSITION = re.compile(
    r"^(in|on|at|for|from|to|by|with|of|during|after|before|di|ke|dari|pada|untuk|selama|saat)\s+",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\b(?:seconds|minutes|hours|days|weeks|months|years|times)$")
_ADVERB = re.compile(
    r"^(?:at (?:most|least)|on average|in total|per \w+|paling \w+|rata-rata)\b", re.I
)


def _replace_in_question(part: str, before: PriorQuestion) -> str:
    """Return the question before, with words of it replaced by a fragment.

    If no rule fits, the fragment is added at the end.
    """
    part = _spell_out_references(part, before)
    # The rules are in order of reliability; the first that fits decides.
    for replace_words in (
        _replace_by_kind,
        _replace_by_word,
        _replace_by_preposition,
        _replace_by_name,
        _replace_by_count,
        _replace_by_topic,
    ):
        completed = replace_words(part, before)
        if completed:
            return _form_question(completed)
    return _form_question(f"{before.text} {part}")


def _replace_by_kind(part: str, before: PriorQuestion) -> str:
    """Replace a number of the same thing, a year by a year, or a day by a day; else return ""."""
    numbered = _NUMBERED.fullmatch(part)
    if numbered:
        target = re.search(rf"\b{re.escape(numbered[1])}\s+\d+\b", before.text, re.IGNORECASE)
        if target:
            return _splice(before.text, target.span(), part)
    for kind in _KINDS:
        part_match, prior_matches = kind.search(part), list(kind.finditer(before.text))
        # The other words of a longer fragment would get lost.
        if part_match and prior_matches and len(_WORD.findall(part)) <= 5:
            return _splice(before.text, prior_matches[-1].span(), part_match.group())
    return ""


def _replace_by_word(part: str, before: PriorQuestion) -> str:
    """Replace as many words with the same head noun as the fragment has; else return ""."""
    if _ADVERB.match(part):
        return ""
    bare = _LEADING_PREPOSITION.sub("", part)
    words = bare.split()
    if len(words) < 2 or len(words) > 5:
        return ""
    prior_words = list(re.finditer(r"[^\s?,]+", before.text))
    # The head noun is the first word in Indonesian and the last in English.
    shared = words[0] if before.is_indonesian else words[-1]
    # Search from the end, because the details of a question are there.
    for at in range(len(prior_words) - 1, -1, -1):
        if prior_words[at].group().casefold() != shared.casefold():
            continue
        first = at if before.is_indonesian else at - len(words) + 1
        last = first + len(words) - 1
        if first >= 0 and last < len(prior_words):
            return _splice(before.text, (prior_words[first].start(), prior_words[last].end()), bare)
    return ""


def _replace_by_preposition(part: str, before: PriorQuestion) -> str:
    """Replace the words after the preposition that the fragment begins with; else return "".

    A name replaces a name if there is one. Without the same preposition in the question before, a
    name replaces its last name, and other fragments are added at the end.
    """
    preposition = _LEADING_PREPOSITION.match(part)
    if preposition is None or _ADVERB.match(part):
        return ""
    spans = [
        (match.end(), match.end() + _ENDS.search(before.text[match.end() :]).start())  # type: ignore[union-attr]
        for match in re.finditer(rf"\b{preposition[1]}\s+", before.text, re.IGNORECASE)
    ]
    rest = part[preposition.end() :]
    named_spans = [span for span in spans if find_names(f"x {before.text[slice(*span)]}")]
    targets = (
        named_spans
        if find_names(f"x {rest}")
        else [bounds for bounds in spans if bounds not in named_spans]
    ) or spans
    if targets:
        return _splice(before.text, targets[-1], rest)
    return _replace_by_name(rest, before) if find_names(f"x {rest}") else f"{before.text} {part}"


def _replace_by_name(part: str, before: PriorQuestion) -> str:
    """Replace the last name in the question before; return "" if either has no name."""
    prior_names = [span for span in find_mentions(before.text) if span.start > 0]
    if not prior_names or not find_names(f"x {part}"):
        return ""
    return _splice(before.text, (prior_names[-1].start, prior_names[-1].end), part)


def _replace_by_count(part: str, before: PriorQuestion) -> str:
    """Replace the counted noun of the question before: "What about women?"; else return ""."""
    counted = before.counted_noun
    if (
        not counted
        or " " in part
        or _UNIT.search(counted.partition(" of ")[0])
        or not part.endswith(("s", "en"))
    ):
        return ""
    at = before.text.find(counted)
    return _splice(before.text, (at, at + len(counted)), part)


_TIME_ID = re.compile(r"(?:hari|bulan|tahun|tanggal|jam|pukul|minggu)\s", re.IGNORECASE)
_INDEFINITE_NOUN = re.compile(r"(an?\s+\w+)\s+(?:to|for|in|at|from|on)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|an?)\s", re.IGNORECASE)
_LAST_ARTICLE = re.compile(r"\b(?:the|an?)\s+$", re.IGNORECASE)
_MEASURING = re.compile(
    r"^how (?:long|often|old|far|deep|high|big|large|heavy|soon|fast|wide|tall)", re.IGNORECASE
)


def _replace_by_topic(part: str, before: PriorQuestion) -> str:
    """Replace the topic of the question before, or a part of it; else return "".

    In "a bus to the airport", "a train" replaces the first noun. What a plural has of the topic is
    asked for with "for": "How long is the notice period for managers?".
    """
    topic = before.topic_phrase
    at = before.text.find(topic)
    is_addition = any(form.match(part) for form in (_ADVERB, _TIME_ID, _LEADING_PREPOSITION))
    if is_addition or not topic or at < 0:
        return ""
    if " of " in topic:
        return _replace_side(part, before.text, topic)
    noun = _INDEFINITE_NOUN.match(topic)
    if noun and _INDEFINITE_NOUN.fullmatch(f"{part} to"):
        return _splice(before.text, (at, at + noun.end(1)), part)
    if part.endswith("s") and _MEASURING.match(before.text) and not topic.endswith("s"):
        return f"{before.text} for {part}"
    return _splice(before.text, (at, at + len(topic)), part)


def _replace_side(part: str, text: str, topic: str) -> str:
    """Replace one side of a topic with "of", or all of it.

    In "the capital of Norway", "the population" replaces the first side and "peru" the second.
    """
    at = text.find(topic)
    head, of, owner = topic.partition(" of ")
    if is_attribute(part) and not _ARTICLE.match(part):
        part = f"the {part}"
    if part.lower().startswith("the "):
        # "How long is the warranty" measures what another attribute has not.
        asks = _MEASURING.sub("What", text[:at])
        return f"{asks}{part}{text[at + len(head) :]}"
    if is_attribute(head) or (find_names(f"x {owner}") and " " not in part):
        return _splice(text, (at + len(head + of), at + len(topic)), part)
    return _splice(text, (at, at + len(topic)), part)


def _splice(text: str, span: tuple[int, int], words: str) -> str:
    """Return a text with other words in place of the span from start to end, and one article."""
    start = text[: span[0]]
    if _ARTICLE.match(words):
        start = _LAST_ARTICLE.sub("", start)
    return f"{start}{words}{text[span[1] :]}"


def _replace_question_word(asking: str, before: PriorQuestion) -> str:
    """Return the question before with its opening replaced by other question words: "Why?"."""
    rest = before.text[len(before.opening) :].strip()
    verb = re.match(rf"{AUX}\s", rest) if before.opening.lower() == "who" else None
    asks_more = before.opening.lower() == "who" and not asking.lower().startswith("who")
    if asks_more and not verb and before.person and " " in asking:
        return _form_question(f"{asking} ({before.person} {rest})")
    if asks_more and verb and before.person:
        # "Who is responsible?" asks for its subject, which "Since when?" needs.
        rest = f"{verb.group()}{before.person} {rest[verb.end() :]}"
    return _form_question(f"{asking} {rest if before.opening else rest[:1].lower() + rest[1:]}")


# References: pronouns and nouns, which are replaced by the words that they stand for.

Antecedent = Callable[[PriorQuestion, str], str]
"""A function that returns the words that a pronoun of a question stands for; may be empty."""
_END = r"(?=\s*$|\s+(?:then|too|also|now|exactly|still)\s*$)"
_NEXT = (
    rf"(?=\s+(?:{AUX}|be|been|cost|costs|happen|happens|take|takes|mean|means|work|works|apply|open|close|last|"
    r"include|includes|cover|covers|require|requires|valid|in|on|at|for|from|to|by|of|with|per|\w+ed)\b|\s*$)"
)


_SPEAKS_OF_OFFER = re.compile(
    r"\b(?:cost|costs|free|much|many|served|open|close|included|available|expensive|cheap|paid|charged|"
    r"use|used|book|reserve|reserved)\b",
    re.IGNORECASE,
)
"""The predicates that speak of what a thing has: "Is it free?" after "Does it have parking?"."""
_DO_IT = re.compile(r"\bdo\s+(?:it|that|this|so)\b", re.IGNORECASE)
_SPEAKS_OF_ACT = re.compile(
    r"\b(?:it|that|this)\s+(?:take|takes|cost|costs|work|works|happen|happens)\b", re.IGNORECASE
)
"""The predicates that speak of an act: "How long does it take?"."""


def _choose_thing(before: PriorQuestion, question: str) -> str:
    """Return the thing that "it" stands for: what fits the predicate of the question."""
    if _SPEAKS_OF_OFFER.search(question) and before.offered_thing:
        return before.offered_thing
    if before.act:
        return before.topic if _SPEAKS_OF_ACT.search(question) else before.thing
    speaks_of_topic = not before.counted_noun and speaks_of_attribute(question, before.topic)
    return before.topic if speaks_of_topic else before.thing


def _form_thing_possessive(before: PriorQuestion, question: str) -> str:
    """Return the thing that "its" stands for, in the possessive; empty without one."""
    return _form_possessive(_choose_thing(before, question))


def _form_person_possessive(before: PriorQuestion, _question: str) -> str:
    """Return the person of the question before in the possessive; empty without one."""
    return _form_possessive(before.person)


def _form_plural_possessive(before: PriorQuestion, _question: str) -> str:
    """Return what "their" stands for, in the possessive; empty without an antecedent."""
    return _form_possessive(before.plural_topic)


def _form_possessive(name: str) -> str:
    """Return a name with "'s"; empty for an empty name."""
    return f"{name}'s" if name else ""


def _choose_example(before: PriorQuestion, _question: str) -> str:
    """Return what "one" stands for: "a parking permit" after "the fee for a parking permit"."""
    return make_indefinite(before.thing) if before.thing and not _has_name(before.thing) else ""


def _find_time(before: PriorQuestion, _question: str) -> str:
    """Return the time of the question before, else its topic in brackets; may be empty."""
    return before.time or (f"({before.topic})" if before.topic else "")


def _find_person(before: PriorQuestion, _question: str) -> str:
    return before.person


def _find_plural(before: PriorQuestion, _question: str) -> str:
    return before.plural_topic


def _find_topic(before: PriorQuestion, _question: str) -> str:
    return before.topic


def _find_place(before: PriorQuestion, _question: str) -> str:
    return before.place


_ENGLISH: tuple[tuple[re.Pattern[str], Antecedent], ...] = tuple(
    (re.compile(rf"\b(?:{word})", re.IGNORECASE), antecedent)
    for word, antecedent in (
        (rf"(?:he|she|him)\b|her\b{_END}", _find_person),
        (r"(?:his|her)\b(?=\s+\w)", _form_person_possessive),
        (r"their\b(?=\s+\w)", _form_plural_possessive),
        (r"(?:they|them)\b", _find_plural),
        (rf"(?:these|those){_NEXT}", _find_plural),
        (r"its\b(?=\s+\w)", _form_thing_possessive),
        (
            r"(?!(?-i:IT))it\b(?!['\u2019]|\s+takes?\s+(?:to|for)\b|"
            r"\s+(?:\w+\s+){0,2}?(?!(?:apply|applies|belongs?|leads?|goes?|refers?)\b)\w+\s+(?:to|that)\b)",
            _choose_thing,
        ),
        (
            r"(?<=\bneed )one\b|(?<=\bget )one\b|(?<=\bbuy )one\b|(?<=\bhave )one\b|"
            r"(?<=\border )one\b|(?<=\bborrow )one\b|(?<=\brent )one\b",
            _choose_example,
        ),
        (rf"(?:that|this)(?:\s+one\b|{_NEXT})", _find_topic),
        (r"(?<!is )(?<!are )(?<!was )(?<!were )there\b", _find_place),
        (r"then\s*$", _find_time),
    )
)
_INDONESIAN: tuple[tuple[re.Pattern[str], Antecedent], ...] = tuple(
    (re.compile(word, re.IGNORECASE), antecedent)
    for word, antecedent in (
        (r"\b(?:di|ke|dari) (?:sana|situ|sini)\b", _find_place),
        (r"\b(?:dia|beliau|ia)\b", lambda before, _: before.person or before.topic),
        (r"\bmereka\b", _find_topic),
        (r"(?:^|(?<=\s))itu\b(?=\s*$)", _find_topic),
    )
)
_NOUN = re.compile(
    r"\b(?:the|that|this|those|these)\s+((?-i:[a-z])\w{2,})\b"
    r"(?!\s+(?:of|that|which|who|whose|whom|where|in|from|for|to|with|on|at|by)\b|\s+(?-i:[A-Z]))",
    re.IGNORECASE,
)
"""A noun after "the" or "this", with no words after it that specify it."""
_NOUN_ID = re.compile(
    rf"\b(?!(?:{QUESTION_WORD_ID}|saat|tahun|hari|minggu|bulan|sekarang|dekat|kali|selama|malam|pagi)\b)"
    rf"(\w{{3,}})\s+(?:itu|tersebut|tadi|ini)\b(?!\s+(?:apa|siapa)\b)",
    re.IGNORECASE,
)
_OPENS = re.compile(
    rf"(?:^|\b(?:{AUX}|and|or|of|in|on|at|to|from|for|by|with|about|than|like|tell me))\s*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\S\s+\S+\s+(?:that|which|who|whose|when|where|while|as|because|(?<!happens\s)if|than)\b",
    re.IGNORECASE,
)
_NYA = re.compile(r"\b([^\W\d_]{3,}?)nya\b", re.IGNORECASE)


def _spell_out_references(bare: str, before: PriorQuestion) -> str:
    """Return a question with its pronouns and nouns replaced by the words that they stand for."""
    if before.act:
        bare = _DO_IT.sub(lambda _match: before.act, bare, count=1)
    original = text = _spell_out_noun(bare, before)
    for word, antecedent in (*_ENGLISH, *_INDONESIAN):
        # Look in the original, because words filled in for another pronoun would count as names.
        first = word.search(original)
        if first is None or _is_bound(original[: first.start()], first.group()):
            continue
        match, antecedent_text = word.search(text), antecedent(before, original)
        if before.topic and antecedent_text.partition(" ")[2] == before.topic in text:
            # For "of it there" the topic, filled in for "it", already names the place.
            antecedent_text = " "
        if match and antecedent_text:
            text = f"{text[: match.start()]}{antecedent_text}{text[match.end() :]}"
    return _spell_out_suffix(text, before) if before.is_indonesian and text == bare else text


def _is_bound(preceding: str, word: str) -> bool:
    """Return whether a pronoun refers to its own question, or only joins clauses.

    "his" in "Who figured out that his law was universal?" refers to nobody in the question before.

    Args:
        preceding: The text of the question before the pronoun.
        word: The pronoun.
    """
    if word.lower() in {"that", "this"} and not _OPENS.search(preceding):
        return True
    # A possessive refers to its own question more often than other pronouns do.
    limit = 1 if word.lower() in {"his", "her", "its", "their"} else 4 if word == "then" else 3
    return (
        _has_name(preceding)
        or bool(_CLAUSE.search(preceding))
        or len(list_content_words(preceding)) > limit
    )


def _spell_out_noun(bare: str, before: PriorQuestion) -> str:
    """Return the question with "the bridge" or "kartu itu" in full: "the Mill Bridge"."""
    for rule in (_NOUN, _NOUN_ID):
        # Each noun costs a search of the question before, so at most five are tried.
        for match in islice(rule.finditer(bare), 5):
            if match.group().lower().startswith("that ") and not _OPENS.search(
                bare[: match.start()]
            ):
                # In "the team that won" the word begins a relative clause.
                continue
            phrase = before.find_phrase(match[1])
            phrase_words = [
                word for word in phrase.split() if word.lower() not in {"the", "a", "an"}
            ]
            if len(phrase_words) > 1:
                return f"{bare[: match.start()]}{phrase}{bare[match.end() :]}"
            if rule is _NOUN_ID and not phrase and before.topic and not _has_name(bare):
                return f"{bare[: match.start()]}{match[1]} {before.topic}{bare[match.end() :]}"
    return bare


def _spell_out_suffix(text: str, before: PriorQuestion) -> str:
    """Return the question with "-nya" replaced by its owner: "denda buku" for "dendanya"."""
    for match in _NYA.finditer(text):
        if match.group().lower() in _NYA_WORDS or not before.topic:
            continue
        if before.thing.lower().startswith(f"{match[1].lower()} "):
            return f"{text[: match.start()]}{before.thing}{text[match.end() :]}"
        asks_person = re.match(r"(?:dan\s+)?siapa\b", text, re.IGNORECASE)
        owner = (before.owner if asks_person else "") or before.thing
        # If the question has a name before the suffix, the suffix refers to it.
        has_subject = _has_name(text) and (
            _has_name(text[: match.start()]) or len(list_content_words(text)) > 4
        )
        return (
            text
            if has_subject
            else f"{text[: match.start()]}{match[1]} {owner}{text[match.end() :]}"
        )
    return text

"""Follow-up questions: "And Norway?" becomes the question that it stands for.

Rules, English and Indonesian, for whoever has no language model. A question that stands alone
already stays as it is, letter for letter.
"""

import re
from collections.abc import Callable, Sequence
from itertools import islice

from fathom.question.antecedents import Asked
from fathom.question.clauses import mentions
from fathom.question.conversation import DialogueTurn
from fathom.text.entities import names
from fathom.text.language import stop_words


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LEAD = re.compile(
    r"^\W*(?:(?:and|but|so|then|ok(?:ay)?|also|dan|lalu|terus|kemudian|tapi|tetapi|nah|oke|"
    r"sedangkan|sementara)\b[\s,]*)*"
    r"(?:(?:what|how) about\b|what if it is\b|bagaimana (?:dengan|kalau|jika)\b|gimana (?:dengan|"
    r"kalau)\b|kalau\b|untuk\b(?=[^?]{1,60}\?*$)|(?:and|but|then|so|dan|lalu|terus|kemudian|tapi|"
    r"sedangkan)\b)?[\s,]*",
    re.IGNORECASE,
)
_AUX = (
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|may|might|must|shall|should|will|"
    r"would)"
)
_ASKED_ID = (
    r"(?:apa(?:kah)?|siapa(?:kah)?|kapan(?:kah)?|(?:di|ke)?mana(?:kah)?|berapa(?:kah)?|mengapa|"
    r"kenapa|bagaimana(?:kah)?|seberapa)"
)
_ASKS = re.compile(
    rf"\b(?:(?:what|which|who|whom|whose|when|where|why|how)|{_ASKED_ID})\b"
    rf"|^{_AUX}\b",
    re.IGNORECASE,
)
_ONLY_ASKS = re.compile(
    r"^(?:(?:since|until|from|for|by|at|to|in|with|after|before|sejak|sampai|dari|di|ke|untuk|"
    r"dengan|setiap|pada|jam|hari|tanggal|tahun)\s+)?"
    r"(?:why(?: not)?|when(?: exactly)?|where(?: else| exactly)?|who(?:m)?(?: else)?|"
    r"how(?: (?:much|many|long|often|far|deep|high|old|come|so))?|"
    r"what(?: (?:time|day|year|date|price|for))?|which(?: one)?|"
    r"mengapa|kenapa|kapan|(?:di |ke |dari )?mana|siapa|bagaimana(?: caranya)?|"
    r"berapa(?: (?:lama|banyak|jauh|sering|menit|jam|hari|minggu|bulan|tahun|orang|"
    r"besar|kali|meter|kilogram))?)\s*[?.!]*$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'-]+")
_MOST_WORDS = 7
"""A follow-up that is no question of its own has at most so many words."""
_LONGEST = 400
"""What has more characters says itself what it is about."""
_HOLLOW = 2
"""A question with so many words of meaning, and no name, leaves out what it is about."""
_NYA_NOT = _words(
    "hanya punya tanya bertanya biasanya sebaiknya sebenarnya seharusnya misalnya akhirnya "
    "umumnya khususnya tentunya rupanya sepertinya selanjutnya sebelumnya sesudahnya "
    "setidaknya adanya artinya caranya lainnya pertanyaannya mempunyai kiranya semuanya "
    "keduanya "
)


def stand_alone(question: str, turns: Sequence[DialogueTurn]) -> str:
    """The question as it reads without the conversation before it.

    Args:
        question: What is asked now.
        turns: What was said before, oldest first. Questions among it that follow others are made
            to stand alone first, so that "And Peru?" after "And Norway?" is understood.
    """
    before: Asked | None = None
    said = [turn for turn in turns if turn.content]
    if said and said[-1].role == "user" and said[-1].content.split() == question.split():
        said.pop()  # clients keep the newest question too
    for turn in said:
        if turn.role == "user":
            before = Asked(resolved(turn.content, before))
        elif before is not None:
            before = Asked(before.question, turn.content)
    return resolved(question, before)


def asks(text: str) -> bool:
    """Whether a text holds a word that asks, or begins as a question that wants yes or no."""
    return _ASKS.search(text) is not None


def resolved(question: str, before: Asked | None) -> str:
    """A question in the light of the one before it; unchanged where it stands alone."""
    if before is None or max(len(question), len(before.question)) > _LONGEST:
        return question
    text = " ".join(question.split())
    lead = _LEAD.match(text)
    joined = bool(lead and lead.group().strip())
    bare = text[lead.end() if lead else 0 :].rstrip(" ?.!")
    if joined:
        bare = re.sub(r"\s+(?:bagaimana|gimana)$", "", bare)
    if not bare:
        return question
    if not asks(bare):
        return _of_part(bare, before, joined=joined) or question
    if _ONLY_ASKS.match(bare):
        return _asked_anew(bare, before)
    bare = re.sub(r"\s+(?:too|as well|juga)$", "", bare)
    made = _referred(bare, before)
    if made == bare and (joined or _hollow(bare)) and not _named(bare) and before.topic:
        made = f"{bare} ({before.topic})"
    return question if made == bare and not joined else _sentence(made)


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return f"{text[:1].upper()}{text[1:]}?"


def _of_part(bare: str, before: Asked, *, joined: bool) -> str:
    """What words that ask nothing stand for; empty where that is nothing else."""
    if joined or _part(bare):
        return _replaced(bare, before) if _short(bare) else ""
    told = _referred(bare, before)
    return "" if told == bare else told


def _named(bare: str) -> bool:
    """Whether it has a name or a number of its own; a word that begins a question is no name."""
    found = mentions(f"{bare[:1].lower()}{bare[1:]}")
    return any(span.cut(bare) != "I" for span in found)


def _short(bare: str) -> bool:
    return len(_WORD.findall(bare)) <= _MOST_WORDS


def _part(bare: str) -> bool:
    """Whether words without a verb are a part of a question, rather than words to search for."""
    return bool(re.match(r"(?:in|on|at|for|from|to|by|di|ke|dari|pada|untuk|hari)\s", bare, re.I))


def _hollow(bare: str) -> bool:
    """Whether a question hardly says what it is about: "Disimpan di mana", "Is there parking"."""
    definite = re.search(
        r"\b(?:the|any|there)\b(?!.*\b(?:of|in|for|with|between|on)\s)", bare, re.I
    )
    verb = re.match(r"(?:di|ter|ber|me)\w{4,}\b", bare, re.IGNORECASE)
    return bool(definite or verb) and len(_meaning(bare)) <= _HOLLOW


def _meaning(text: str) -> list[str]:
    """The words of meaning, without those that ask."""
    small = stop_words("en") | stop_words("id")
    words = (word for word in _WORD.findall(text.lower()) if not _ASKS.fullmatch(word))
    return [word for word in words if word not in small]


# A part of a question takes the place of its like in the question before.

_NUMBERED = re.compile(r"\b([^\W\d_]+)\s+(\d+)\b")
_LIKES = tuple(
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
    rf"\s+(?={_AUX}\b|(?:be|been|in|on|at|to|from|for|by|with|of|during|after|before|opened|closed|"
    r"filled|stored|kept|cost|costs|di|ke|dari|pada|untuk|selama|saat|oleh|setelah|sebelum|"
    r"(?:di|ter|ber|me)\w{4,}|buka|tutup|tiba)\b)|[?,]|$",
    re.IGNORECASE,
)
_PLACED = re.compile(
    r"^(in|on|at|for|from|to|by|with|of|during|after|before|di|ke|dari|pada|untuk|selama|saat)\s+",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\b(?:seconds|minutes|hours|days|weeks|months|years|times)$")
_ADVERB = re.compile(
    r"^(?:at (?:most|least)|on average|in total|per \w+|paling \w+|rata-rata)\b", re.I
)


def _replaced(part: str, before: Asked) -> str:
    """The question before with a part of it replaced by its like."""
    part = _referred(part, before)
    for way in (_by_kind, _by_word, _by_preposition, _by_name, _by_count, _by_topic):
        made = way(part, before)
        if made:
            return _sentence(made)
    return _sentence(f"{before.text} {part}")


def _by_kind(part: str, before: Asked) -> str:
    """A number by a number of the same thing, a year by a year, a day by a day."""
    numbered = _NUMBERED.fullmatch(part)
    if numbered:
        like = re.search(rf"\b{re.escape(numbered[1])}\s+\d+\b", before.text, re.IGNORECASE)
        if like:
            return _spliced(before.text, like.span(), part)
    for kind in _LIKES:
        own, theirs = kind.search(part), list(kind.finditer(before.text))
        if own and theirs and len(_WORD.findall(part)) <= 5:
            return _spliced(before.text, theirs[-1].span(), own.group())
    return ""


def _by_word(part: str, before: Asked) -> str:
    """Words by those that share one with them: the first in Indonesian, the last in English."""
    if _ADVERB.match(part):
        return ""
    bare = _PLACED.sub("", part)
    words = bare.split()
    if len(words) < 2 or len(words) > 5:
        return ""
    theirs = list(re.finditer(r"[^\s?,]+", before.text))
    shared = words[0] if before.indonesian else words[-1]
    for at in range(len(theirs) - 1, -1, -1):
        if theirs[at].group().casefold() != shared.casefold():
            continue
        first = at if before.indonesian else at - len(words) + 1
        last = first + len(words) - 1
        if first >= 0 and last < len(theirs):
            return _spliced(before.text, (theirs[first].start(), theirs[last].end()), bare)
    return ""


def _by_preposition(part: str, before: Asked) -> str:
    """What follows a preposition by what followed it: a name by a name, if there is one."""
    placed = _PLACED.match(part)
    if placed is None or _ADVERB.match(part):
        return ""
    found = [
        (match.end(), match.end() + _ENDS.search(before.text[match.end() :]).start())  # type: ignore[union-attr]
        for match in re.finditer(rf"\b{placed[1]}\s+", before.text, re.IGNORECASE)
    ]
    rest = part[placed.end() :]
    named = [place for place in found if names(f"x {before.text[slice(*place)]}")]
    like = (named if names(f"x {rest}") else [p for p in found if p not in named]) or found
    if like:
        return _spliced(before.text, like[-1], rest)
    return _by_name(rest, before) if names(f"x {rest}") else f"{before.text} {part}"


def _by_name(part: str, before: Asked) -> str:
    """A name by the last name."""
    theirs = [span for span in mentions(before.text) if span.start > 0]
    if not theirs or not names(f"x {part}"):
        return ""
    return _spliced(before.text, (theirs[-1].start, theirs[-1].end), part)


def _by_count(part: str, before: Asked) -> str:
    """What is to be counted by what was counted: "What about women?"."""
    counted = before.counted
    if not counted or " " in part or _UNIT.search(counted) or not part.endswith(("s", "en")):
        return ""
    at = before.text.find(counted)
    return _spliced(before.text, (at, at + len(counted)), part)


def _by_topic(part: str, before: Asked) -> str:
    """A thing by what the question before was about, or by one end of it.

    After "the capital of Norway" come "the population" of Norway, and the capital of "peru".
    """
    topic = before.topic
    at = before.text.find(topic)
    if _ADVERB.match(part) or not topic or at < 0:
        return ""
    head, of, named = topic.partition(" of ")
    if of and part.lower().startswith("the "):
        return _spliced(before.text, (at, at + len(head)), part)
    if of and names(f"x {named}") and " " not in part:
        return _spliced(before.text, (at + len(head + of), at + len(topic)), part)
    return _spliced(before.text, (at, at + len(topic)), part)


def _spliced(text: str, place: tuple[int, int], words: str) -> str:
    return f"{text[: place[0]]}{words}{text[place[1] :]}"


def _asked_anew(asking: str, before: Asked) -> str:
    """The question before, asked for something else: "Why?", "Setiap berapa menit?"."""
    rest = before.text[len(before.opening) :].strip()
    return _sentence(f"{asking} {rest if before.opening else rest[:1].lower() + rest[1:]}")


# A word that stands for something takes the words of what it stands for.

Antecedent = Callable[[Asked], str]
_END = r"(?=\s*$|\s+(?:then|too|also|now|exactly|still)\s*$)"
_NEXT = (
    rf"(?=\s+(?:{_AUX}|be|been|cost|costs|happen|happens|take|takes|mean|means|work|works|apply|open|close|last|"
    r"valid|in|on|at|for|from|to|by|of|with|per|\w+ed)\b|\s*$)"
)


def _owned(before: Asked) -> str:
    return _own(before.topic)


def _person_owned(before: Asked) -> str:
    return _own(before.person)


def _own(name: str) -> str:
    return f"{name}'s" if name else ""


def _then(before: Asked) -> str:
    return before.time or (f"({before.topic})" if before.topic else "")


_ENGLISH: tuple[tuple[re.Pattern[str], Antecedent], ...] = tuple(
    (re.compile(rf"\b(?:{word})", re.IGNORECASE), antecedent)
    for word, antecedent in (
        (rf"(?:he|she|him)\b|her\b{_END}", lambda before: before.person),
        (r"(?:his|her)\b(?=\s+\w)", _person_owned),
        (r"their\b(?=\s+\w)", lambda before: _own(before.things)),
        (r"(?:they|them)\b", lambda before: before.things),
        (rf"(?:these|those){_NEXT}", lambda before: before.things),
        (r"its\b(?=\s+\w)", _owned),
        (
            r"it\b(?!['\u2019]|\s+takes?\s+(?:to|for)\b|\s+(?:\w+\s+){0,2}?\w+\s+(?:to|that)\b)",
            lambda before: before.topic,
        ),
        (rf"(?:that|this)(?:\s+one\b|{_NEXT})", lambda before: before.topic),
        (r"(?<!is )(?<!are )(?<!was )(?<!were )there\b", lambda before: before.place),
        (r"then\s*$", _then),
    )
)
_INDONESIAN: tuple[tuple[re.Pattern[str], Antecedent], ...] = tuple(
    (re.compile(word, re.IGNORECASE), antecedent)
    for word, antecedent in (
        (r"\b(?:di|ke|dari) (?:sana|situ|sini)\b", lambda before: before.place),
        (r"\b(?:dia|beliau|ia)\b", lambda before: before.person or before.topic),
        (r"\bmereka\b", lambda before: before.topic),
        (r"(?:^|(?<=\s))itu\b(?=\s*$)", lambda before: before.topic),
    )
)
_NOUN = re.compile(
    r"\b(?:the|that|this|those|these)\s+((?-i:[a-z])\w{2,})\b"
    r"(?!\s+(?:of|that|which|who|whose|whom|where|in|from|for|to|with|on|at|by)\b|\s+(?-i:[A-Z]))",
    re.IGNORECASE,
)
"""A thing that nothing in its own question says more of."""
_NOUN_ID = re.compile(
    rf"\b(?!(?:{_ASKED_ID}|saat|tahun|hari|minggu|bulan|sekarang|dekat|kali|selama|malam|pagi)\b)"
    rf"(\w{{3,}})\s+(?:itu|tersebut|tadi|ini)\b(?!\s+(?:apa|siapa)\b)",
    re.IGNORECASE,
)
_OPENS = re.compile(
    rf"(?:^|\b(?:{_AUX}|and|or|of|in|on|at|to|from|for|by|with|about|than|like|tell me))\s*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\S\s+\S+\s+(?:that|which|who|whose|when|where|while|as|because|if|than)\b", re.IGNORECASE
)
_NYA = re.compile(r"\b([^\W\d_]{3,}?)nya\b", re.IGNORECASE)


def _referred(bare: str, before: Asked) -> str:
    """The question with the words that stand for something spelled out."""
    own = text = _noun_referred(bare, before)
    for word, antecedent in (*_ENGLISH, *_INDONESIAN):
        first = word.search(own)
        if first is None or _bound(own[: first.start()], first.group()):
            continue
        found, meant = word.search(text), antecedent(before)
        if meant.partition(" ")[2] == before.topic and before.topic in text:
            meant = " "  # "of it there": what is meant stands there already
        if found and meant:
            text = f"{text[: found.start()]}{meant}{text[found.end() :]}"
    return _suffix_referred(text, before) if before.indonesian and text == bare else text


def _bound(said: str, word: str) -> bool:
    """Whether a word stands for what its own question has named before it, or only joins clauses.

    So "his" in "Who figured out that his law was universal?" is nobody of the question before.
    """
    if word.lower() in {"that", "this"} and not _OPENS.search(said):
        return True
    most = 1 if word.lower() in {"his", "her", "its", "their"} else 3
    return _named(said) or bool(_CLAUSE.search(said)) or len(_meaning(said)) > most


def _noun_referred(bare: str, before: Asked) -> str:
    """What "the bridge" and "kartu itu" name, in full: "the Mill Bridge"."""
    for rule in (_NOUN, _NOUN_ID):
        for found in islice(rule.finditer(bare), 5):
            if found.group().lower().startswith("that ") and not _OPENS.search(
                bare[: found.start()]
            ):
                continue  # "the team that won"
            named = before.naming(found[1])
            told = [word for word in named.split() if word.lower() not in {"the", "a", "an"}]
            if len(told) > 1:
                return f"{bare[: found.start()]}{named}{bare[found.end() :]}"
            if rule is _NOUN_ID and not named and before.topic and not _named(bare):
                return f"{bare[: found.start()]}{found[1]} {before.topic}{bare[found.end() :]}"
    return bare


def _suffix_referred(text: str, before: Asked) -> str:
    """A thing with "-nya" and what it belongs to: "denda buku" for "dendanya"."""
    for found in _NYA.finditer(text):
        if found.group().lower() in _NYA_NOT or not before.topic:
            continue
        own = _named(text) and (_named(text[: found.start()]) or len(_meaning(text)) > 4)
        return (
            text
            if own
            else f"{text[: found.start()]}{found[1]} {before.topic}{text[found.end() :]}"
        )
    return text

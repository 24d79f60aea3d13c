"""Antecedents: what the words of a follow-up question may stand for, taken from what came before.

Rules over the surface of questions, English and Indonesian; no parser and no model.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fathom.text.entities import names
from fathom.text.language import stop_words


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IRREGULAR = (
    "built|made|held|sent|laid|begun|given|taken|kept|read|cast|set|put|lent|paid|sold|found|known|"
    "written|won|led|cut|done|seen|born|shut|bought|brought|grown|drawn|run|fed|met|left|lost|hit|"
    "felt|chosen|broken|spoken|stolen|torn|worn|shown|thrown|sunk|hung|taught|told|open|due|free|"
    "available|closed"
)
_AUX = (
    r"(?:is|are|was|were|be|been|do|does|did|has|have|had|can|could|may|might|must|shall|should|"
    r"will|would)"
)
_BE = r"(?:is|are|was|were|be|been|has|have|had)"
_WH = r"(?:what|which|who|whom|whose|when|where|why|how)"
_PREPOSITION = (
    r"(?:of|in|on|at|to|from|for|by|with|along|under|over|after|before|during|since|until|into|"
    r"through|about|per|than|within|between|near|around|behind|against|without|up|out|off|"
    r"di|ke|dari|pada|untuk|dengan|oleh|selama|saat|sejak|sampai|hingga|menurut|tentang|dalam|"
    r"antara|bagi|terhadap)"
)
_JOINS = _words("of in on at along from for with by under near to dari di untuk tentang ")
"""Prepositions that go on with what a noun names, rather than with its verb."""
_DETERMINERS = _words("the a an this that these those each every any no some all my our ")
_VERB_ID = re.compile(
    r"(?:(?:di|ter|ber|me)(?=\w{4})\w+|boleh|harus|dapat|bisa|akan|sudah|telah|belum|tidak|tiba|buka|"
    r"tutup|mulai|tinggal|datang|ada|adalah|lahir|wafat|mati|pergi|masuk|keluar|berlaku|itu|yang|"
    r"paling lambat|mengungsi|jadi|ikut|naik|turun|selesai)",
    re.IGNORECASE,
)
_NO_VERB_ID = _words(
    "merrow melati merah meter menit menteri terminal termal media metode berat berita beras "
    "bersih dinas digital direktur diri dinding diskon divisi medan mesin meja merek "
)
_OPENING = re.compile(
    rf"^(?:(?:{_PREPOSITION}|until|since)\s+)?(?:{_WH})\b"
    r"(?:\s+(?:many|much|long|often|old|far|deep|high|big|large|heavy|soon|fast|wide|tall))?",
    re.IGNORECASE,
)
_ASKED_ID = (
    r"(?:apa(?:kah)?|siapa(?:kah)?|kapan(?:kah)?|mana(?:kah)?|berapa(?:kah)?|mengapa|kenapa|"
    r"bagaimana(?:kah)?|seberapa)"
)
_OPENING_ID = re.compile(
    rf"^(?:(?:{_PREPOSITION}|setiap|jam|hari|pukul|tahun|bulan|tanggal|sejak|sampai)\s+){{0,2}}"
    rf"(?:(?:se)?berapa\b(?:\s+(?:lama|banyak|besar|jauh|sering|tinggi|dalam|berat)\b)?|{_ASKED_ID}\b)"
    r"(?:\s+(?:saja|cara|yang)\b)*",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\s?,;:()]+")
_PLACED = re.compile(r"\b(?:at|in|on|along|di|ke|pada)\s+", re.IGNORECASE)
_TIMES = (
    r"january|february|march|april|may|june|july|august|september|october|november|december|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|year|month|week|day|morning|"
    r"evening|night|summer|winter|spring|autumn|season"
)
_WHEN = re.compile(
    rf"\b(?:in|on|at|after|before|during|since|until|by)\s+(?:[\w'-]+\s+){{0,4}}?"
    rf"(?:(?:{_TIMES})\b(?:\s+\d+)?|\d{{4}}\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Asked:
    """A question that stands alone, and what was answered to it.

    Attributes:
        question: As it stands alone.
        answer: Empty where nothing is known of it.
    """

    question: str
    answer: str = ""

    @property
    def text(self) -> str:
        """The question without its mark."""
        return self.question.rstrip(" ?.!")

    @cached_property
    def indonesian(self) -> bool:
        """Whether Indonesian words ask."""
        return bool(re.search(rf"\b{_ASKED_ID}\b", self.question, re.IGNORECASE))

    @cached_property
    def opening(self) -> str:
        """The words that ask, with what they count or name: "how many visits", "di mana"."""
        rule = _OPENING_ID if self.indonesian else _OPENING
        found = rule.match(self.text)
        if found is None:
            return ""
        if self.indonesian:
            return found.group()
        rest = self.text[found.end() :]
        counted = re.match(rf"(?:\s+(?!{_AUX}\b|{_PREPOSITION}\b)[\w'-]+)*(?=\s+{_AUX}\b)", rest)
        if counted is None and found.group().lower().endswith("many"):
            counted = re.match(r"\s+[\w-]+", rest)  # how many men work
        return found.group() + (counted.group() if counted else "")

    @cached_property
    def counted(self) -> str:
        """What the words that ask name: "visits" of "how many visits"; often empty."""
        found = _OPENING.match(self.opening)
        return self.opening[found.end() :].strip() if found and not self.indonesian else ""

    @cached_property
    def topic(self) -> str:
        """What it is about, in its own words; empty where that cannot be told."""
        added = re.search(r"\(([^()]+)\)$", self.text)
        if added:
            return added[1]
        phrase = self._subject()
        if names(phrase.strip()) or not phrase:
            return phrase
        at = self.text.find(phrase) + len(phrase)
        more = [part for part in self.phrases(at) if names(f"x {part}") and not _WHEN.match(part)]
        return f"{phrase} {more[0]}" if more else phrase

    @cached_property
    def things(self) -> str:
        """Of what it is about, what can be "they": many, or the topic."""
        counted = self.counted
        if counted.endswith("s") and not re.search(r"\b(?:hours|days|years|weeks)$", counted):
            return counted
        head, *rest = re.split(rf"\s+(?={_PREPOSITION}\b)", self.topic)
        many = [word for part in rest for word in re.findall(r"\b[a-z]+[^s\W]s\b", part)]
        return many[0] if many and not head.endswith("s") else self.topic

    def phrases(self, start: int = 0) -> list[str]:
        """Its phrases with a preposition, in order."""
        found = re.finditer(
            rf"\b{_PREPOSITION}\s+(?:(?!{_PREPOSITION}\b|{_AUX}\b)[^\s?,]+\s*)+",
            self.text[start:],
            re.IGNORECASE,
        )
        return [match.group().strip() for match in found]

    @property
    def person(self) -> str:
        """A person: of the answer where it asks who, else of itself; may be empty."""
        asks = re.search(r"\bwho(?:m|se)?\b|\bsiapa", self.question, re.IGNORECASE)
        told = [name for name in _called(self.answer) if name not in self.question]
        own = _called(self.question)
        among = (told + own) if asks or not own else (own + told)
        return next((name for name in among if " " in name), among[0] if among else "")

    @property
    def place(self) -> str:
        """A place with its preposition: of the answer where it asks where; may be empty."""
        if re.search(r"\bwhere\b|\bmana\b", self.question, re.IGNORECASE):
            placed = _places(self.answer)
            if placed:
                return placed[-1]
        placed = _places(self.text)
        if placed:
            return placed[-1]
        named = _called(self.text)
        at = self.topic if names(f"x {self.topic}") or not named else named[-1]
        return f"{'di' if self.indonesian else 'at'} {at}" if at else ""

    @property
    def time(self) -> str:
        """When: "in the third year"; may be empty."""
        found = _WHEN.findall(self.text)
        return str(found[-1]) if found else ""

    def naming(self, noun: str) -> str:
        """The longest phrase of it that names such a thing: "the Mill Bridge" for "bridge"."""
        head = rf"{re.escape(noun)}s?"
        if self.indonesian:
            found = re.search(rf"\b{head}\b.*", self.text, re.IGNORECASE)
            return _until_verb(found.group()) if found else ""
        words = rf"(?:(?!{_PREPOSITION}\b|{_AUX}\b|{_WH}\b|(?:the|a|an|that|and)\b)[\w'-]+\s+)"
        found = re.search(
            rf"\b(?:the\s+|a\s+|an\s+)?{words}{{0,4}}{head}\b", self.text, re.IGNORECASE
        )
        return found.group().strip() if found else ""

    def _subject(self) -> str:
        if self.indonesian:
            return _until_verb(self.text[len(self.opening) :].strip())
        rest = self.text[len(self.opening) :].strip()
        aux = re.match(rf"{_AUX}\b\s*", rest, re.IGNORECASE)
        if aux is None:
            return _object(rest) or self.counted
        after = rest[aux.end() :]
        doing = re.match(r"(?:i|we|you|one)\s+(\w+)\b", after, re.IGNORECASE)
        if doing:  # how do I apply for a permit
            return f"{_gerund(doing[1].lower())}{after[doing.end() :]}"
        if self.counted and re.match(rf"(?:\w+ly\s+)?(?:\w+(?:ed|en)|{_IRREGULAR}|there)\b", after):
            return _object(after) or self.counted  # how many trees were brought down by the storm
        return _noun_phrase(after, bare_verb=not re.fullmatch(_BE, aux.group().strip(), re.I))


def _gerund(verb: str) -> str:
    return f"{verb[:-1] if verb.endswith('e') and not verb.endswith('ee') else verb}ing"


def _called(text: str) -> list[str]:
    """The names in a text, without the words that a sentence begins with."""
    small = stop_words("en") | stop_words("id")
    return [name.cut(text) for name in names(text) if name.cut(text).lower() not in small]


def _places(text: str) -> list[str]:
    """The names that follow a preposition of place, with it."""
    found = []
    for name in names(text):
        before = re.search(rf"{_PLACED.pattern}(?:the\s+)?$", text[: name.start], re.IGNORECASE)
        if before:
            found.append(f"{before.group().lower()}{name.cut(text)}")
    return found


def _until_verb(text: str) -> str:
    """An Indonesian phrase up to its verb; the first word is always kept."""
    tokens = list(_TOKEN.finditer(text))
    for token in tokens[1:]:
        word = token.group()
        if word.lower() not in _NO_VERB_ID and word[0].islower() and _VERB_ID.fullmatch(word):
            text = text[: token.start()]
            break
    return _without_end(text)


def _without_end(text: str) -> str:
    return re.sub(
        rf"(?:\s+(?:{_PREPOSITION}|{_ASKED_ID}))+$", "", text.strip(), flags=re.IGNORECASE
    )


def _object(text: str) -> str:
    """The first thing after a verb that has a name or a determiner, and what belongs to it."""
    tokens = [token.group() for token in _TOKEN.finditer(text)]
    for place, token in enumerate(tokens):
        capital = token[0].isupper() and place > 0
        if token.lower() in {"the", "a", "an"} or capital:
            return _noun_phrase(" ".join(tokens[place:]), bare_verb=False)
    return ""


def _noun_phrase(text: str, *, bare_verb: bool) -> str:
    """The phrase that a text begins with, up to its verb.

    Args:
        text: What follows "is", "does", "can" and the like.
        bare_verb: Whether a bare verb is to come.
    """
    tokens = [token.group() for token in _TOKEN.finditer(text)]
    while len(tokens) > 1 and re.fullmatch(_PREPOSITION, tokens[-1].lower()):
        tokens.pop()
    if bare_verb and _ends_in_verb(tokens):
        return " ".join(tokens[:-1])
    kept = 1
    while kept < len(tokens) and not _ends(tokens, kept, bare_verb=bare_verb):
        kept += 1
    while kept > 1 and tokens[kept - 1].lower() in _DETERMINERS | _JOINS:
        kept -= 1
    return " ".join(tokens[:kept])


def _ends_in_verb(tokens: Sequence[str]) -> bool:
    """Whether the last word is the verb: no name, and not of a phrase like "the first year"."""
    if len(tokens) < 2 or not tokens[-1].islower():
        return False
    for token in reversed(tokens[-4:-1]):
        if token[0].isupper() or token[0].isdigit():
            return True
        if token.lower() in _DETERMINERS:
            return False
    return not re.fullmatch(_PREPOSITION, tokens[-2].lower())


def _ends(tokens: Sequence[str], at: int, *, bare_verb: bool) -> bool:
    """Whether the phrase ends before this word."""
    word, before = tokens[at].lower(), tokens[at - 1]
    after = tokens[at + 1].lower() if at + 1 < len(tokens) else ""
    if word in _JOINS or tokens[at][0].isupper() or word[0].isdigit():
        return False
    if word in _DETERMINERS:
        return before.lower() not in _JOINS
    if re.fullmatch(rf"{_AUX}|{_PREPOSITION}|{_IRREGULAR}", word):
        return True
    if word.endswith("ed"):
        return before.lower() not in _DETERMINERS
    verbal = not after or after in _DETERMINERS or bool(re.fullmatch(_PREPOSITION, after))
    named = before[0].isupper()
    return bare_verb and (named or (at > 1 and verbal and after != "of"))

"""Antecedents: the words of an earlier question and answer that a follow-up may refer to.

Regular expressions find them in English and Indonesian; no parser and no model is used.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fathom.text.entities import find_names
from fathom.text.language import detect_language, load_stop_words, split_set

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
_NOUN_PREPOSITIONS = split_set(
    "of in on at along from for with by under near to dari di untuk tentang "
)
"""Prepositions that may continue a noun phrase ("the fee for a permit")."""
_DETERMINERS = split_set("the a an this that these those each every any no some all my our ")
_VERB_ID = re.compile(
    r"(?:(?:di|ter|ber|me)(?=\w{4})\w+|boleh|harus|dapat|bisa|akan|sudah|telah|belum|tidak|tiba|buka|"
    r"tutup|mulai|tinggal|datang|ada|adalah|lahir|wafat|mati|pergi|masuk|keluar|berlaku|itu|yang|"
    r"paling lambat|mengungsi|jadi|ikut|naik|turun|selesai)",
    re.IGNORECASE,
)
_LEADING_VERBS_ID = re.compile(
    r"^(?:(?:berhak|wajib|boleh|harus|bisa|dapat|akan|sudah|(?!meja|mesin|media|menteri)me\w{4,})\s+)+"
    r"(?=\S)",
    re.IGNORECASE,
)
# Nouns with the prefix of a verb; without this list "menteri" (minister) would end a phrase.
_NOT_VERBS_ID = split_set(
    "merrow melati merah meter menit menteri terminal termal media metode berat berita beras "
    "terusan bersih dinas digital direktur diri dinding diskon divisi medan mesin meja merek "
)
_MEASURES = "many|much|long|often|old|far|deep|high|big|large|heavy|soon|fast|wide|tall"
_OPENING = re.compile(
    rf"^(?:(?:{_PREPOSITION}|until|since)\s+)?(?:{_WH})\b(?:\s+(?:{_MEASURES}))?", re.IGNORECASE
)
_QUESTION_WORD_ID = (
    r"(?:apa(?:kah)?|siapa(?:kah)?|kapan(?:kah)?|mana(?:kah)?|berapa(?:kah)?|mengapa|kenapa|"
    r"bagaimana(?:kah)?|seberapa)"
)
_THERE = re.compile(
    r"there\b(?:\s+(?:be|been|still|also|already|now|usually|normally|ever)\b)*"
    r"(?:\s+(?:any|some|enough)\b)?\s*",
    re.IGNORECASE,
)
"""The words before the thing whose existence a question asks for: "Is there any parking"."""
_EXISTS_ID = r"(?:ada(?:kah)?|tersedia(?:kah)?|terdapat)"
# "Ada" before a capital is a name: "Ada Lovelace".
_THERE_ID = re.compile(
    rf"(?!(?-i:[A-Z])\w+\s+(?-i:[A-Z])){_EXISTS_ID}\s+(?:{_QUESTION_WORD_ID}\s+(?:saja\s+|banyak\s+)?)?"
    r"(?:(?:suatu|sebuah|seorang|beberapa)\s+)?",
    re.IGNORECASE,
)
_PLACE_THERE_ID = re.compile(
    rf"(?P<place>(?:di|ke|dari|pada|untuk)\s[^?]*?)(?<!\s)\s+{_EXISTS_ID}\s+(?P<thing>\S[^?]*)$",
    re.IGNORECASE,
)
_OPENING_THERE_ID = re.compile(rf"^{_EXISTS_ID}\s+(?-i:[a-z])", re.IGNORECASE)
_INDEFINITE = re.compile(r"an?\s+", re.IGNORECASE)
_NOUNS_IN_ED = split_set("speed need seed feed breed bed shed weed creed greed steed reed")
_NOUNS_IN_EN = (
    r"(?:garden|kitchen|(?:wo)?men|children|citizen|chicken|oxygen|linen|green|ten|seven)"
)
_OFFERS = split_set(
    "have offer provide serve sell lend rent accept allow need require use cover include contain "
    "support employ produce deliver own run make pay give hold get "
)
"""Verbs that follow the subject of a question with "does": "does the hotel offer breakfast"."""
_PROVIDES = split_set("have offer provide serve sell lend rent")
"""The verbs whose object is a thing that the subject offers."""
_UNITS = re.compile(
    r"(?:tonn?es|tons|kilo(?:gram)?s|grams|lit(?:re|er)s|(?:kilo)?met(?:re|er)s|pounds|gallons|euros|dollars)\s"
)
"""The units that say how much of a thing there is, which "it" does not stand for."""
_ACT = re.compile(r"(?P<verb>\w+ing)\s+(?:(?:for|to|with)\s+)?(?P<thing>(?:an?|the|my|our)\s+.+)")
"""An act and the thing that it is done to: "applying for a permit"."""
_DOUBLED = re.compile(
    r"(?:[^aeiou]*[aeiou][bdgklmnprt]|.*(?:submit|commit|permit|refer|begin|forget|reset|cancel))"
)
"""The verbs that double their last letter before "-ing": "reset", "plan"."""
_LOOSE_END = re.compile(rf"{_PREPOSITION}|{_QUESTION_WORD_ID}", re.IGNORECASE)
_OPENING_ID = re.compile(
    rf"^(?:(?:{_PREPOSITION}|setiap|jam|hari|pukul|tahun|bulan|tanggal|sejak|sampai)\s+){{0,2}}"
    rf"(?:(?:se)?berapa\b(?:\s+(?:lama|banyak|besar|jauh|sering|tinggi|dalam|berat)\b)?|{_QUESTION_WORD_ID}\b)"
    r"(?:\s+(?:saja|cara|yang)\b)*",
    re.IGNORECASE,
)
ASKS_ATTRIBUTE = rf"(?:who|what|how (?:{_MEASURES}))\s+(?:is|are|was|were)\s+the\b"
"""The words before an attribute that a question asks for: "Who is the", "How long is the"."""
_ROLE_ID = re.compile(r"(?-i:[a-z])\w+\s+")
_TOKEN = re.compile(r"[^\s?,;:()]+")
_PLACE_PREPOSITION = re.compile(r"\b(?:at|in|on|along|di|ke|pada)\s+", re.IGNORECASE)
_TIMES = (
    r"january|february|march|april|may|june|july|august|september|october|november|december|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|year|month|week|day|morning|"
    r"evening|night|summer|winter|spring|autumn|season"
)
_TIME_PHRASE = re.compile(
    rf"\b(?:in|on|at|after|before|during|since|until|by)\s+(?:[\w'-]+\s+){{0,4}}?"
    rf"(?:(?:{_TIMES})\b(?:\s+\d+)?|\d{{4}}\b)",
    re.IGNORECASE,
)
_AMOUNTS = split_set(
    "fee fees price prices cost costs charge fare rent tariff rate salary pay wage population area "
    "size weight height length depth width speed temperature capacity revenue turnover profit "
    "income range age phone address email name title number deadline status colour color "
    "warranty guarantee hours"
)
"""The English attributes; each names no thing that has a price or a history of its own."""
_HEAD = re.compile(r"(?:the\s+)?(?:[\w-]+\s+){0,2}?([\w-]+)\s+(?:of|for)\s+(?=\S)", re.IGNORECASE)
_HEAD_ID = re.compile(
    r"(?:biaya|gaji|upah|iuran|tarif|harga|ongkos|retribusi|syarat|persyaratan|batas waktu|tenggat|"
    r"jadwal|jumlah|alamat|masa berlaku|nomor telepon|luas|tinggi|panjang|berat)\s+(?=\S)",
    re.IGNORECASE,
)
_SPEAKS_OF_AMOUNT = re.compile(
    r"\b(?:rise|rose|risen|rising|fall|fell|fallen|falling|grow|grew|grown|paid|pays?|due|much|lower|"
    r"higher|cheaper|(?:increas|decreas|chang|drop|refund|includ|cover|waiv|reduc|calculat|measur|"
    r"compar|agree)\w*)\b",
    re.IGNORECASE,
)
"""The predicates that speak of an amount, not of the thing that has it."""
_SPEAKS_OF_DATE = re.compile(
    r"\b(?:(?:extend|miss|postpon|expir|chang|mov)\w*|pass)\b", re.IGNORECASE
)
"""The predicates that speak of a deadline."""
_SPEAKS_OF_WARRANTY = re.compile(
    r"\b(?:(?:cover|includ|expir|extend|start|transfer|end)\w*|begins?|lasts?|valid|void|run)\b",
    re.IGNORECASE,
)
"""The predicates that speak of a warranty."""
_FIRST_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


@dataclass(frozen=True)
class PriorQuestion:
    """The question before a follow-up, with its answer.

    The properties are the words that a follow-up may refer to.

    Attributes:
        question: The question, complete without the conversation before it.
        answer: The answer given; empty if it is unknown.
    """

    question: str
    answer: str = ""

    @property
    def text(self) -> str:
        """The question without the punctuation at its end."""
        return self.question.rstrip(" ?.!")

    @cached_property
    def is_indonesian(self) -> bool:
        """Return whether the question has an Indonesian question word, or begins with "Ada"."""
        if re.search(rf"\b{_QUESTION_WORD_ID}\b", self.question, re.IGNORECASE):
            return True
        # Ada is a name too.
        opens = _OPENING_THERE_ID.match(self.question)
        return bool(opens) and detect_language(self.question) == "id"

    @cached_property
    def opening(self) -> str:
        """The question words at the start, with a counted noun: "how many visits", "di mana".

        Empty if the question begins otherwise.
        """
        rule = _OPENING_ID if self.is_indonesian else _OPENING
        match = rule.match(self.text)
        if match is None:
            return ""
        if self.is_indonesian:
            return match.group()
        rest = self.text[match.end() :]
        counted = re.match(
            rf"(?:\s+(?!{_AUX}\b|(?!of\b){_PREPOSITION}\b)[\w'-]+)*(?=\s+{_AUX}\b)", rest
        )
        if counted is None and match.group().lower().endswith("many"):
            # "how many men work": no auxiliary follows the noun, so one word is taken.
            counted = re.match(r"\s+[\w-]+", rest)
        return match.group() + (counted.group() if counted else "")

    @cached_property
    def counted_noun(self) -> str:
        """The noun after English question words: "visits" in "how many visits"; else empty."""
        match = _OPENING.match(self.opening)
        return self.opening[match.end() :].strip() if match and not self.is_indonesian else ""

    @cached_property
    def topic(self) -> str:
        """The subject of the question as a follow-up names it; empty if the rules find none.

        It is `topic_phrase`, but a thing whose existence was asked for is known from then on: "Is
        there a fee?" gives "the fee".
        """
        if self._asks_existence:
            return _INDEFINITE.sub("the ", self.topic_phrase, count=1)
        return self.topic_phrase

    @cached_property
    def topic_phrase(self) -> str:
        """The subject of the question, in its own words; empty if the rules find none.

        A subject without a name gets the first phrase with one: "the bridge in Oslo".
        """
        # A resolved follow-up ends in its topic in brackets: "Is there parking (the mill)".
        added = re.search(r"\(([^()]+)\)$", self.text)
        if added:
            return added[1]
        phrase = self._find_subject()
        if find_names(phrase.strip()) or not phrase:
            return phrase
        at = self.text.find(phrase) + len(phrase)
        # "the bridge" alone may be any bridge; a phrase with a name tells which. The "x" keeps the
        # first word of the phrase from being taken for the first word of a sentence.
        more = [
            part
            for part in self.list_phrases(at)
            if find_names(f"x {part}") and not _TIME_PHRASE.match(part)
        ]
        return f"{phrase} {more[0]}" if more else phrase

    @cached_property
    def owner(self) -> str:
        """The thing whose attribute the question asks for; empty if it asks for none.

        In "Who is the chair of the Harbour Society?" it is "the Harbour Society".
        """
        topic = self.topic_phrase
        if self.is_indonesian:
            role = _ROLE_ID.match(topic)
            return topic[role.end() :] if role and self.opening.lower() == "siapa" else ""
        head, _, owner = topic.partition(" of ")
        is_plain = not re.search(rf"\s{_PREPOSITION}\s", head) and self.text.endswith(topic)
        return owner if is_plain and re.match(ASKS_ATTRIBUTE, self.text, re.I) else ""

    @cached_property
    def plural_topic(self) -> str:
        """The phrase that "they" may stand for: a plural in the question, else its topic."""
        if self._answered_subject and not self.topic.endswith("s"):
            return self._answered_subject
        counted = self.counted_noun
        # Units of time are counted, but "they" does not refer to them.
        if counted.endswith("s") and not re.search(r"\b(?:hours|days|years|weeks)$", counted):
            return counted
        head, *rest = re.split(rf"(?<!\s)\s+(?={_PREPOSITION}\b)", self.topic)
        plurals = [word for part in rest for word in re.findall(r"\b[a-z]+[^s\W]s\b", part)]
        return plurals[0] if plurals and not head.endswith("s") else self.topic

    def list_phrases(self, start: int = 0) -> list[str]:
        """Return the prepositional phrases of `text` from the index `start` on, in order."""
        matches = re.finditer(
            rf"\b{_PREPOSITION}\s+(?:(?!{_PREPOSITION}\b|{_AUX}\b)[^\s?,]+\s*)+",
            self.text[start:],
            re.IGNORECASE,
        )
        return [match.group().strip() for match in matches]

    @cached_property
    def thing(self) -> str:
        """The thing that "it" mostly stands for; the topic if the rules find no other.

        It is the owner of an attribute ("the fee for a permit"), the object of an act ("applying
        for a permit") or what is counted ("days of annual leave").
        """
        counted = self.counted_noun.partition(" of ")[2]
        if counted:
            return self.topic if _UNITS.match(self.counted_noun) else counted
        if self.counted_noun and self.act:
            # "which form do I need for a refund": it is the form for a refund.
            return f"the {self.counted_noun} {self.act.partition(' ')[2]}".strip()
        if self._offered and self.topic.islower() and self.topic.endswith("s"):
            # "Do visitors need a badge": a single thing is not the visitors.
            return _INDEFINITE.sub("the ", self._offered, count=1)
        act = _ACT.fullmatch(self.topic) if self.act else None
        if act:
            return act["thing"]
        return get_attribute_owner(self.topic, is_indonesian=self.is_indonesian)

    @property
    def offered_thing(self) -> str:
        """The object of a question for what a thing has: "parking of the mill"; else empty."""
        verb = self._words_after_verb[len(self.topic) :].strip().partition(" ")[0]
        return f"{self._offered} of {self.topic}" if self._offered and verb in _PROVIDES else ""

    @cached_property
    def _offered(self) -> str:
        """The object of a question such as "Does the mill have parking?"; else empty."""
        verb, _, offered = self._words_after_verb[len(self.topic) :].strip().partition(" ")
        return offered if self.topic and not self.opening and verb.lower() in _OFFERS else ""

    @cached_property
    def _answered_subject(self) -> str:
        """The name in the answer to a question for its own subject: "Which firm delivers paper"."""
        if not re.match(r"(?:who|which)\b", self.text, re.IGNORECASE) or self._words_after_verb:
            return ""
        names = [name for name in _list_names(self.answer) if name not in self.question]
        return next((name for name in names if " " in name), names[0] if names else "")

    @cached_property
    def act(self) -> str:
        """The act that the question asks about, such as "apply for a permit"; may be empty."""
        doer = re.match(r"(?:i|we|you|one)\s+(?=\w)", self._words_after_verb, re.IGNORECASE)
        return self._words_after_verb[doer.end() :] if doer else ""

    @property
    def person(self) -> str:
        """The name that "he" or "she" may stand for; empty if there is none.

        Names of the answer come first if the question asks who or has no names, else names of the
        question. Names of several words are preferred.
        """
        asks = re.search(r"\bwho(?:m|se)?\b|\bsiapa", self.question, re.IGNORECASE)
        answer_names = [name for name in _list_names(self.answer) if name not in self.question]
        question_names = _list_names(self.question)
        candidates = (
            (answer_names + question_names)
            if asks or not question_names
            else (question_names + answer_names)
        )
        return next(
            (name for name in candidates if " " in name), candidates[0] if candidates else ""
        )

    @property
    def place(self) -> str:
        """The place that "there" may stand for, with its preposition; empty if there is none.

        It is the last place of the answer if the question asks where, else the last place of the
        question, else its topic or last name.
        """
        if re.search(r"\bwhere\b|\bmana\b", self.question, re.IGNORECASE):
            places = _list_places(self.answer)
            if places:
                return places[-1]
        places = _list_places(self.text)
        if places:
            return places[-1]
        if self._asks_existence:
            phrases = [part for part in self.list_phrases() if _PLACE_PREPOSITION.match(f"{part} ")]
            untimed = [part for part in phrases if not _TIME_PHRASE.match(part)]
            return untimed[-1] if untimed else ""
        named = _list_names(self.text)
        location = self.topic if find_names(f"x {self.topic}") or not named else named[-1]
        return f"{'di' if self.is_indonesian else 'at'} {location}" if location else ""

    @property
    def time(self) -> str:
        """The last time in the question, such as "in the third year"; empty if there is none."""
        times = _TIME_PHRASE.findall(self.text)
        return str(times[-1]) if times else ""

    def find_phrase(self, noun: str) -> str:
        """Return the phrase of the question around a noun: "the Mill Bridge" for "bridge".

        Empty if the question does not contain the noun.
        """
        head = rf"{re.escape(noun)}s?"
        if self.is_indonesian:
            match = re.search(rf"\b{head}\b.*", self.text, re.IGNORECASE)
            return _cut_at_verb(match.group()) if match else ""
        words = rf"(?:(?!{_PREPOSITION}\b|{_AUX}\b|{_WH}\b|(?:the|a|an|that|and)\b)[\w'-]+\s+)"
        match = re.search(
            rf"\b(?:the\s+|a\s+|an\s+)?{words}{{0,4}}{head}\b", self.text, re.IGNORECASE
        )
        return match.group().strip() if match else ""

    @cached_property
    def _asks_existence(self) -> bool:
        """Return whether the question asks for the existence of a thing: "Is there parking"."""
        if not self.is_indonesian:
            return bool(_THERE.match(self._words_after_verb))
        rest = self.text[len(self.opening) :].strip()
        return bool(_THERE_ID.match(rest) or _PLACE_THERE_ID.match(rest))

    @cached_property
    def _words_after_verb(self) -> str:
        """The words after an English opening and its auxiliary verb; empty without such a verb."""
        rest = self.text[len(self.opening) :].strip()
        aux = None if self.is_indonesian else re.match(rf"{_AUX}\b\s*", rest, re.IGNORECASE)
        return rest[aux.end() :] if aux else ""

    def _starts_with_participle(self, after: str) -> bool:
        """Return whether the opening is the subject, so that the topic comes after the verb.

        The topic of "how many trees were brought down by the storm" is the storm, and that of "what
        was decided about the playground" the playground.

        Args:
            after: The words after the auxiliary verb.
        """
        if self.counted_noun:
            form = rf"(?:\w+ly\s+)?(?!{_NOUNS_IN_EN}\b)(?:\w+(?:ed|en)|{_IRREGULAR}|there)\b"
            return re.match(form, after) is not None
        asks_subject = self.opening.lower() in {"what", "who"}
        return asks_subject and re.match(r"\w{3,}ed\s", after) is not None

    def _find_subject(self) -> str:
        """Return the noun phrase after the opening and the auxiliary verb; may be empty."""
        rest = self.text[len(self.opening) :].strip()
        if self.is_indonesian:
            if self.opening.lower().endswith(" yang"):
                rest = _LEADING_VERBS_ID.sub("", rest)
            return _cut_at_verb(_drop_existence(rest))
        aux = re.match(rf"{_AUX}\b\s*", rest, re.IGNORECASE)
        if aux is None:
            return _find_object(rest) or self.counted_noun or _find_bare_object(rest)
        after = self._words_after_verb
        doing = re.match(r"(?:i|we|you|one)\s+(\w+)\b", after, re.IGNORECASE)
        # "how do I apply for a permit": the topic is the act, "applying for a permit".
        if doing:
            return f"{_form_gerund(doing[1].lower())}{after[doing.end() :]}"
        if self._starts_with_participle(after):
            return _find_object(after) or self.counted_noun or after
        there = _THERE.match(after)
        if there:
            return _take_existing_thing(after[there.end() :])
        return _take_noun_phrase(after, bare_verb=not re.fullmatch(_BE, aux.group().strip(), re.I))


def _drop_existence(text: str) -> str:
    """Return an Indonesian text without "ada" before its thing: "parkir" for "ada parkir".

    A place before "ada" follows the thing: "di kilang ada parkir" gives "parkir di kilang".
    """
    placed = _PLACE_THERE_ID.match(text)
    if placed:
        return f"{placed['thing']} {placed['place']}"
    there = _THERE_ID.match(text)
    return text[there.end() :] if there else text


def _take_existing_thing(text: str) -> str:
    """Return the thing in the words after "there": "parking at the mill"; may be empty."""
    if re.match(rf"{_PREPOSITION}\b", text, re.IGNORECASE):
        # "what is there to see at the mill": no thing is named, only where it would be.
        return _find_object(text)
    return _take_noun_phrase(text, bare_verb=False)


def _form_gerund(verb: str) -> str:
    """Return the form in -ing of a verb: "apply" gives "applying"."""
    if _DOUBLED.fullmatch(verb):
        return f"{verb}{verb[-1]}ing"
    return f"{verb[:-1] if verb.endswith('e') and not verb.endswith('ee') else verb}ing"


def _list_names(text: str) -> list[str]:
    """Return the names in a text, without stop words whose capital only begins a sentence."""
    small = load_stop_words("en") | load_stop_words("id")
    return [name.cut(text) for name in find_names(text) if name.cut(text).lower() not in small]


def _list_places(text: str) -> list[str]:
    """Return the names after a preposition of place, each with its preposition in lower case.

    Names of months and days are no places.
    """
    places = []
    for name in find_names(text):
        preposition = re.search(
            rf"{_PLACE_PREPOSITION.pattern}(?:the\s+)?$", text[: name.start], re.IGNORECASE
        )
        if preposition:
            places.append(f"{preposition.group().lower()}{name.cut(text)}")
    return [place for place in places if not _TIME_PHRASE.fullmatch(place)]


def _cut_at_verb(text: str) -> str:
    """Return the part of an Indonesian phrase before its verb, the first word always included."""
    tokens = list(_TOKEN.finditer(text))
    for token in tokens[1:]:
        word = token.group()
        if word.lower() not in _NOT_VERBS_ID and word[0].islower() and _VERB_ID.fullmatch(word):
            text = text[: token.start()]
            break
    return _strip_end(text)


def _strip_end(text: str) -> str:
    """Return a phrase without prepositions and question words at its end."""
    text = text.strip()
    while len(parts := text.rsplit(None, 1)) == 2 and _LOOSE_END.fullmatch(parts[1]):
        text = parts[0]
    return text


def _find_bare_object(text: str) -> str:
    """Return the last word of "insurance covers theft", a subject with a verb; else empty."""
    match = re.fullmatch(r"(?:\w+\s+)?\w+s\s+([a-z]\w+)", text)
    return match[1] if match else ""


def _find_object(text: str) -> str:
    """Return the first noun phrase that begins with an article or a name; empty if none does."""
    tokens = [token.group() for token in _TOKEN.finditer(text)]
    for position, token in enumerate(tokens):
        capital = token[0].isupper() and position > 0
        if token.lower() in {"the", "a", "an"} or capital:
            return _take_noun_phrase(" ".join(tokens[position:]), bare_verb=False)
    return ""


def _take_noun_phrase(text: str, *, bare_verb: bool) -> str:
    """Return the noun phrase at the start of a text, up to its verb.

    Args:
        text: The words after an auxiliary verb such as "is", "does" or "can".
        bare_verb: Whether the verb is an infinitive, as after "does".
    """
    tokens = [token.group() for token in _TOKEN.finditer(text)]
    while len(tokens) > 1 and re.fullmatch(_PREPOSITION, tokens[-1].lower()):
        tokens.pop()
    verb_at = _find_offer(tokens) if bare_verb else 0
    if verb_at:
        return " ".join(tokens[:verb_at])
    if bare_verb and _ends_in_verb(tokens):
        subject = tokens[:-1]
        return " ".join(subject[:-1] if subject[-1] == "be" else subject)
    size = 1
    while size < len(tokens) and not _ends_phrase(tokens, size, bare_verb=bare_verb):
        size += 1
    # No noun phrase ends in a preposition or an article.
    while size > 1 and tokens[size - 1].lower() in _DETERMINERS | _NOUN_PREPOSITIONS:
        size -= 1
    return " ".join(tokens[:size])


def _find_offer(tokens: Sequence[str]) -> int:
    """Return the index of a verb such as "offer" after a short subject; 0 without one.

    The last of several such words counts: in "does the health cover include" it is "include".
    """
    start = 2 if tokens and tokens[0].lower() in _DETERMINERS else 1
    at = next((n for n in range(start, min(len(tokens) - 1, 5)) if tokens[n] in _OFFERS), 0)
    return at + 1 if at and at + 2 < len(tokens) and tokens[at + 1] in _OFFERS else at


def _ends_in_verb(tokens: Sequence[str]) -> bool:
    """Return whether the last word is likely a verb.

    It is not if it has a capital, follows a preposition, or ends a phrase such as "the first year":
    with an article among the three words before it, and no name or number after the article.
    """
    if len(tokens) < 2 or not tokens[-1].islower():
        return False
    for token in reversed(tokens[-4:-1]):
        if token[0].isupper() or token[0].isdigit():
            return True
        if token.lower() in _DETERMINERS:
            return False
    return not re.fullmatch(_PREPOSITION, tokens[-2].lower())


def _ends_phrase(tokens: Sequence[str], at: int, *, bare_verb: bool) -> bool:
    """Return whether a noun phrase ends before the word at index `at`.

    Args:
        tokens: The words of the text.
        at: The index of a word, from 1.
        bare_verb: Whether the verb is an infinitive, as after "does".
    """
    word, before = tokens[at].lower(), tokens[at - 1]
    after = tokens[at + 1].lower() if at + 1 < len(tokens) else ""
    if word in _NOUN_PREPOSITIONS or tokens[at][0].isupper() or word[0].isdigit():
        return False
    if word in _DETERMINERS:
        return before.lower() not in _NOUN_PREPOSITIONS
    if re.fullmatch(rf"{_AUX}|{_PREPOSITION}|{_IRREGULAR}", word):
        return True
    # After an article a participle is an adjective: "the revised plan".
    if word.endswith("ed") and word not in _NOUNS_IN_ED:
        return before.lower() not in _DETERMINERS
    # A word before an article, a preposition or the end of the text is likely a verb.
    verbal = not after or after in _DETERMINERS or bool(re.fullmatch(_PREPOSITION, after))
    named = before[0].isupper()
    is_long = at > 1 or before.endswith("s")
    return bare_verb and (named or (is_long and verbal and after != "of"))


def is_attribute(phrase: str) -> bool:
    """Return whether a phrase without its article ends in an attribute: "the net income"."""
    return phrase.rpartition(" ")[2].lower() in _AMOUNTS


def get_attribute_owner(phrase: str, *, is_indonesian: bool = False) -> str:
    """Return the thing whose attribute a phrase names; the phrase itself if it names none.

    Args:
        phrase: A noun phrase, such as "the fee for a permit" or "biaya izin usaha".
        is_indonesian: Whether it is Indonesian.

    Returns:
        The thing, such as "a permit" or "izin usaha".
    """
    if is_indonesian:
        head = _HEAD_ID.match(phrase)
    else:
        head = _HEAD.match(phrase)
        if head is not None and not is_attribute(head[1]):
            head = None
    return phrase[head.end() :] if head else phrase


def speaks_of_attribute(question: str, phrase: str) -> bool:
    """Return whether the predicate of a question fits the attribute that a phrase names.

    Args:
        question: The question, such as "Did it rise?".
        phrase: The phrase, such as "the price of bread".
    """
    rules = {
        "deadline": _SPEAKS_OF_DATE,
        "warranty": _SPEAKS_OF_WARRANTY,
        "guarantee": _SPEAKS_OF_WARRANTY,
    }
    words = phrase.lower().split()
    rule = next((rules[word] for word in words if word in rules), _SPEAKS_OF_AMOUNT)
    return rule.search(question) is not None


def make_indefinite(phrase: str) -> str:
    """Return a noun phrase with "a" or "an" in place of its article."""
    bare = _FIRST_ARTICLE.sub("", phrase)
    return f"{'an' if bare[:1].lower() in set('aeiou') else 'a'} {bare}"

"""Rules that turn an Indonesian sentence into questions by replacing the answer."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from fathom.question_maker.asking.base import PosedQuestion, is_plain, tidy_question
from fathom.question_maker.asking.verbs import split_words
from fathom.text.answer_type import find_spans
from fathom.text.entities import find_names
from fathom.types import Span

_IS = r"(?:adalah|merupakan|ialah)"
_VERB = re.compile(
    rf"\s(?P<verb>(?:telah |sudah |akan |dapat |harus |wajib |boleh |pernah |mulai |juga |hanya |"
    rf"pertama kali ){{0,5}}"
    rf"(?:{_IS}|lahir|wafat|meninggal(?: dunia)?|terletak|berada|tinggal|bekerja|"
    r"(?:di|ber|ter|me|mem|men|meng|meny)[a-z]{3,}))\s"
)
_NO_SUBJECT = split_words("""
ini itu tersebut dia ia mereka kami kita saya beliau hal namun tetapi akan selain jika apabila bila
ketika saat setelah sebelum karena oleh untuk dalam pada di ke dari dengan sejak sebagai seperti
menurut berdasarkan meskipun walaupun sehingga bahwa yang para salah beberapa banyak semua setiap
tidak bukan ada adapun kemudian lalu selanjutnya sedangkan sementara dan atau juga maka namun
keduanya keempat ketiga kedua pertama hingga sampai bersama terdapat selama antara hampir bahkan
merupakan adalah sempat seluruh sebuah seorang suatu sebagian orang pihak
""")
_VERB_FORM = re.compile(r"(?:di|ber|ter|mem|men|meng|meny)[a-z]{4,}$")
_POINTS_BACK = re.compile(
    r"\b(?:ini|itu|tersebut|dia|ia|mereka|beliau|kami|kita|saya|anda|berikut|sebagaimana|dimaksud|"
    r"di atas|di bawah|keduanya|tadi)\b|\b\w{3,}nya\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:tidak|bukan|belum|tanpa|jangan)\b", re.IGNORECASE)
_ENDS = re.compile(
    r"[,;:](?=\s)|\s[\u2013\u2014-]\s|\s(?:yang|karena|ketika|sehingga|namun|tetapi|sedangkan|"
    r"sementara|"
    r"meskipun|walaupun|apabila|jika|setelah|sebelum|agar|supaya|dimana|di mana|sebagai|seperti|"
    r"dan (?=(?:di|ber|ter|me)[a-z]{4,}))(?:\b|(?<=\s))"
)
_TIME_BEFORE = re.compile(
    r"(?P<prep>pada|sejak|hingga|sampai|mulai)\s+(?:(?:tahun|tanggal|hari|bulan)\s+)?$"
)
_YEAR_BEFORE = re.compile(r"(?P<prep>)\b(?:tahun|tanggal)\s+$")
_WHEN_WORDS = {"sejak": "Sejak kapan", "hingga": "Hingga kapan", "sampai": "Sampai kapan",
          "mulai": "Mulai kapan"}  # fmt: skip
_PLACE_BEFORE = re.compile(
    r"\bdi\s+(?:(?:kota|kabupaten|provinsi|desa|kecamatan|daerah|wilayah)\s+)?$"
)
_PLACE_VERBS = re.compile(
    r"\b(?:lahir|wafat|meninggal|terletak|berada|tinggal|berlokasi|berpusat|berkedudukan|"
    r"dimakamkan|"
    r"didirikan|dibangun|disimpan|digelar|diadakan|diselenggarakan|dilahirkan|ditemukan|dibentuk|"
    r"berkantor|bermarkas|ditandatangani|dilaksanakan)\b"
)
_FIGURE = (
    r"(?:\d[\d.,]{0,30}\d|\d|dua|tiga|empat|lima|enam|tujuh|delapan|sembilan|sepuluh|sebelas|"
    r"(?:dua|tiga|empat|lima|enam) (?:belas|puluh))"
)
_SCALE = r"(?:\s(?:ribu|juta|miliar|triliun))?"
_UNIT = r"detik|menit|jam|hari(?: kerja| kalender)?|minggu|bulan|tahun|meter|km|kilometer|persen|%"
_COUNT = re.compile(
    rf"(?<!\w)(?:sekitar |kurang lebih |lebih dari |hampir )?(?P<bound>paling (?:lama|lambat|"
    rf"banyak|sedikit|"
    rf"singkat|kurang) )?(?P<num>{_FIGURE}{_SCALE})\s(?P<things>(?:{_UNIT}|(?!(?:pada|dari|"
    rf"dengan|dalam|untuk|oleh|kepada|antara|yang|hingga|sampai)\b)[a-z]{{4,}}))\b"
    r"(?!\s(?:lalu|sebelumnya|kemudian|pertama))"
)
_MONEY = re.compile(rf"(?P<num>Rp\.?\s?\d[\d.,]*\d(?:,-)?{_SCALE})")
_MEASURE = re.compile(
    rf"^(?P<what>(?:luas|tinggi|panjang|lebar|berat|jumlah penduduk|populasi|kedalaman|ketinggian)"
    rf"(?: wilayah)?) (?:sekitar |kurang lebih )?(?P<num>{_FIGURE}{_SCALE}(?: (?:km\u00b2|km2|m2|"
    rf"km|meter|"
    r"hektar|hektare|jiwa|ton|kg|cm|persegi|mdpl))?)"
)
_AGENT = re.compile(r"\boleh\s+(?P<who>.+)$")
_UNIQUE_ROLE = re.compile(r"^(?P<what>(?:[a-z]+ ){1,4}(?:dari |di |untuk )?(?P<whose>[A-Z].*))$")
# Nouns and attributes that only one thing can have.
_UNIQUE = re.compile(
    r"\b(?:ter[a-z]{4,}|pertama|kedua|ketiga|terakhir|ibu kota|pusat|presiden|ketua|direktur|"
    r"pendiri|raja|"
    r"ratu|gubernur|bupati|wali kota|menteri|kepala|penerus|pendahulu|lambang|mata uang|bahasa "
    r"resmi|"
    r"satuan|unsur|putra|putri|istri|suami|ayah|penulis|pencipta|penemu|pemimpin|nama)\b"
)
_PEOPLE = re.compile(
    r"\b(?:seorang|presiden|gubernur|bupati|wali kota|raja|ratu|ketua|pendiri|direktur|menteri|"
    r"kepala|"
    r"pemain|penulis|anak|putra|putri|cucu|istri|suami|ayah|ibu(?! kota)|penguasa|pejabat|"
    r"perdana menteri|"
    r"penyanyi|aktor|aktris|politikus|pelatih|pemimpin|jenderal|ilmuwan|tokoh)\b"
)
_ITEM_LIST = re.compile(
    r"^(?:atas|dari)\s+(?P<items>[^;:.]{3,60}(?:, [^,;:.]{3,60})+,? dan [^,;:.]{3,60})$"
)
_ITEMS = re.compile(r",\s+dan\s+|,\s+|(?<!\s)\s+dan\s+(?=[^,]{0,80}$)")
_BECAUSE = re.compile(r"^,?\s*karena\s+(?P<why>[^.;]{8,})")
_SHORTEST, _LONGEST = 3, 24


@dataclass(frozen=True, slots=True)
class _Clause:
    """The main clause of a sentence: its subject, its verb, and the tail up to its end."""

    sentence: str
    subject: str
    verb: str
    tail: Span

    @property
    def rest(self) -> str:
        return self.tail.cut(self.sentence)

    def omit(self, start: int, end: int) -> str:
        """Return the verb and the tail without one span; offsets are those of the sentence."""
        before, after = self.sentence[self.tail.start : start], self.sentence[end : self.tail.end]
        return f"{self.verb} {before} {after}"


def pose_questions(sentence: str, common: Collection[str]) -> list[PosedQuestion]:
    """Return the questions of an Indonesian sentence, as `asking.pose_questions` does."""
    clause = _parse_clause(sentence, common) if is_plain(sentence) else None
    if clause is None:
        return []
    questions = [question for rule in _RULES for question in rule(clause)]
    return [question for question in questions if _is_sound(question)]


def _is_sound(question: PosedQuestion) -> bool:
    cut_off = re.search(
        r"\b(?:dan|atau|di|ke|dari|oleh|pada|untuk|dengan|yang|adalah|tahun|sekitar)\?$",
        question.text,
    )
    length = len(question.text.split())
    balanced = question.text.count("(") == question.text.count(")")
    return (
        _SHORTEST <= length <= _LONGEST
        and balanced
        and not cut_off
        and not _POINTS_BACK.search(question.text)
    )


def _parse_clause(sentence: str, common: Collection[str]) -> _Clause | None:
    verb = _VERB.search(sentence)
    subject = sentence[: verb.start()] if verb else ""
    first = subject.partition(" ")[0].lower()
    if (
        verb is None
        or first in _NO_SUBJECT
        or _VERB_FORM.match(first)
        or not 1 <= len(subject.split()) <= 9
    ):
        return None
    if re.search(r"[,;:()]|\byang\b", subject) or _POINTS_BACK.search(subject):
        return None
    tail = Span(verb.end(), len(sentence) - 1)
    tail = _find_core(sentence, tail)
    # A negated clause answers no question, and a quotation is from another speaker.
    if _DENIES.search(sentence[: tail.end]) or '"' in sentence:
        return None
    small = first in common and subject[1:2].islower()
    return _Clause(
        sentence, subject[0].lower() + subject[1:] if small else subject, verb["verb"], tail
    )


def _find_core(sentence: str, tail: Span) -> Span:
    protected = [
        *(find_spans("time", sentence, "") or ()),
        *(find_spans("place", sentence, "") or ()),
    ]
    for match in _ENDS.finditer(sentence, tail.start, tail.end):
        # A comma within a date or a place does not end the clause.
        if not any(span.start < match.start() < span.end for span in protected):
            return Span(tail.start, match.start())
    return tail


def _ask_when(clause: _Clause) -> Iterator[PosedQuestion]:
    if re.search(_IS, clause.verb):
        return
    tail = clause.tail
    inside = [
        span
        for span in find_spans("time", clause.sentence, "") or ()
        if tail.start <= span.start and span.end <= tail.end
    ]
    text = clause.sentence[tail.start : inside[0].start] if len(inside) == 1 else ""
    before = _TIME_BEFORE.search(text) or _YEAR_BEFORE.search(text)
    if before and not re.match(
        r"\s*(?:hingga|sampai|-|\u2013|dan)\b", clause.sentence[inside[0].end :]
    ):
        rest = clause.omit(tail.start + before.start(), inside[0].end)
        word = _WHEN_WORDS.get(before["prep"], "Kapan")
        yield PosedQuestion(
            tidy_question(f"{word} {clause.subject} {rest}"),
            inside[0],
            "when",
            subject=clause.subject,
        )


def _ask_where(clause: _Clause) -> Iterator[PosedQuestion]:
    if not _PLACE_VERBS.search(clause.verb):
        return
    tail = clause.tail
    for span in find_spans("place", clause.sentence, clause.subject) or ():
        before = _PLACE_BEFORE.search(clause.sentence[tail.start : max(span.start, tail.start)])
        if (
            before
            and span.end <= tail.end
            and not find_spans("time", span.cut(clause.sentence), "")
        ):
            rest = clause.omit(tail.start + before.start(), span.end)
            yield PosedQuestion(
                tidy_question(f"Di mana {clause.subject} {rest}"),
                span,
                "where",
                subject=clause.subject,
            )
            return


def _ask_count(clause: _Clause) -> Iterator[PosedQuestion]:
    measured = _MEASURE.match(clause.rest)
    if measured and clause.verb in {"memiliki", "mempunyai"}:
        yield _pose_number(
            clause, f"Berapa {measured['what']} {clause.subject}", measured, "how large"
        )
        return
    money = _MONEY.search(clause.rest)
    # Only an amount at the end, because the question would lose text after it.
    if money and not clause.rest[money.end() :].strip():
        remainder = clause.omit(clause.tail.start + money.start(), clause.tail.end)
        remainder = re.sub(rf"^{_IS}\s*", "", remainder)
        text = (
            f"Berapa {remainder} {clause.subject}"
            if not remainder.strip()
            else f"{clause.subject} {remainder} berapa"
        )
        yield _pose_number(clause, text, money, "how much")
        return
    match = _COUNT.search(clause.rest)
    if not match or re.search(_IS, clause.verb) or _COUNT.search(clause.rest, match.end()):
        return
    if find_spans("time", match["num"], "") or re.match(
        r"\s*(?:-|sampai|hingga)\s*\d", clause.rest[match.end() :]
    ):
        return
    head, after = clause.rest[: match.start()], clause.rest[match.end() :]
    things = f"{match['bound'] or ''}berapa {match['things']}"
    text = f"{clause.subject} {clause.verb} {head} {things} {after}"
    yield _pose_number(clause, text, match, "how many")


def _pose_number(clause: _Clause, text: str, match: re.Match[str], rule: str) -> PosedQuestion:
    span = Span(*match.span("num")).shift(clause.tail.start)
    return PosedQuestion(tidy_question(text), span, rule, numeric=True, subject=clause.subject)


def _ask_agent(clause: _Clause) -> Iterator[PosedQuestion]:
    match = _AGENT.search(clause.rest) if re.match(r"(?:\w+ )*di[a-z]", clause.verb) else None
    if not match:
        return
    at = clause.tail.start + match.start("who")
    who = next((span for span in find_names(clause.sentence) if span.start == at), None)
    if who and re.match(
        r"\s*(?:$|[.;]|(?:pada|di|dari|dengan|untuk|dalam|sejak|ke)\s)", clause.sentence[who.end :]
    ):
        rest = clause.omit(clause.tail.start + match.start(), who.end)
        yield PosedQuestion(
            tidy_question(f"Oleh siapa {clause.subject} {rest}"),
            who,
            "by whom",
            subject=clause.subject,
        )


def _ask_identity(clause: _Clause) -> Iterator[PosedQuestion]:
    if not re.fullmatch(_IS, clause.verb):
        return
    rest = re.sub(r"(?<!\s)\s*\([^()]*\)$", "", clause.rest.rstrip())
    start = clause.tail.start
    name_spans = [
        span
        for span in find_names(clause.sentence)
        if span.start == 0 and span.end == len(clause.subject)
    ]
    reversed_match = _UNIQUE_ROLE.match(rest)
    if (
        name_spans
        and reversed_match
        and _UNIQUE.search(reversed_match["what"])
        and not _VERB_FORM.match(rest.split()[0])
    ):
        # A unique role asks for its holder; other nouns ask for a definition.
        word = "Siapa" if _PEOPLE.match(rest) else "Apa"
        yield PosedQuestion(
            tidy_question(f"{word} {reversed_match['what']}"), name_spans[0], "which"
        )
    elif (
        len(rest.split()) >= 3
        and len(clause.subject.split()) <= 5
        and (name_spans or " " in clause.subject)
    ):
        person = name_spans and _PEOPLE.match(rest)
        text = f"Siapa {clause.subject}" if person else f"Apa yang dimaksud dengan {clause.subject}"
        text = (
            f"Siapakah {clause.subject} sebenarnya"
            if person and " " not in clause.subject
            else text
        )
        yield PosedQuestion(
            tidy_question(text), Span(start, start + len(rest)), "what is", subject=clause.subject
        )


def _ask_items(clause: _Clause) -> Iterator[PosedQuestion]:
    if clause.verb != "terdiri":
        return
    match = _ITEM_LIST.match(clause.sentence[clause.tail.start : len(clause.sentence) - 1])
    if match:
        items = tuple(filter(None, map(str.strip, _ITEMS.split(match["items"]))))
        span = Span(*match.span("items")).shift(clause.tail.start)
        text = tidy_question(f"{clause.subject} terdiri atas apa saja")
        yield PosedQuestion(text, span, "list", several=True, subject=clause.subject, items=items)


def _ask_reason(clause: _Clause) -> Iterator[PosedQuestion]:
    match = _BECAUSE.match(clause.sentence[clause.tail.end :])
    if match:
        span = Span(*match.span("why")).shift(clause.tail.end)
        text = tidy_question(f"Mengapa {clause.subject} {clause.verb} {clause.rest}")
        yield PosedQuestion(text, span, "why", subject=clause.subject)


_RULES = (_ask_when, _ask_where, _ask_count, _ask_agent, _ask_identity, _ask_items, _ask_reason)

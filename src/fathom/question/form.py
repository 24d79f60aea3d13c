"""The form of answer that a question asks for: one, several, yes or no, steps; both languages."""

import re
from typing import Literal

from fathom.text.numbers import NUMBER_WORDS, parse_numbers

_MOST_ITEMS = 50
"""The largest number of items that a question for a list may ask for."""
Form = Literal["one", "several", "yes or no"]

_ASKED_NOUN = (
    r"(?:(?:arti|nama|(?:pe)?nyebab|sebab|manfaat|(?:ke)?guna|fungsi|tujuan|(?:per)?beda|jenis"
    r"|alasan|dampak|akibat|isi|makna|definisi|pengertian|hubungan|pekerjaan|profesi|jabatan|gelar"
    r"|ibu|bahasa|maksud|peran|cara|efek|syarat|tugas|ciri|bentuk|kepanjangan|judul|hasil|faktor"
    r"|dasar|contoh|sumber|julukan|sebutan|istilah)\w*|itu)\b"
)
"""Nouns after which "apakah" means "what": "Apakah nama kapal itu?"."""
_VERB = (
    r"(?:(?!(?:menteri|memori|mereka|merdeka|menurut|melayu|menara|merek|mengenai|mental)\b)"
    r"me(?:m|ng?|ny|l|r|w)[a-z]{3,}|ikut|butuh|punya|tersimpan|di[a-z]{3,}(?:kan|i))"
)
_WH_ID = r"(?:apa|siapa|kapan|mana|dimana|kemana|berapa|mengapa|kenapa|bagaimana|gimana)"
_LEAD = r"^(?:[^?]{0,80}?,\s*)?"  # as in "In 2024, is it ...?"
_YES_NO = re.compile(
    _LEAD + r"(?:(?:is|are|was|were|am|do|does|did|can|could|may|might|must|should|shall|will|"
    r"would|has|have|had|(?:is|are|was|were|do|does|did|can|could|has|have|had|wo|must|should|"
    r"would)n['\u2019]?t)\s|(?:adakah|bisakah|bolehkah|dapatkah|haruskah|perlukah|mungkinkah|"
    r"benarkah|betulkah|sudahkah|pernahkah|akankah|"
    r"apa (?:benar|boleh|ada|bisa|harus|perlu|wajib|sudah|masih|saya|kami|kita))\b"
    # Without "apakah", only a question that asks for nothing else: not "Bisa bayar di mana?".
    rf"|(?:bisa|boleh|harus|perlu|ada)\s(?=(?-i:[a-z]))(?=[^?]*\?\s*$)(?!.*\b{_WH_ID}\b)"
    # "Apakah" alone means "what" more often than it asks for yes or no.
    r"|apakah\s(?!.*\byang\b)(?=.*\b(?:ada|akan|benar|berlaku|bisa|boleh|buka|dapat|harus|lebih|masih|"
    r"merupakan|mungkin|perlu|pernah|sudah|termasuk|tutup|wajib)\b)"
    rf"|apakah\s(?!.*\byang\b|{_ASKED_NOUN})(?=.*\b{_VERB}\b))",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"^(?:can|could|will|would|do) you (?:please |kindly |also )*"
    r"(?:tell|explain|say|show|know|remember)\b[^?]*?"
    r"\b(?:what|which|who|whom|whose|when|where|why|how)\b",
    re.IGNORECASE,
)
"""A question for yes or no by politeness only: "Could you tell me when the office opens?"."""
_CHOICE = re.compile(r"\b(?:or|atau|ataukah)\b(?!\s+(?:not|tidak|bukan))", re.IGNORECASE)
_NUMBER = rf"(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))}|\d{{1,3}})"
_PLURAL = r"(?:[^\W\d_]*(?:[^\Wsuiy\d_]|[aeou]y|ie)s|people|men|women|children)"
"""A word that is likely a plural: "countries"; not "business", "status" or "this"."""
_NOT_PLURAL = (
    r"(?!(?:is|was|does|has|this|its|series|species|news|means|causes|makes|sports|lens)\b)"
)
_SEVERAL = re.compile(
    r"^\W*(?:(?:please|tolong|mohon|buatkan|berikan|apa)\s+)?"
    r"(?:list|name|enumerate|sebutkan|sebut|tuliskan|daftar)\b"
    r"(?!\s+(?:the|a|an)\s+\w+\s*[.?]?$)"
    rf"|^\W*which\s+(?:[^\W\d_]+\s+)?{_NOT_PLURAL}{_PLURAL}\s+(?:are|were|have|belong|border|make)\b"
    rf"|^\W*what\s+(?:[^\W\d_]+\s+)?{_NOT_PLURAL}{_PLURAL}\s+are\b"
    r"|\b(?:apa|siapa|mana|kapan) saja(?:kah)?\b"
    r"|\b(?:what|which|who)\s+(?:are|were)\s+(?:all|the|some|its|their|his|her)\b"
    r"|\b(?:what|which)\s+(?:two|three|four|five|six|seven|eight|nine|ten|\d+|several)\s",
    re.IGNORECASE,
)
_ITEMS = re.compile(
    rf"^\W*(?:which|what)\s+(?:[^\W\d_]+\s+)?{_NOT_PLURAL}{_PLURAL}\s+"
    r"(?:do|does|did|can|could|must|should|may|will|would)\b"
    r"|^\W*what\s+(?:(?:do|does|must|should|would)\s+[^?]{1,40}?\s+(?:need|require|bring)\b"
    r"|(?:is|are)\s+(?:needed|required|necessary)\b)"
    r"|^\W*apa(?:kah)?\s+(?:(?:per)?syarat(?:an)?|tugas|kewajiban|hak|fungsi|wewenang|kewenangan"
    r"|larangan|unsur|prinsip|jenis|bentuk|alasan|manfaat)(?:nya)?\b"
    r"|^\W*apa(?:kah)?\s+yang\s+(?:diperlukan|dibutuhkan)\b"
    r"|^\W*(?:dokumen|berkas|syarat|persyaratan)\s+apa\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    rf"(?:^\W*(?:list|name|sebutkan|sebut|tuliskan|daftar)\s+(?:the\s+|all\s+)?"
    rf"|\b(?:what|which|who)\s+(?:are|were)?\s*(?:the\s+)?|\bapa\s+saja\s+)"
    rf"(?P<count>{_NUMBER})\s+(?!(?:of|%|percent|persen)\b)[^\W\d_]",
    re.IGNORECASE,
)
_STEPS = re.compile(
    _LEAD + r"(?:(?:and|so|then|dan|lalu)\s+)?"
    r"(?:how\s+(?:to|do|can|could|should|must|may|would|shall|is|are)\b"
    r"|(?:what|which)\s+(?:are|were)\s+the\s+(?:\w+\s+)?(?:steps?|stages|instructions|procedure)\b"
    r"|what\s+(?:is|was)\s+the\s+(?:procedure|process|way|method)\b"
    r"|what\s+(?:must|should|do|shall)\s.*\bdo\b|bagaimana\b|gimana\b|cara\s"
    r"|(?:apa(?:kah)?\s+)?(?:langkah|tahap|prosedur|tata cara))",
    re.IGNORECASE,
)
_COUNT_QUESTION = re.compile(
    r"\bhow many\s+(?P<en>.{1,100}?)\s+(?:are|is|were|was|do|does|did|has|have|had|can|could|may|"
    r"must|should|will|there)\b"
    r"|\b(?:ada berapa(?: banyak)?|berapa (?:banyak|jumlah|buah|macam|jenis)|jumlah)\s+"
    r"(?P<id>[^?]+?)"
    r"(?:\s+(?:yang|di|pada|dalam|dari|milik|ada)\b|\s*\?|$)",
    re.IGNORECASE,
)


def detect_form(question: str) -> Form:
    """Return the form of answer that a question asks for.

    A choice ("is it red or blue?") asks for one answer, not for yes or no.
    """
    text = question.strip()
    if _YES_NO.match(text) and not (_CHOICE.search(text) or _POLITE.match(text)):
        return "yes or no"
    return "several" if _SEVERAL.search(text) else "one"


def parse_count(question: str) -> int | None:
    """Return the number of items that a question for a list asks for: 3 in "Sebutkan 3 gunung".

    The number is from 2 to `_MOST_ITEMS`. `None` if the question gives no number or is for no list.
    """
    match = _COUNT.search(question) if detect_form(question) == "several" else None
    count = parse_numbers(match["count"])[0] if match else 0
    # A larger number is more likely part of a name than the length of a list.
    return int(count) if 1 < count <= _MOST_ITEMS else None


def asks_steps(question: str) -> bool:
    """Return whether a question asks how something is done."""
    return _STEPS.match(question.strip()) is not None


def asks_items(question: str) -> bool:
    """Return whether a whole list of a document may be the answer: "Which papers do I need?"."""
    return _ITEMS.match(question.strip()) is not None


def extract_counted_noun(question: str) -> str:
    """Return the counted noun: "branches" in "How many branches are there?"; else empty."""
    match = _COUNT_QUESTION.search(question)
    return next((group for group in match.groups() if group), "") if match else ""

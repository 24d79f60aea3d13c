"""Questions that leave out their topic: "Is there parking?", "How do I apply?", "Kapan tutup?".

Inside a conversation such a question is about the topic of the question before.
"""

import re

from fathom.text.language import load_stop_words

AUX = (
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|may|might|must|shall|should|will|"
    r"would)"
)
QUESTION_WORD_ID = (
    r"(?:apa(?:kah)?|siapa(?:kah)?|kapan(?:kah)?|(?:di|ke)?mana(?:kah)?|berapa(?:kah)?|mengapa|"
    r"kenapa|bagaimana(?:kah)?|seberapa)"
)
_QUESTION_WORD = re.compile(
    rf"\b(?:(?:what|which|who|whom|whose|when|where|why|how)|{QUESTION_WORD_ID})\b"
    rf"|^{AUX}\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'-]+")
_HOLLOW_WORDS = 2
"""The largest number of content words of a question that leaves out its topic."""
_PARTICIPLE = (
    r"(?:\w{2,}(?:ed|en)|made|held|sent|given|kept|paid|sold|found|known|read|done|seen|bought|"
    r"brought|left|lost|met|told)"
)
_WITHOUT_TOPIC = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # "What documents are needed", "What is not covered", "What must be attached"
        rf"(?:what|which)(?:\s+(?!{AUX}\b)\w+){{0,2}}\s+(?:is|are|was|were|(?:must|should|can|has\s+to|"
        rf"have\s+to)\s+be)\s+(?:not\s+)?{_PARTICIPLE}",
        # "How do I apply", "Where can we pay"
        r"(?:how|where|when)\s+(?:do|can|could|must|should|may)\s+(?:i|we|you)\s+(?!know\b|get\b)\w+",
        # "Who is attending", "Who may apply", "Who came second", "What penalties apply"
        r"who\s+(?:is|are|was|were)\s+\w{3,}ing",
        r"who\s+(?:can|may|must|should)\s+\w+",
        r"who\s+\w+\s+(?:first|second|third|last)",
        r"(?:what|which)\s+\w+\s+(?:apply|applies)",
        # "Can unused days be carried over"
        rf"(?:can|may|must|should)\s+\w+(?:\s+\w+)?\s+be\s+{_PARTICIPLE}(?:\s+(?:over|back|out|off|up))?",
        # "Is there a discount for students"
        r"(?:is|are|was|were)\s+there\s+(?:an?|any)\s+\w+(?:\s+(?:for|on)\s+\w+(?:\s+\w+)?)?",
        # "Is equipment provided"
        r"(?:is|are|was|were)\s+\w+\s+(?:provided|included|required|needed|allowed|available|covered)",
        # "Apakah ada diskon", "Apakah bisa diperpanjang", "Kapan tutup", "Siapa yang boleh ikut"
        r"apa(?:kah)?\s+ada\s+\w+(?:\s+\w+)?",
        r"apakah\s+(?:bisa|boleh|dapat|harus|perlu|wajib)\s+\w+",
        r"(?:kapan|jam\s+berapa|di\s+mana)\s+(?:buka|tutup|mulai|selesai|berakhir|bayar(?:nya)?|daftar(?:nya)?)",
        r"(?:dokumen|syarat|berkas|barang|data)\s+apa\s+(?:saja\s+)?yang\s+(?:di\w+|(?:harus|perlu)\s+\w+)",
        r"siapa\s+(?:saja\s+)?yang\s+me\w+",
        r"siapa\s+(?:saja\s+)?yang\s+(?:wajib|boleh|bisa|harus|dapat|berhak)\s+\w+",
    )
)
"""The forms of short questions that are about something that they do not name."""


def list_content_words(text: str) -> list[str]:
    """Return the content words of a text, without question words."""
    small = load_stop_words("en") | load_stop_words("id")
    words = (word for word in _WORD.findall(text.lower()) if not _QUESTION_WORD.fullmatch(word))
    return [word for word in words if word not in small]


def has_question_word(text: str) -> bool:
    """Return whether a text contains a question word or begins with an auxiliary verb."""
    return _QUESTION_WORD.search(text) is not None


def leaves_out_topic(question: str) -> bool:
    """Return whether a question without names leaves out its topic.

    Args:
        question: The question without the punctuation at its end.
    """
    if any(form.fullmatch(question) for form in _WITHOUT_TOPIC):
        return True
    # A phrase with a preposition specifies the noun before it ("the fee of a permit"), so only the
    # end counts.
    end = re.split(r"\b(?:of|in|for|with|between|on)\s", question, flags=re.I)[-1]
    definite = re.search(r"\b(?:the|any|there)\b", end, re.I)
    verb = re.match(r"(?:di|ter|ber|me)\w{4,}\b", question, re.IGNORECASE)
    return bool(definite or verb) and len(list_content_words(question)) <= _HOLLOW_WORDS

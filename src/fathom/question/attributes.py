"""Attributes: words such as "fee" that name a property of another thing.

After "What is the fee for a permit?" the word "it" mostly stands for the permit: "How long is it
valid?". Only some predicates speak of the fee itself: "Did it rise?".
"""

import re

from fathom.text.language import split_set

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
_INDEFINITE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


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
    bare = _INDEFINITE.sub("", phrase)
    return f"{'an' if bare[:1].lower() in set('aeiou') else 'a'} {bare}"

"""Forms of English nouns: the singular of a plural, and the indefinite article."""

import re

from fathom.text.language import split_set

_CONSONANT_SOUND = re.compile(
    r"eu|ew|one(?![a-z])|once(?![a-z])|u(?:ni(?![dmn])|nanim|[bcfhjkqrst][aeiou]|kr|gand)"
)
"""The beginnings of words that are written with a vowel and spoken with a consonant."""
_VOWEL_SOUND = re.compile(r"[aeiou]|hour|honou?r|heir|honest|8|1[18](?:\d\d)?(?!\d)")
_SPELLED = re.compile(r"[A-Z]{2,3}(?![A-Za-z])")
"""An abbreviation that is spoken letter by letter; a longer one is mostly spoken as a word."""
_VOWEL_LETTERS = frozenset("AEFHILMNORSX")
"""The letters whose names begin with a vowel: an FBI agent."""
_UNCHANGED = split_set("series species")
_ENDS_IN_E = split_set(
    "movies zombies cookies rookies ties pies calories prairies shoes toes canoes"
)
"""Plurals that only lose their "s", against the rule for their ending."""
_ENDINGS = (
    (re.compile(r"ies$"), "y"),
    (re.compile(r"(?<=ss)es$|(?<=[^aeo]us)es$|(?<=x)es$|(?<=[cs]h)es$|(?<=o)es$"), ""),
    (re.compile(r"(?<!s)s$"), ""),
)


def choose_article(phrase: str) -> str:
    """Return "a" or "an", as the first sound of a noun phrase needs it: "an hour", "a university".

    Args:
        phrase: The phrase, not empty.
    """
    if _SPELLED.match(phrase):
        return "an" if phrase[0] in _VOWEL_LETTERS else "a"
    lower = phrase.lower()
    is_vowel = _VOWEL_SOUND.match(lower) and not _CONSONANT_SOUND.match(lower)
    return "an" if is_vowel else "a"


def make_noun_singular(noun: str) -> str:
    """Return the singular of a regular plural: "bodies" gives "body"; other words stay."""
    lower = noun.lower()
    if lower in _UNCHANGED:
        return noun
    if lower in _ENDS_IN_E:
        return noun[:-1]
    for ending, replacement in _ENDINGS:
        if ending.search(noun):
            return ending.sub(replacement, noun)
    return noun

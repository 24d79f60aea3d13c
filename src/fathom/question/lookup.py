"""Questions that look up an entry of a manual: an option, a setting, a default; both languages."""

import re
from dataclasses import dataclass
from typing import Literal

from fathom.question.form import asks_steps
from fathom.text.language import load_stop_words

Want = Literal["name", "way", "meaning", "default"]

OPTION = re.compile(r"(?<![\w-])-{1,2}[A-Za-z0-9?][\w-]*")
_SECTION = r"[\d_-]*[^\W\d_][\w-]*"
_IDENTIFIER = re.compile(
    rf"(?<![\w.:-])(?:(?:[^\W\d]\w[^\W_]*_{_SECTION}|[^\W\d]\w+(?:::|\.){_SECTION})"
    rf"(?:(?:::|\.){_SECTION})*|[a-z]+(?:[A-Z][a-z0-9]+)+"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w-])"
)
_QUOTED = re.compile(r"[\"'`\u201c\u2018](?P<name>[^\s\"'`\u201d\u2019]{2,40})[\"'`\u201d\u2019]")
_KINDS = (
    r"(?:options?|flags?|switch(?:es)?|arguments?|parameters?|settings?|directives?|variables?"
    r"|keywords?|propert(?:y|ies)|attributes?|opsi|bendera|argumen|pengaturan|setelan|direktif"
    r"|variabel|atribut)"
)
_NAMED = re.compile(
    rf"\b(?P<before>[\w.-]{{1,80}})\s+{_KINDS}\s+(?:do|mean|control|set|change)\b"
    rf"|\b(?:arti|fungsi|kegunaan|guna|maksud)(?:nya)?\s+(?:dari\s+)?{_KINDS}\s+(?P<after>[\w.-]+)",
    re.IGNORECASE,
)
_FLAG = re.compile(r"\b(?:flags?|switch(?:es)?|command[- ]line\s+\w+|bendera)\b", re.IGNORECASE)
_ANY_OPTION = re.compile(r"\b(?:options?|opsi)\b", re.IGNORECASE)
_DIRECTIVE = re.compile(
    r"\b(?:directives?|settings?|variables?|keywords?|propert(?:y|ies)|attributes?|direktif|setelan"
    r"|variabel|atribut|pengaturan)\b",
    re.IGNORECASE,
)
_OWNER = re.compile(rf"\b(?P<name>[\w.:-]{{1,80}})\s+{_KINDS}\b", re.IGNORECASE)
_NAME_ASKED = re.compile(
    rf"\b(?:which|what)\s+(?:[\w.-]+\s+){{0,3}}?{_KINDS}\b"
    rf"|\b{_KINDS}\s+(?:[\w.-]+\s+){{0,2}}?(?:apa|mana)(?:kah)?\b"
    rf"|\bapa(?:kah)?\s+{_KINDS}\b"
    rf"|^(?:[\w.-]+\s+){{0,3}}{_KINDS}\s+(?:to|for|that|untuk|agar|supaya|yang)\b",
    re.IGNORECASE,
)
_DEFAULT = re.compile(
    r"(?<!non-)\bdefaults?\b|\bunless\s+(?:told|specified|configured|set|stated)\b"
    r"|\bif\s+(?:none|nothing|no\s+\w+)\s+(?:is|are)\s+(?:given|set|specified|configured|chosen)\b"
    r"|\b(?:nilai|secara|setelan|pengaturan)\s+(?:baku|bawaan|standar)\b|\bbawaan(?:nya)?\b"
    r"|\b(?:jika|kalau|bila)\s+tidak\s+(?:di\w+|ada)\b",
    re.IGNORECASE,
)
_MEANING = re.compile(
    r"^\W*(?:and\s+)?what\s+(?:do(?:es)?\b.*\b(?:do|mean|control|set|change)\b"
    r"|(?:is|are)\b(?:.*\b(?:for|about)\W*$|(?:\s+[\w.-]+){1,3}\W*$))"
    r"|\b(?:meaning|purpose|effect|function)\s+of\b|\bwhat\s+happens\s+(?:with|if|when)\b"
    r"|\b(?:arti|fungsi|kegunaan|guna|maksud|efek)(?:nya)?\b|\buntuk\s+apa\b|\bapa\s+itu\b"
    r"|\bapa\s+yang\s+(?:di)?(?:laku|atur|lakukan|diatur)\w*",
    re.IGNORECASE,
)
_QUESTION_WORD = re.compile(
    r"\?|\b(?:wh(?:at|ich|o|om|ose|en|ere|y)|how|apa(?:kah)?|siapa|kapan|mana|kenapa|mengapa"
    r"|bagaimana|gimana|berapa|sebutkan|jelaskan)\b",
    re.IGNORECASE,
)
_MOST_KEYWORDS = 8
"""The largest number of words of a query of bare keywords."""
_STATED = re.compile(r"(?<!non-)\bdefaults?\b|\b(?:baku|bawaan(?:nya)?|standar)\b", re.IGNORECASE)
_ITSELF = re.compile(
    r"\bthis\s+is\s+(?:also\s+)?the\s+(?:\w+\s+)?default\b|\(\s*(?:the\s+)?default\s*\)"
    r"|\b(?:ini|yang)\s+(?:adalah\s+|merupakan\s+)?(?:nilai\s+|pilihan\s+)?(?:baku|bawaan)\b"
    r"|\((?:baku|bawaan)\)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Lookup:
    """The entry of a manual that a question looks up.

    Attributes:
        want: The part that is asked for. `name`: the name of the entry, given what it does. `way`:
            an option, as the way to do something. `meaning`: what the entry does. `default`: its
            default value.
        names: The names of entries in the question, as written: options and identifiers.
        dashed: Whether the asked name begins with hyphens; `None` if it may or may not.
    """

    want: Want
    names: frozenset[str]
    dashed: bool | None = None


def parse_lookup(question: str) -> Lookup | None:
    """Return the entry that a question looks up; `None` if its words show none."""
    names = _find_names(question)
    if _DEFAULT.search(question):
        owner = _OWNER.search(question)
        is_name = owner is not None and owner["name"].casefold() not in load_stop_words("en")
        return Lookup("default", names | {owner["name"]} if owner and is_name else names)
    if names and (_MEANING.search(question) or is_keywords(question)):
        return Lookup("meaning", names)
    if _NAME_ASKED.search(question):
        return Lookup("name", names, dashed=_detect_dashed(question))
    is_way = asks_steps(question) or is_keywords(question)
    return Lookup("way", names, dashed=True) if is_way else None


def is_keywords(question: str) -> bool:
    """Return whether a question is a query of bare keywords: "ssh-keygen rounds default"."""
    return len(question.split()) <= _MOST_KEYWORDS and _QUESTION_WORD.search(question) is None


def is_identifier(text: str) -> bool:
    """Return whether a text is an option or an identifier: `--all`, `max_height`, `mow.speed`."""
    return bool(OPTION.fullmatch(text) or _IDENTIFIER.fullmatch(text))


def states_default(text: str) -> bool:
    """Return whether a text has a word for a default value."""
    return _STATED.search(text) is not None


def is_default_itself(text: str) -> bool:
    """Return whether a text calls its subject the default: "This is the default"."""
    return _ITSELF.search(text) is not None


def _detect_dashed(question: str) -> bool | None:
    """Return whether a question for a name asks for an option of a command line.

    False if it asks for a directive, setting or variable; `None` if it may be either.
    """
    if _FLAG.search(question):
        return True
    is_directive = _DIRECTIVE.search(question) and not _ANY_OPTION.search(question)
    return False if is_directive else None


def _find_names(question: str) -> frozenset[str]:
    """Return the options, identifiers, quoted words and words next to "option" in a question."""
    named = _NAMED.search(question)
    return frozenset(
        [
            *OPTION.findall(question),
            *_IDENTIFIER.findall(question),
            *(match["name"] for match in _QUOTED.finditer(question)),
            *(group for group in (named.groups() if named else ()) if group),
        ]
    )

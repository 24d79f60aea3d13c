"""Yes/no questions as two statements: one that is true for yes, and its denial.

"Does the museum open on Monday?" gives "The museum does open on Monday." and "The museum does not
open on Monday."; "Apakah anjing boleh dibawa?" gives "Anjing boleh dibawa." and "Anjing tidak boleh
dibawa." The rules only guess where the subject ends; other forms of questions give no statement.
"""

import re
from dataclasses import dataclass

from fathom.question.clauses import LONGEST_QUESTION, mark_names, restore_names
from fathom.text.language import split_set

_AUXILIARY = re.compile(
    r"^(?P<lead>[^?]{0,80}?,\s*)?"
    r"(?P<aux>is|are|was|were|do|does|did|can|could|may|might|must|should|shall|will|would|has|"
    r"have|had)(?:n't)?\s+(?!.*\b(?:not|never)\b)(?P<rest>[^?]{3,})\??\s*$",
    re.IGNORECASE,
)
_PRONOUNS = split_set("i you we they he she it one there anyone everyone someone nobody")
_NEVER_LAST = split_set(
    "of for and or the a an this that these those my your our their all any some no to in on at by "
    "with from &"
)
"""Words that are never the last word of a subject."""

_BE = (
    r"(?:an?|the|not|also|still|already|always|ever|only|both|either|more|less|most|least|as|same|"
    r"free|open|closed|safe|valid|equal|true|legal|possible|necessary|good|bad|in|on|at|from|to|by|"
    r"with|without|under|within|older|part|able|made|set|due|known|born|held|paid|sold|written|"
    r"\w{2,40}(?:ed|ing|able|ible|ful|ous|ive|tory|ary|er)|\d\S*)"
)
_PREPOSITIONS = split_set("in on at from to by with without under within the")
_HAVE = (
    r"(?:been|ever|never|already|always|a|an|any|made|won|had|taken|given|written|become|gone|"
    r"\w{2,40}(?:ed|en))"
)
_DO = (
    "accept|add|affect|allow|appear|apply|ask|be|become|begin|belong|break|bring|build|buy|"
    "call|cancel|carry|cause|change|charge|check|choose|close|come|contain|continue|convert|"
    "cost|count|cover|create|cross|delete|depend|die|differ|do|drink|drive|eat|end|ever|"
    "exist|expire|fall|find|follow|get|give|go|grant|grow|happen|have|help|hold|host|improve|"
    "include|increase|install|keep|know|last|lead|learn|leave|let|like|live|look|lose|make|"
    "mean|meet|move|need|offer|open|operate|opt|override|own|park|pay|play|predict|prevent|"
    "print|produce|provide|publish|pull|push|put|qualify|read|receive|reduce|register|remain|"
    "remove|renew|rent|replace|require|reset|restart|return|run|save|say|see|sell|send|serve|"
    "set|share|show|sing|sit|smoke|speak|stand|start|stay|stop|store|support|survive|take|"
    "tell|terminate|try|turn|update|use|visit|wait|want|wear|win|work|write|also|always|"
    "automatically|still|only|both"
)
_PREDICATE_STARTS = {
    aux: re.compile(pattern)
    for auxiliaries, pattern in (
        ("is are was were", _BE),
        ("has have had", _HAVE),
        ("do does did can could may might must should shall will would", _DO),
    )
    for aux in auxiliaries.split()
}
"""For each auxiliary verb, the words that a predicate may begin with."""
_MODALS_ID = {
    "boleh": "tidak boleh", "bisa": "tidak bisa", "dapat": "tidak dapat", "harus": "tidak harus",
    "wajib": "tidak wajib", "perlu": "tidak perlu", "ada": "tidak ada", "akan": "tidak akan",
    "sudah": "belum", "pernah": "tidak pernah", "masih": "tidak lagi", "mungkin": "tidak mungkin",
    "termasuk": "tidak termasuk", "merupakan": "bukan merupakan", "berlaku": "tidak berlaku",
    "buka": "tidak buka", "tutup": "tidak tutup", "benar": "tidak benar",
}  # fmt: skip
_APAKAH = re.compile(r"^(?:apakah|apa benar|apa)\s+(?P<rest>[^?]{3,})\??\s*$", re.IGNORECASE)
_KAH = re.compile(
    r"^(?P<cue>ada|bisa|boleh|dapat|harus|perlu|mungkin|benar|betul|sudah|pernah|akan)"
    r"(?:kah|(?<=\bada)|(?<=\bbisa)|(?<=\bboleh)|(?<=\bharus)|(?<=\bperlu))\s+"
    r"(?!apa\b|siapa\b|berapa\b)(?P<rest>[^?]{3,})\??\s*$",
    re.IGNORECASE,
)
_MODAL_ID = re.compile(rf"\b(?:{'|'.join(_MODALS_ID)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that a yes/no question asks about, with its denial.

    Attributes:
        says: The sentence that is true if the answer is yes.
        denies: The sentence that is true if the answer is no.
    """

    says: str
    denies: str


def parse_statement(question: str) -> Statement | None:
    """Return the statement that a yes/no question asks about; `None` if its form is unknown."""
    text = " ".join(question.split())
    if len(text) > LONGEST_QUESTION:
        return None
    return _parse_indonesian(text) or _parse_english(text)


def _parse_english(question: str) -> Statement | None:
    """Return the statement of an English question that begins with an auxiliary verb, or `None`."""
    match = _AUXILIARY.match(question)
    if match is None:
        return None
    marked, names = mark_names(match["rest"])
    words = marked.split()
    aux = match["aux"].lower()
    at = _find_subject_end(words, aux)
    if at is None:
        return None
    lead = match["lead"] or ""
    subject, rest = (restore_names(" ".join(half), names) for half in (words[:at], words[at:]))
    return Statement(
        says=_form_sentence(f"{lead}{subject} {aux} {rest}"),
        denies=_form_sentence(f"{lead}{subject} {aux} not {rest}"),
    )


def _find_subject_end(words: list[str], aux: str) -> int | None:
    """Return the number of words of the subject; `None` if its end is not found.

    Args:
        words: The words after the auxiliary verb, with marks for names (`mark_names`).
        aux: The auxiliary verb, in lower case.
    """
    if words[0] in _PRONOUNS and len(words) > 1:
        return 1
    name_end = _find_name_end(words)
    if name_end and name_end < len(words):
        return name_end
    predicate_start = _PREDICATE_STARTS[aux]
    places = [
        at
        for at in range(1, len(words))
        if predicate_start.fullmatch(words[at]) and words[at - 1] not in _NEVER_LAST
    ]
    # A preposition may continue the subject: "the bridge in Oslo".
    sure_places = [at for at in places if words[at] not in _PREPOSITIONS]
    return next(iter(sure_places or places), None)


def _find_name_end(words: list[str]) -> int | None:
    """Return the number of words of a subject that is one or more names; `None` if it is not."""
    at = 1 if words[0] in {"the", "a", "an"} else 0
    if at >= len(words) or not re.fullmatch(r"§\d+§,?", words[at]):
        return None
    at += 1
    # Names that "and" joins are one subject.
    while at + 1 < len(words) and words[at] in {"and", "&"} and words[at + 1].startswith("§"):
        at += 2
    return None if at < len(words) and words[at] in {"of", "and", "or", "for"} else at


def _parse_indonesian(question: str) -> Statement | None:
    """Return the statement of an Indonesian question for yes or no, or `None`."""
    match = _KAH.match(question)
    if match:
        cue, rest = match["cue"].lower(), match["rest"]
        if cue in {"benar", "betul"}:
            return Statement(
                says=_form_sentence(rest), denies=_form_sentence(f"tidak benar bahwa {rest}")
            )
        return Statement(
            says=_form_sentence(f"{cue} {rest}"), denies=_form_sentence(f"{_MODALS_ID[cue]} {rest}")
        )
    match = _APAKAH.match(question)
    modal = _MODAL_ID.search(match["rest"]) if match else None
    if match is None or modal is None:
        return None
    rest = match["rest"]
    denial = f"{rest[: modal.start()]}{_MODALS_ID[modal.group().lower()]}{rest[modal.end() :]}"
    return Statement(says=_form_sentence(rest), denies=_form_sentence(denial))


def _form_sentence(text: str) -> str:
    """Return a text with a capital at its start and a full stop at its end."""
    plain = text.strip().rstrip(".")
    return f"{plain[:1].upper()}{plain[1:]}."

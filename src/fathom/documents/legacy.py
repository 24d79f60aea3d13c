"""Telling old single-byte encodings apart by whether their letters make likely words."""

from dataclasses import dataclass

from fathom.documents.base import Refused

_SAMPLE = 20_000
_ENOUGH = 0.55
_MARGIN = 0.04

_RUSSIAN = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
_UKRAINIAN = "іїєґ"
_WESTERN = "éèàçüäöêôñóáíúâîûãõåøæßëïœìòùÿý"
_CENTRAL = "áíéěšřžčýůąęłóśżćńźőúöüťďňâăîșțşţđ"
_GREEK = "αοιετσνηυρπκμλςωάγέόίήθδχύβφώξζψ"
_TURKISH = "ıiğüşöçâî"  # noqa: RUF001 - these are the letters
_MARKS = "‘’“”–—…•°§£€«»©®·™½¼¾±²³¡¿º\xa0№†"  # noqa: RUF001 - these are the marks


@dataclass(frozen=True, slots=True)
class _Candidate:
    encoding: str
    letters: str  # the usual ones, most frequent first
    prior: float = 0.0


_CANDIDATES = (
    _Candidate("cp1252", _WESTERN, 0.1),
    _Candidate("cp1250", _CENTRAL),
    _Candidate("cp1251", _RUSSIAN + _UKRAINIAN),
    _Candidate("cp866", _RUSSIAN + _UKRAINIAN),
    _Candidate("koi8-u", _RUSSIAN + _UKRAINIAN),
    _Candidate("iso8859-5", _RUSSIAN + _UKRAINIAN),
    _Candidate("cp1253", _GREEK),
    _Candidate("cp1254", _TURKISH + _WESTERN),
    _Candidate("cp850", _WESTERN, -0.1),
    _Candidate("mac_roman", _WESTERN, -0.1),
)


def guess(data: bytes) -> str:
    """The text of `data` in the likeliest legacy encoding.

    Raises:
        Refused: `unsupported` when no encoding gives likely words or two differ too little.
    """
    if _ebcdic(data):
        return data.decode("cp500").replace("\x85", "\n")
    scored: list[tuple[float, str]] = []
    for candidate in _CANDIDATES:
        try:
            text = data.decode(candidate.encoding)
        except UnicodeDecodeError:
            continue
        scored.append((_likelihood(text[:_SAMPLE], candidate) + candidate.prior, text))
    scored.sort(key=lambda pair: -pair[0])
    if not scored or scored[0][0] < _ENOUGH or not _clear(scored):
        raise Refused("unsupported", "text in an unknown encoding; save it as UTF-8")
    return scored[0][1]


def _clear(scored: list[tuple[float, str]]) -> bool:
    best, text = scored[0]
    rivals = (score for score, other in scored[1:] if other[:_SAMPLE] != text[:_SAMPLE])
    return best - next(rivals, 0.0) >= _MARGIN


def _likelihood(text: str, candidate: _Candidate) -> float:
    """Mean usualness, in [-1, 1], of the characters beyond ASCII."""
    ranks = {letter: n for n, letter in enumerate(candidate.letters)}
    total, seen = 0.0, 0
    before = " "
    for here in text:
        if here > "\x7f":
            seen += 1
            total += _usual(before, here, ranks)
        before = here
    return total / seen if seen else 0.0


def _usual(before: str, here: str, ranks: dict[str, int]) -> float:
    if here in _MARKS:
        return 0.7
    rank = ranks.get(here.lower())
    if rank is None:
        return -1.0
    # A capital inside a word in small letters is the commonest sign of a wrong guess.
    if here.isupper() and before.islower():
        return -1.0
    value = 1.0 - 0.6 * rank / len(ranks)
    return value * 0.9 if here.isupper() else value


def _ebcdic(data: bytes) -> bool:
    """In EBCDIC the space is 0x40 and letters lie above 0x80, so ASCII is nearly absent."""
    sample = data[:_SAMPLE]
    if sample.count(0x40) < len(sample) // 20:
        return False
    text = sample.decode("cp500")
    letters = sum(1 for c in text if c.isascii() and (c.isalnum() or c in " .,;:'\"-()\n\r\x85"))
    return letters > 0.9 * len(text)

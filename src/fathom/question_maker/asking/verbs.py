"""The forms of English verbs in questions."""

import re
from functools import cache


def split_words(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


_REGULAR = split_words("""
accept achieve acquire add adopt advise affect allow announce appear apply appoint arrive ask
assign assume attend avoid award base believe belong call carry cause celebrate change check claim
clean close collect combine complete comprise configure connect consist contain contribute control
convert cover create debut decide declare default defeat define delete deliver demand denote
depend describe design destroy determine develop die discover display divide donate earn employ
enable encourage end enter establish estimate evaluate examine exclude execute exist expand expire
explain explore export express extend fail feature finish fire follow force form found gain
generate govern grant handle happen help host house identify ignore implement import improve
include increase indicate infect influence inform inherit insert inspect inspire install intend
introduce invade invent invite involve join kill last launch learn limit link list listen live
locate maintain manage marry measure mention merge move name need obtain occupy occur offer open
operate oppose order organise organize own paint pass perform permit persuade plan plant play
prefer prepare present preserve prevent process produce promote propose protect prove provide
publish purchase raise reach receive recommend record reduce refer refuse register reject relate
release remain remove rename renew repair replace report represent require reserve resign restart
restore result retain retire return reveal rule sail save schedule select separate serve settle
share show sign specify stage start state stay store strengthen study succeed suffer suggest
supply support surround survive suspend tour trade train transfer transform translate travel treat
trigger turn use validate vary verify visit vote want watch weigh work
""")
_IRREGULAR = (
    "become became become|begin began begun|bind bound bound|break broke broken"
    "|bring brought brought"
    "|build built built|buy bought bought|catch caught caught|choose chose chosen|come came come"
    "|cost cost cost|deal dealt dealt|draw drew drawn|drive drove driven|fall fell fallen"
    "|fight fought fought|find found found|fly flew flown|get got got|give gave given|go went gone"
    "|grow grew grown|have had had|hold held held|keep kept kept|know knew known|lead led led"
    "|leave left left|lend lent lent|lie lay lain|lose lost lost|make made made|mean meant meant"
    "|meet met met|oversee oversaw overseen|pay paid paid|put put put|rise rose risen|run ran run"
    "|say said said|see saw seen|sell sold sold|send sent sent|set set set|shoot shot shot"
    "|sing sang sung|sit sat sat|spend spent spent|spread spread spread|stand stood stood"
    "|take took taken|teach taught taught|tell told told|think thought thought"
    "|undergo underwent undergone|wear wore worn|win won won|write wrote written"
)
# Forms that can be the third person of a verb, but more often are plural nouns.
_NOUNS = split_words("""
acts aids aims calls causes changes checks claims controls covers demands designs displays ends
estimates exports features fires forces forms gains grants hosts houses imports increases
influences invites issues joins kills limits links lists matches measures names offers orders
plans plants plays processes purchases reaches records releases repairs reports results returns
rules sails saves schedules shares signs stages starts states stays stores studies supplies tours
trades trains transfers travels treats turns visits votes watches works
""")
_DOUBLED = re.compile(r"(?:^|[^aeiou])[aeiou]([bdgklmnprt])$")
_STRESSED_LAST = split_words("refer occur prefer transfer control defer permit")


def _form_past(base: str) -> str:
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    # Only the last consonant of a stressed syllable is doubled: "planned", but "opened".
    short = len(re.findall(r"[aeiou]+", base)) == 1 or base in _STRESSED_LAST
    return f"{base}{base[-1]}ed" if short and _DOUBLED.search(base) else f"{base}ed"


def _form_third_person(base: str) -> str:
    if base == "have":
        return "has"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}es" if re.search(r"(?:s|x|z|ch|sh|o)$", base) else f"{base}s"


def _list_irregular_verbs() -> list[list[str]]:
    return [row.split() for row in _IRREGULAR.split("|")]


@cache
def map_past_forms() -> dict[str, str]:
    """Return the base form of each past tense."""
    # Without "base": "based" is nearly always a participle.
    regular = {_form_past(base): base for base in _REGULAR - {"base"}}
    return regular | {past: base for base, past, _ in _list_irregular_verbs()}


@cache
def map_third_persons() -> dict[str, str]:
    """Return the base form of each third person, without forms that are more often plural nouns."""
    bases = {*_REGULAR, *(base for base, _, _ in _list_irregular_verbs())}
    return {third: base for base in bases if (third := _form_third_person(base)) not in _NOUNS}


@cache
def map_participles() -> dict[str, str]:
    """Return the past tense of each past participle."""
    regular = {_form_past(base): _form_past(base) for base in _REGULAR}
    return regular | {participle: past for _, past, participle in _list_irregular_verbs()}


def is_noun(word: str) -> bool:
    """Return whether a form of the third person is more often a plural noun."""
    return word in _NOUNS

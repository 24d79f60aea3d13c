"""Rules that turn an English sentence into questions, each for one element of the main clause."""

import re
from collections.abc import Callable, Collection, Iterator

from fathom.question_maker.asking.base import PosedQuestion, is_plain, tidy_question
from fathom.question_maker.asking.clause import BE, HAVE, Clause, parse_clause
from fathom.question_maker.asking.verbs import map_participles, split_words
from fathom.text.answer_type import find_spans
from fathom.text.entities import find_names
from fathom.types import Span

_DENIES = re.compile(r"\b(?:not|never|no|nor|neither|hardly|none|cannot)\b|n't", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"\b(?:it|they|them|this|these|those|he|she|him|we|us|our|my|me|you|your|such|above|below|here|"
    r"following|respectively|latter|former|same|example|instance|his|her|their|its)\b",
    re.IGNORECASE,
)
_CUT_OFF = re.compile(r"\b(?:and|or|of|in|the|to|a|an|by|for|with|from|than)\?$")
_SHORTEST, _LONGEST = 4, 24
_SPEECH = re.compile(r"[\"'\u201c\u201d]")
_TIME_BEFORE = re.compile(r"(?P<prep>in|on|at|since|until|from|by)\s+(?:the\s+year\s+|the\s+)?$")
_WHEN_WORDS = {"since": "Since when", "until": "Until when", "by": "By when"}
_RANGE = re.compile(r"\s*(?:to|and|or|-|\u2013|until)\s*(?:the\s)?\d|\s(?:to|until)\b")
_PLACE_BEFORE = re.compile(r"\b(?:in|at|near|on)\s+(?:the\s+|a\s+)?$")
_PLACE_VERBS = split_words("""
located situated based born held built founded established stored kept found buried headquartered
erected displayed sold collected measured hosted published signed
""")
_STAY_VERBS = split_words("live lie die stand")
_HUMAN_ACTS = split_words("""
wrote won led directed married studied became served joined founded invented discovered designed
composed painted developed created established played coached managed introduced proposed described
published received ruled defeated succeeded built opened commanded adopted wins leads manages
directs oversees writes approves signs signed decides chairs chaired runs
""")
_ROLES = split_words("""
president director head mayor author founder king queen leader chief chair chairman manager captain
coach owner editor engineer architect secretary minister officer governor principal librarian
inspector commander composer inventor designer member winner teacher professor
""")
_PERSON = re.compile(
    rf"(?:an?|the)\s(?:[\w-]+\s){{0,4}}?(?:{'|'.join(sorted(_ROLES))}|politician|actor|actress|"
    rf"singer|"
    r"player|writer|figure|man|woman|proponent|artist|nurse|clerk|[a-z]{3,}(?:ist|ian))\b"
    r"(?=\s(?:of|for|born|from|in|at|and|with|who)\b|,|$)"
)
_UNIQUE_ROLE = re.compile(
    r"^(?P<what>the (?:[\w-]+ ){0,3}?(?P<noun>\w+) (?:of|for|in|at) (?P<whose>.+))$", re.IGNORECASE
)
_DEFINITION = re.compile(r"^(?:an?|the)\s+\w", re.IGNORECASE)
_ROLE_OF = re.compile(r"the (?:\w+ ){1,4}(?:of|for|in) ", re.IGNORECASE)
_FIGURE = (
    r"(?:\d[\d,.]*\d|\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|"
    r"twenty|"
    r"thirty|forty|fifty|sixty)"
)
_SCALE = r"(?:\s(?:million|billion|thousand))?"
_ABOUT = (
    r"(?:(?:about|approximately|around|nearly|almost|over|more than|exactly|roughly|some|only)\s+)?"
)
_COUNT = re.compile(
    rf"^{_ABOUT}(?P<bound>at least |at most |up to )?(?P<num>{_FIGURE}{_SCALE})\s+"
    r"(?P<things>(?:[a-z][a-z-]+\s+){0,2}?[a-z][a-z-]+s|people|men|women|children)\b(?P<rest>.*)$"
)
_CURRENCY = r"(?:crowns|dollars|euros|pounds|rupiah|cents|francs|yen|USD|EUR)"
_MONEY = re.compile(
    rf"^{_ABOUT}(?P<num>(?:US)?[$\u20ac\u00a3]\s?\d[\d,.]*{_SCALE}|"
    rf"\d[\d,.]*{_SCALE}\s{_CURRENCY})\b"
    r"(?P<rest>.*)$"
)
_PRICE_VERBS = split_words("cost pay earn receive charge spend raise")
_UNIT = (
    r"(?:seconds?|minutes?|hours?|(?:working |business |calendar )?days?|weeks?|months?|years?|"
    r"metres?|meters?|kilometres?|kilometers?|miles|feet|centimetres?|kilograms?|tonnes)"
)
_DURATION = re.compile(
    r"\b(?P<prep>within|for|after|every|in less than|for up to|at least|up to)\s+"
    rf"(?P<num>{_FIGURE}\s+(?P<unit>{_UNIT}))\b"
)
_NO_DURATION = re.compile(r"\s*(?:of|old|to|and|or)\b")
_LENGTH = re.compile(r"met|mile|feet|gram|tonne")
_MEASURE = re.compile(
    rf"^{_ABOUT}(?P<num>{_FIGURE}\s?(?:{_UNIT}|m|km|cm|mm|ft))\s+"
    r"(?P<how>long|wide|deep|high|tall|old|thick|away)\b(?P<rest>.*)$"
)
_SHARE = re.compile(
    rf"^{_ABOUT}(?P<num>\d[\d.,]*\s?(?:%|percent|per cent))\s+of\s+(?P<what>.+)$", re.IGNORECASE
)
_RELATIVE = re.compile(r"\s(?:that|which|who)\s[^,;:.]+")
_AGENT = re.compile(r"\bby\s+(?P<who>.+)$")
_AGENT_ENDS = re.compile(
    r"\s*(?:$|[.;)]|(?:in|on|at|for|to|from|with|as|of|during|after|before)\s)"
)
_ITEM_LIST = re.compile(r"^(?P<items>[^,;:.]{2,40}(?:, [^,;:.]{2,40}){1,20},? and [^,;:.]{2,50})$")
_ITEMS = re.compile(r",\s+and\s+|,\s+|(?<!\s)\s+and\s+(?=[^,]{0,80}$)")
_LIST_VERBS = split_words("""
include includes contain contains consist consists comprise comprises require requires support
supports provide provides accept accepts cover covers offer offers need needs take takes
""")
_BECAUSE = re.compile(r"\bbecause\s+(?!of\b)(?P<why>[^.;]+)")
_IF = re.compile(r"^If (?P<cond>[^,;]{8,80}), (?:then )?(?P<then>[^;]{12,120})\.$")
_HOW_TO = re.compile(
    r"^To (?P<goal>(?!(?:be|date|this|that|some|do|the)\b)[a-z]+ [^,;:]{5,70}), "
    r"(?P<how>(?:run|use|set|add|call|press|click|select|open|create|specify|choose|enter|edit|"
    r"send|"
    r"fill|bring|order|write|ring)\s[^;:]{3,90})\.$"
)


def pose_questions(sentence: str, common: Collection[str]) -> list[PosedQuestion]:
    """Return the questions of an English sentence, as `asking.pose_questions` does."""
    if not is_plain(sentence) or _SPEECH.search(sentence):
        return []
    questions = [*_ask_consequence(sentence), *_ask_instruction(sentence)]
    clause = parse_clause(sentence, common)
    # A negated clause answers no question, and "it" is unclear outside of the text.
    if clause and not _DENIES.search(clause.rest) and not _POINTS_BACK.search(clause.about):
        questions += [question for rule in _RULES for question in rule(clause)]
    return [question for question in questions if _is_sound(question)]


def _is_sound(question: PosedQuestion) -> bool:
    length = len(question.text.split())
    broken = _POINTS_BACK.search(question.text) or _CUT_OFF.search(question.text)
    whole = question.text.count("(") == question.text.count(")") and " et al" not in question.text
    return _SHORTEST <= length <= _LONGEST and whole and not broken


def _ask_when(clause: Clause) -> Iterator[PosedQuestion]:
    sentence, tail = clause.sentence, clause.tail
    if clause.when is not None:
        if clause.aux not in HAVE | {"does"}:
            yield PosedQuestion(
                clause.ask("When", clause.rest), clause.when, "when", subject=clause.about
            )
        return
    times = [span for span in find_spans("time", sentence, "") or () if tail.start <= span.start]
    inside = [span for span in times if span.end <= tail.end]
    before = _TIME_BEFORE.search(sentence[tail.start : inside[0].start]) if inside else None
    # Of two times or a range, one time alone is only half of an answer.
    if before is None or len(inside) > 1 or _RANGE.match(sentence[inside[0].end :]):
        return
    prep = before["prep"]
    if prep == "from" or (clause.aux in HAVE and prep != "since"):
        return
    word = _WHEN_WORDS.get(prep, "When")
    if prep == "at" and ":" in inside[0].cut(sentence):
        word = "At what time"
    rest = clause.omit(tail.start + before.start(), inside[0].end)
    yield PosedQuestion(clause.ask(word, rest), inside[0], "when", subject=clause.about)


def _ask_where(clause: Clause) -> Iterator[PosedQuestion]:
    sentence, tail = clause.sentence, clause.tail
    if clause.main not in (_PLACE_VERBS if clause.passive else _STAY_VERBS):
        return
    times = find_spans("time", sentence, "") or ()
    for span in find_spans("place", sentence, clause.subject.cut(sentence)) or ():
        before = _PLACE_BEFORE.search(sentence[tail.start : max(tail.start, span.start)])
        is_time = any(time.start < span.end and span.start < time.end for time in times)
        # Names of times after "in" or "on" look like places: "in March".
        if before and span.end <= tail.end and not is_time:
            rest = clause.omit(tail.start + before.start(), span.end)
            yield PosedQuestion(clause.ask("Where", rest), span, "where", subject=clause.about)
            return


def _ask_agent(clause: Clause) -> Iterator[PosedQuestion]:
    match = _AGENT.search(clause.rest) if clause.passive else None
    if not match or clause.aux not in {"was", "were"}:
        return
    at = clause.tail.start + match.start("who")
    # The name may follow "the ", which has four characters.
    who = next((span for span in find_names(clause.sentence) if span.start in {at, at + 4}), None)
    if who is None or find_spans("time", who.cut(clause.sentence), ""):
        return
    if not _AGENT_ENDS.match(clause.sentence[who.end :]):
        return
    rest = clause.omit(clause.tail.start + match.start(), who.end)
    past = map_participles().get(clause.main, clause.main)
    text = tidy_question(f"Who {past} {clause.about} {rest}")
    yield PosedQuestion(text, who, "by whom", subject=clause.about)


def _ask_price(clause: Clause) -> Iterator[PosedQuestion]:
    match = _MONEY.match(clause.rest)
    if match and (clause.main in _PRICE_VERBS or (not clause.verb and clause.aux in BE)):
        yield _pose_number(clause, clause.ask("How much", match["rest"]), match, "how much")


def _ask_count(clause: Clause) -> Iterator[PosedQuestion]:
    match = _COUNT.match(clause.rest)
    if not match or not clause.verb or clause.passive or match["num"] == "one":
        return
    # These words are parts of the number.
    if re.match(r"(?:hundred|more|other|of)\b", match["things"]):
        return
    if re.search(rf"\b(?:{_UNIT}|{_CURRENCY})$", match["things"]) or re.match(
        rf"\s*(?:to|-)\s*\d|\s(?:of|and|or|{_FIGURE})\b|/", match["rest"]
    ):
        return
    how = f"{(match['bound'] or '').capitalize()}how many {match['things']}"
    yield _pose_number(clause, clause.ask(how, match["rest"]), match, "how many")


def _ask_measure(clause: Clause) -> Iterator[PosedQuestion]:
    match = _MEASURE.match(clause.rest) if not clause.verb else None
    if match:
        how = {"away": "far away"}.get(match["how"], match["how"])
        yield _pose_number(clause, clause.ask(f"How {how}", match["rest"]), match, "how long")


def _ask_duration(clause: Clause) -> Iterator[PosedQuestion]:
    match = _DURATION.search(clause.rest)
    if not match or not clause.verb or _NO_DURATION.match(clause.rest[match.end() :]):
        return
    unit = match["unit"] if match["unit"].endswith(("s", "feet")) else f"{match['unit']}s"
    word = {"every": "How often", "for": f"For how many {unit}"}.get(match["prep"])
    if match["prep"].startswith("for") and not _LENGTH.search(unit):
        word = "How long" if match["prep"] == "for" else "For how long at most"
    start = clause.tail.start
    rest = clause.omit(start + match.start(), start + match.end())
    text = clause.ask(word or f"{match['prep'].capitalize()} how many {unit}", rest)
    yield _pose_number(clause, text, match, "how long")


def _pose_number(clause: Clause, text: str, match: re.Match[str], rule: str) -> PosedQuestion:
    span = Span(*match.span("num")).shift(clause.tail.start)
    return PosedQuestion(text, span, rule, numeric=True, subject=clause.about)


def _ask_who(clause: Clause) -> Iterator[PosedQuestion]:
    subject = clause.subject.cut(clause.sentence)
    words = subject.split()
    people = len(words) in {2, 3} and all(
        word[0].isupper() and word[1:].islower() for word in words
    )
    name_spans = find_names(clause.sentence)
    if clause.subject not in name_spans or not people or clause.passive:
        return
    has_name = any(clause.tail.start <= span.start < clause.tail.end for span in name_spans)
    finite = clause.finite.cut(clause.sentence)
    # A short predicate without a name is true for many people.
    if finite.split()[-1] in _HUMAN_ACTS and (has_name or len(clause.rest.split()) > 4):
        yield PosedQuestion(tidy_question(f"Who {finite} {clause.rest}"), clause.subject, "who")


def _ask_identity(clause: Clause) -> Iterator[PosedQuestion]:
    if clause.verb or clause.aux not in BE:
        return
    rest, subject = clause.rest.strip(), clause.subject.cut(clause.sentence)
    is_named = clause.subject in find_names(clause.sentence)
    reversed_match = _UNIQUE_ROLE.match(rest) if is_named else None
    if reversed_match and find_names(f"x {reversed_match['whose']}"):
        # "Oslo is the capital of Norway" asks for the name: "What is the capital of Norway?"
        word = "Who" if reversed_match["noun"].lower() in _ROLES else "What"
        yield PosedQuestion(
            tidy_question(f"{word} {clause.aux} {reversed_match['what']}"), clause.subject, "which"
        )
    elif _ROLE_OF.match(subject) and len(rest.split()) <= 8:
        if re.match(r"\d", rest) or (
            (is_named or find_names(f"x {rest}")) and re.match("the |an? |[A-Z]", rest)
        ):
            role = any(word in _ROLES for word in subject.lower().split()[1:3])
            yield _pose_definition(clause, "Who" if role else "What")
    elif _DEFINITION.match(rest):
        words = len(subject.split())
        person = is_named and 1 < words < 5 and _PERSON.match(rest)
        definition = _pose_definition(clause, "Who" if person else "What")
        if (
            words <= 5
            and (is_named or words > 1)
            and len(definition.answer.cut(clause.sentence).split()) > 2
        ):
            yield definition


def _pose_definition(clause: Clause, word: str) -> PosedQuestion:
    """Pose the question for the definition of the subject; leave out brackets at its end."""
    rest = clause.rest.rstrip()
    relative = _RELATIVE.match(clause.sentence, clause.tail.start + len(rest))
    rest = re.sub(r"(?<!\s)\s*\([^()]*\)$", "", rest + (relative[0] if relative else ""))
    span = Span(clause.tail.start, clause.tail.start + len(rest))
    text = tidy_question(f"{word} {clause.aux} {clause.about}")
    return PosedQuestion(text, span, "what is", numeric=rest[:1].isdigit(), subject=clause.about)


def _ask_items(clause: Clause) -> Iterator[PosedQuestion]:
    if clause.finite.cut(clause.sentence).lower() not in _LIST_VERBS:
        return
    verb = clause.main
    # After "consist", the items begin after the three characters of "of ".
    start = clause.tail.start + (3 if re.match(r"of\s", clause.rest) else 0)
    match = _ITEM_LIST.match(clause.sentence[start : len(clause.sentence) - 1])
    if match:
        items = tuple(filter(None, map(str.strip, _ITEMS.split(match["items"]))))
        aux = clause.aux
        text = tidy_question(
            f"What {aux} {clause.about} {verb} {'of' if verb == 'consist' else ''}"
        )
        span = Span(start, start + match.end())
        yield PosedQuestion(text, span, "list", several=True, subject=clause.about, items=items)


def _ask_reason(clause: Clause) -> Iterator[PosedQuestion]:
    match = _BECAUSE.search(clause.sentence, clause.tail.end)
    if match and not clause.sentence[clause.tail.end : match.start()].strip(" ,"):
        span = Span(*match.span("why"))
        yield PosedQuestion(clause.ask("Why", clause.rest), span, "why", subject=clause.about)


def _ask_share(clause: Clause) -> Iterator[PosedQuestion]:
    match = _SHARE.match(clause.subject.cut(clause.sentence))
    if match:
        span = Span(*match.span("num")).shift(clause.subject.start)
        predicate = clause.sentence[clause.finite.start : clause.tail.end]
        text = tidy_question(f"What percentage of {match['what']} {predicate}")
        yield PosedQuestion(text, span, "what share", numeric=True)


_RULES: tuple[Callable[[Clause], Iterator[PosedQuestion]], ...] = (
    _ask_when,
    _ask_where,
    _ask_agent,
    _ask_price,
    _ask_count,
    _ask_measure,
    _ask_duration,
    _ask_who,
    _ask_identity,
    _ask_items,
    _ask_reason,
    _ask_share,
)


def _ask_consequence(sentence: str) -> Iterator[PosedQuestion]:
    match = _IF.match(sentence)
    if match and not _POINTS_BACK.search(match["cond"]) and not _POINTS_BACK.match(match["then"]):
        yield PosedQuestion(
            tidy_question(f"What happens if {match['cond']}"), Span(*match.span("then")), "what if"
        )


def _ask_instruction(sentence: str) -> Iterator[PosedQuestion]:
    match = _HOW_TO.match(sentence)
    if match and not _POINTS_BACK.search(match["goal"]):
        yield PosedQuestion(
            tidy_question(f"How do I {match['goal']}"), Span(*match.span("how")), "how"
        )

"""Rules that turn an English sentence into questions, each for one element of the main clause."""

import re
from collections.abc import Callable, Collection, Iterator

from fathom.question_maker.asking.base import Posed, plain, tidy
from fathom.question_maker.asking.clause import BE, HAVE, Clause, clause_of
from fathom.question_maker.asking.verbs import participles, word_set
from fathom.text.answer_type import spans_of
from fathom.text.entities import names
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
_WHEN = {"since": "Since when", "until": "Until when", "by": "By when"}
_RANGE = re.compile(r"\s*(?:to|and|or|-|\u2013|until)\s*(?:the\s)?\d|\s(?:to|until)\b")
_PLACE_BEFORE = re.compile(r"\b(?:in|at|near|on)\s+(?:the\s+|a\s+)?$")
_LOCATED = word_set("""
located situated based born held built founded established stored kept found buried headquartered
erected displayed sold collected measured hosted published signed
""")
_STAYS = word_set("live lie die stand")
_HUMAN = word_set("""
wrote won led directed married studied became served joined founded invented discovered designed
composed painted developed created established played coached managed introduced proposed described
published received ruled defeated succeeded built opened commanded adopted wins leads manages
directs oversees writes approves signs signed decides chairs chaired runs
""")
_ROLES = word_set("""
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
_REVERSED = re.compile(
    r"^(?P<what>the (?:[\w-]+ ){0,3}?(?P<noun>\w+) (?:of|for|in|at) (?P<whose>.+))$", re.IGNORECASE
)
_DEFINED = re.compile(r"^(?:an?|the)\s+\w", re.IGNORECASE)
_OF = re.compile(r"the (?:\w+ ){1,4}(?:of|for|in) ", re.IGNORECASE)
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
_PAID = word_set("cost pay earn receive charge spend raise")
_UNIT = (
    r"(?:seconds?|minutes?|hours?|(?:working |business |calendar )?days?|weeks?|months?|years?|"
    r"metres?|meters?|kilometres?|kilometers?|miles|feet|centimetres?|kilograms?|tonnes)"
)
_LASTS = re.compile(
    r"\b(?P<prep>within|for|after|every|in less than|for up to|at least|up to)\s+"
    rf"(?P<num>{_FIGURE}\s+(?P<unit>{_UNIT}))\b"
)
_LASTS_NOT = re.compile(r"\s*(?:of|old|to|and|or)\b")
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
_LISTED = re.compile(r"^(?P<items>[^,;:.]{2,40}(?:, [^,;:.]{2,40})+,? and [^,;:.]{2,50})$")
_ITEMS = re.compile(r",\s+and\s+|,\s+|\s+and\s+(?=[^,]*$)")
_LISTING = word_set("""
include includes contain contains consist consists comprise comprises require requires support
supports provide provides accept accepts cover covers offer offers need needs take takes
""")
_BECAUSE = re.compile(r"\bbecause\s+(?!of\b)(?P<why>[^.;]+)")
_IF = re.compile(r"^If (?P<cond>[^,;]{8,80}), (?:then )?(?P<then>[^;]{12,120})\.$")
_DO = re.compile(
    r"^To (?P<goal>(?!(?:be|date|this|that|some|do|the)\b)[a-z]+ [^,;:]{5,70}), "
    r"(?P<how>(?:run|use|set|add|call|press|click|select|open|create|specify|choose|enter|edit|"
    r"send|"
    r"fill|bring|order|write|ring)\s[^;:]{3,90})\.$"
)


def posed(sentence: str, common: Collection[str]) -> list[Posed]:
    """Return the questions of an English sentence; `asking.pose_questions` has the arguments."""
    if not plain(sentence) or _SPEECH.search(sentence):
        return []
    questions = [*_condition(sentence), *_instruction(sentence)]
    clause = clause_of(sentence, common)
    # A denied clause answers no question, and "it" means nothing outside of the text.
    if clause and not _DENIES.search(clause.rest) and not _POINTS_BACK.search(clause.about):
        questions += [question for rule in _RULES for question in rule(clause)]
    return [question for question in questions if _is_sound(question)]


def _is_sound(question: Posed) -> bool:
    length = len(question.text.split())
    broken = _POINTS_BACK.search(question.text) or _CUT_OFF.search(question.text)
    whole = question.text.count("(") == question.text.count(")") and " et al" not in question.text
    return _SHORTEST <= length <= _LONGEST and whole and not broken


def _when(clause: Clause) -> Iterator[Posed]:
    sentence, tail = clause.sentence, clause.tail
    if clause.when is not None:
        if clause.aux not in HAVE | {"does"}:
            yield Posed(
                clause.asked("When", clause.rest), clause.when, "when", subject=clause.about
            )
        return
    times = [span for span in spans_of("time", sentence, "") or () if tail.start <= span.start]
    inside = [span for span in times if span.end <= tail.end]
    before = _TIME_BEFORE.search(sentence[tail.start : inside[0].start]) if inside else None
    # Two times or a range: one of them alone would be half an answer.
    if before is None or len(inside) > 1 or _RANGE.match(sentence[inside[0].end :]):
        return
    prep = before["prep"]
    if prep == "from" or (clause.aux in HAVE and prep != "since"):
        return
    word = _WHEN.get(prep, "When")
    if prep == "at" and ":" in inside[0].cut(sentence):
        word = "At what time"
    rest = clause.without(tail.start + before.start(), inside[0].end)
    yield Posed(clause.asked(word, rest), inside[0], "when", subject=clause.about)


def _where(clause: Clause) -> Iterator[Posed]:
    sentence, tail = clause.sentence, clause.tail
    if clause.main not in (_LOCATED if clause.passive else _STAYS):
        return
    times = spans_of("time", sentence, "") or ()
    for span in spans_of("place", sentence, clause.subject.cut(sentence)) or ():
        before = _PLACE_BEFORE.search(sentence[tail.start : max(tail.start, span.start)])
        is_time = any(time.start < span.end and span.start < time.end for time in times)
        # Names of times look like places behind "in" or "on": "in March".
        if before and span.end <= tail.end and not is_time:
            rest = clause.without(tail.start + before.start(), span.end)
            yield Posed(clause.asked("Where", rest), span, "where", subject=clause.about)
            return


def _agent(clause: Clause) -> Iterator[Posed]:
    match = _AGENT.search(clause.rest) if clause.passive else None
    if not match or clause.aux not in {"was", "were"}:
        return
    at = clause.tail.start + match.start("who")
    # The name may follow "the ", which has four characters.
    who = next((span for span in names(clause.sentence) if span.start in {at, at + 4}), None)
    if who is None or spans_of("time", who.cut(clause.sentence), ""):
        return
    if not _AGENT_ENDS.match(clause.sentence[who.end :]):
        return
    rest = clause.without(clause.tail.start + match.start(), who.end)
    past = participles().get(clause.main, clause.main)
    text = tidy(f"Who {past} {clause.about} {rest}")
    yield Posed(text, who, "by whom", subject=clause.about)


def _paid(clause: Clause) -> Iterator[Posed]:
    match = _MONEY.match(clause.rest)
    if match and (clause.main in _PAID or (not clause.verb and clause.aux in BE)):
        yield _number(clause, clause.asked("How much", match["rest"]), match, "how much")


def _counted(clause: Clause) -> Iterator[Posed]:
    match = _COUNT.match(clause.rest)
    if not match or not clause.verb or clause.passive or match["num"] == "one":
        return
    # These words belong to the number.
    if re.match(r"(?:hundred|more|other|of)\b", match["things"]):
        return
    if re.search(rf"\b(?:{_UNIT}|{_CURRENCY})$", match["things"]) or re.match(
        rf"\s*(?:to|-)\s*\d|\s(?:of|and|or|{_FIGURE})\b|/", match["rest"]
    ):
        return
    how = f"{(match['bound'] or '').capitalize()}how many {match['things']}"
    yield _number(clause, clause.asked(how, match["rest"]), match, "how many")


def _measured(clause: Clause) -> Iterator[Posed]:
    match = _MEASURE.match(clause.rest) if not clause.verb else None
    if match:
        how = {"away": "far away"}.get(match["how"], match["how"])
        yield _number(clause, clause.asked(f"How {how}", match["rest"]), match, "how long")


def _lasting(clause: Clause) -> Iterator[Posed]:
    match = _LASTS.search(clause.rest)
    if not match or not clause.verb or _LASTS_NOT.match(clause.rest[match.end() :]):
        return
    unit = match["unit"] if match["unit"].endswith(("s", "feet")) else f"{match['unit']}s"
    word = {"every": "How often", "for": f"For how many {unit}"}.get(match["prep"])
    if match["prep"].startswith("for") and not _LENGTH.search(unit):
        word = "How long" if match["prep"] == "for" else "For how long at most"
    start = clause.tail.start
    rest = clause.without(start + match.start(), start + match.end())
    text = clause.asked(word or f"{match['prep'].capitalize()} how many {unit}", rest)
    yield _number(clause, text, match, "how long")


def _number(clause: Clause, text: str, match: re.Match[str], rule: str) -> Posed:
    span = Span(*match.span("num")).shifted(clause.tail.start)
    return Posed(text, span, rule, numeric=True, subject=clause.about)


def _who(clause: Clause) -> Iterator[Posed]:
    subject = clause.subject.cut(clause.sentence)
    words = subject.split()
    people = len(words) in {2, 3} and all(
        word[0].isupper() and word[1:].islower() for word in words
    )
    name_spans = names(clause.sentence)
    if clause.subject not in name_spans or not people or clause.passive:
        return
    has_name = any(clause.tail.start <= span.start < clause.tail.end for span in name_spans)
    finite = clause.finite.cut(clause.sentence)
    # A bare short predicate fits many people, so the question would have many answers.
    if finite.split()[-1] in _HUMAN and (has_name or len(clause.rest.split()) > 4):
        yield Posed(tidy(f"Who {finite} {clause.rest}"), clause.subject, "who")


def _identity(clause: Clause) -> Iterator[Posed]:
    if clause.verb or clause.aux not in BE:
        return
    rest, subject = clause.rest.strip(), clause.subject.cut(clause.sentence)
    is_named = clause.subject in names(clause.sentence)
    reversed_match = _REVERSED.match(rest) if is_named else None
    if reversed_match and names(f"x {reversed_match['whose']}"):
        # "Oslo is the capital of Norway" asks for the name: "What is the capital of Norway?"
        word = "Who" if reversed_match["noun"].lower() in _ROLES else "What"
        yield Posed(tidy(f"{word} {clause.aux} {reversed_match['what']}"), clause.subject, "which")
    elif _OF.match(subject) and len(rest.split()) <= 8:
        if re.match(r"\d", rest) or (
            (is_named or names(f"x {rest}")) and re.match("the |an? |[A-Z]", rest)
        ):
            role = any(word in _ROLES for word in subject.lower().split()[1:3])
            yield _said(clause, "Who" if role else "What")
    elif _DEFINED.match(rest):
        words = len(subject.split())
        person = is_named and 1 < words < 5 and _PERSON.match(rest)
        definition = _said(clause, "Who" if person else "What")
        if (
            words <= 5
            and (is_named or words > 1)
            and len(definition.answer.cut(clause.sentence).split()) > 2
        ):
            yield definition


def _said(clause: Clause, word: str) -> Posed:
    """Pose the question for the definition of the subject, without brackets at its end."""
    rest = clause.rest.rstrip()
    relative = _RELATIVE.match(clause.sentence, clause.tail.start + len(rest))
    rest = re.sub(r"\s*\([^()]*\)$", "", rest + (relative[0] if relative else ""))
    span = Span(clause.tail.start, clause.tail.start + len(rest))
    text = tidy(f"{word} {clause.aux} {clause.about}")
    return Posed(text, span, "what is", numeric=rest[:1].isdigit(), subject=clause.about)


def _listed(clause: Clause) -> Iterator[Posed]:
    if clause.finite.cut(clause.sentence).lower() not in _LISTING:
        return
    verb = clause.main
    # "consist of": the items begin behind the three characters of "of ".
    start = clause.tail.start + (3 if re.match(r"of\s", clause.rest) else 0)
    match = _LISTED.match(clause.sentence[start : len(clause.sentence) - 1])
    if match:
        items = tuple(filter(None, map(str.strip, _ITEMS.split(match["items"]))))
        aux = clause.aux
        text = tidy(f"What {aux} {clause.about} {verb} {'of' if verb == 'consist' else ''}")
        span = Span(start, start + match.end())
        yield Posed(text, span, "list", several=True, subject=clause.about, items=items)


def _reason(clause: Clause) -> Iterator[Posed]:
    match = _BECAUSE.search(clause.sentence, clause.tail.end)
    if match and not clause.sentence[clause.tail.end : match.start()].strip(" ,"):
        span = Span(*match.span("why"))
        yield Posed(clause.asked("Why", clause.rest), span, "why", subject=clause.about)


def _shared(clause: Clause) -> Iterator[Posed]:
    match = _SHARE.match(clause.subject.cut(clause.sentence))
    if match:
        span = Span(*match.span("num")).shifted(clause.subject.start)
        predicate = clause.sentence[clause.finite.start : clause.tail.end]
        text = tidy(f"What percentage of {match['what']} {predicate}")
        yield Posed(text, span, "what share", numeric=True)


_RULES: tuple[Callable[[Clause], Iterator[Posed]], ...] = (
    _when,
    _where,
    _agent,
    _paid,
    _counted,
    _measured,
    _lasting,
    _who,
    _identity,
    _listed,
    _reason,
    _shared,
)


def _condition(sentence: str) -> Iterator[Posed]:
    match = _IF.match(sentence)
    if match and not _POINTS_BACK.search(match["cond"]) and not _POINTS_BACK.match(match["then"]):
        yield Posed(tidy(f"What happens if {match['cond']}"), Span(*match.span("then")), "what if")


def _instruction(sentence: str) -> Iterator[Posed]:
    match = _DO.match(sentence)
    if match and not _POINTS_BACK.search(match["goal"]):
        yield Posed(tidy(f"How do I {match['goal']}"), Span(*match.span("how")), "how")

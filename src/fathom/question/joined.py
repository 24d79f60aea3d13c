"""Rules that split joined questions: "In which year was it built, and where does it stand?"."""

import re

from fathom.question.antecedents import PriorQuestion
from fathom.question.clauses import LONGEST_QUESTION
from fathom.question.followup import resolve_question

_JOINT = re.compile(
    r",?(?<!\s)\s+(?:and|dan)\s+(?:also\s+|juga\s+)?"
    r"(?=(?:what|which|who|whom|whose|when|where|why|how|apa|siapa|kapan|di\s?mana|mengapa|berapa|"
    r"bagaimana)\b|"
    r"(?:is|are|was|were|do|does|did|can|may|must|should|will|has|have)\s+"
    r"(?:i|you|he|she|it|we|they|there|this|that|the|an?)\b)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^\W*(?:(?:in|on|at|from|di|dari|pada)\s+)?(?:what|which|who|whom|whose|when|where|why|how|"
    r"is|are|was|were|do|does|did|apa|siapa|kapan|mana|berapa|mengapa|bagaimana)",
    re.IGNORECASE,
)


def split_questions(question: str, most: int) -> tuple[str, ...]:
    """Return the questions that "and" joins, each complete in itself.

    Args:
        question: The question.
        most: The largest number of questions; further ones are dropped.

    Returns:
        The questions in order, with the pronouns of later ones replaced by what they stand for;
        the question alone, unchanged, if nothing is joined.
    """
    if len(question) > LONGEST_QUESTION:
        return (question,)
    first, *others = _JOINT.split(" ".join(question.split()).rstrip("? "))
    if not _ASKS.search(first) or any(len(other.split()) < 3 for other in others):
        return (question,)
    if not others:
        return (question,)
    questions = [f"{text[:1].upper()}{text[1:]}?" for text in (first, *others)][:most]
    # The pronouns of later questions refer to the topic of the first.
    before = PriorQuestion(questions[0])
    return (questions[0], *(resolve_question(later, before) for later in questions[1:]))

from hypothesis import given
from hypothesis import strategies as st
from tests.factories import hit_of

from fathom.agents.decomposer import LocalDecomposer
from fathom.planner.question_features import QuestionFeatures, QuestionObserver
from fathom.question.question import Question
from fathom.text.content_words import ContentTerms

OBSERVER = QuestionObserver(extract_terms=ContentTerms(), decomposer=LocalDecomposer())
HITS = (hit_of(), hit_of("Nothing.", document="d2", rank=2))


def test_a_question_and_its_first_look_become_numbers() -> None:
    observer = OBSERVER(
        Question("Please tell me how much a mooring permit costs?"), HITS, first=True
    )
    assert (observer.first, observer.serial, observer.parallel) == (1, 1, 1)
    assert observer.filler > 0
    assert (observer.hits, observer.documents, observer.top, observer.gap) == (2, 2, 1.0, 0.5)
    assert observer.coverage >= 0.5
    assert observer.reach >= observer.coverage


def test_parts_that_rules_could_split_are_counted() -> None:
    assert OBSERVER(Question("Who is older, Ana Silva or Nora Berg?"), (), first=True).parallel == 2
    assert (
        OBSERVER(
            Question("Who is the wife of the director of Harbour Lights?"), (), first=True
        ).serial
        == 2
    )


@given(st.text(max_size=200), st.booleans())
def test_every_question_has_the_same_columns(text: str, first: bool) -> None:
    observer = OBSERVER(Question(text), (), first=first)
    values = observer.list_values()
    assert len(values) == len(QuestionFeatures.list_names())
    assert all(isinstance(value, float) for value in values)
    assert values == OBSERVER(Question(text), (), first=first).list_values()

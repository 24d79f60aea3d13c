import asyncio

import pytest
from tests.factories import FEES, hit_of

from fathom.agents.decomposer import Manner
from fathom.agents.judge import LocalJudge
from fathom.agents.summarizer import LLMSummarizer, LocalSummarizer, SubAnswer, Summarizer
from fathom.llm.base import Completion
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.question.question import Question
from fathom.testing.doubles import (
    ScriptedChat,
    ScriptedCrossReader,
    completion,
    reading,
    run_context,
)
from fathom.types import Draft, Evidence, Span
from fathom.usage import Usage

FIRST = "Who was born first, Ana Silva or Nora Berg?"
SAME = "Are Ana Silva and Nora Berg of the same nationality?"
LIVES = "Who lived longer, Ana Silva or Nora Berg?"
CHOICE = "Is Oslo or Turku in Norway?"
BOTH = "Are both Ana Silva and Nora Berg painters?"
DULU = "Siapa yang lahir lebih dulu, Chairil Anwar atau Amir Hamzah?"


def make_finding(answer: str, *, document: str = "d1", confidence: float = 0.9) -> SubAnswer:
    evidence = Evidence(hit=hit_of(document=document), span=Span(0, 40), support=confidence)
    draft = Draft(evidence=(evidence,), short_answer=answer, confidence=confidence)
    return SubAnswer(question=Question("?"), draft=draft if answer else Draft())


def summarize(
    question: str, manner: Manner, *findings: SubAnswer, by: Summarizer | None = None
) -> Draft:
    with run_context() as context:
        return asyncio.run(
            (by or LocalSummarizer()).summarize(
                Question(question), manner, findings, [hit_of()], context
            )
        )


@pytest.mark.parametrize(
    ("question", "answers", "short"),
    [
        (FIRST, ("10 June 1819", "11 June 1819"), "Ana Silva"),
        (FIRST.replace("first", "later"), ("10 June 1819", "1901"), "Nora Berg"),
        (SAME, ("Norwegian", "the Norwegian"), "yes"),
        (SAME, ("Norwegian", "Danish"), "no"),
        ("Which lies in Norway, Oslo or Turku?", ("a town", "no town"), ""),
        (CHOICE, ("yes", "no"), "Oslo"),
        (CHOICE, ("no", "no"), ""),
        (CHOICE, ("yes", "yes"), ""),
        ("Which lies in Norway, Turku or Oslo?", ("a town", "Oslo"), "Oslo"),
        (
            "What profession did Ana Silva and Nora Berg both hold?",
            ("the Norwegian film director", "painter and film director"),
            "film director",
        ),
        (LIVES, ("1901; 1950", "1910; 3 May 1970"), "Nora Berg"),
        (LIVES.replace("longer", "shorter"), ("1901; 1950", "1910; 1970"), "Ana Silva"),
        (LIVES, ("1901; 1950", "1910"), "1901; 1950; 1910"),
        (LIVES, ("1901; 1950", "1911; 1960"), "1901; 1950; 1911; 1960"),
        (BOTH, ("yes", "Yes"), "yes"),
        (BOTH, ("yes", "no"), "no"),
        (DULU, ("26 Juli 1922", "28 Februari 1911"), "Amir Hamzah"),
        (FIRST, ("10 June 1819", "long ago"), "10 June 1819; long ago"),
        ("Who wrote Dune and when was it published?", ("Herbert", "1965"), "Herbert; 1965"),
    ],
)
def test_comparisons_are_decided_by_rules(
    question: str, answers: tuple[str, str], short: str
) -> None:
    sub_answers = (
        make_finding(answers[0]),
        make_finding(answers[1], document="d2", confidence=0.6),
    )
    draft = summarize(question, "parallel", *sub_answers)
    assert draft.short_answer == short
    assert [item.hit.chunk.document_id for item in draft.evidence] == ["d1", "d2"]
    assert draft.confidence == 0.6


@pytest.mark.parametrize(("answers", "chosen"), [(("yes", ""), "Oslo"), (("", "no"), "Oslo")])
def test_one_side_decides_a_choice_and_gives_its_confidence(
    answers: tuple[str, str], chosen: str
) -> None:
    sides = (make_finding(answer, confidence=0.8) for answer in answers)
    draft = summarize(CHOICE, "parallel", *sides)
    assert (draft.short_answer, draft.confidence) == (chosen, 0.8)


def test_one_denial_decides_for_all_with_its_own_confidence() -> None:
    sides = (make_finding("yes", confidence=0.4), make_finding("no", confidence=0.8))
    draft = summarize(BOTH, "parallel", *sides)
    assert (draft.short_answer, draft.confidence) == ("no", 0.8)


def test_the_words_that_two_quotes_share_answer_what_both_are() -> None:
    question = "What kind of film are both Solaris and Stalker?"
    texts = ("Solaris is a Soviet science fiction film.", "Stalker is a 1979 Science Fiction film.")
    sides = (
        SubAnswer(
            question=Question("?"),
            draft=Draft(
                evidence=(Evidence(hit=hit_of(text), span=Span(0, len(text)), support=0.9),),
                short_answer=answer,
                confidence=0.9,
            ),
        )
        for text, answer in zip(texts, ("Soviet", "1979"), strict=True)
    )
    assert summarize(question, "parallel", *sides).short_answer == "science fiction film"


def test_the_last_hop_answers_a_chain_and_its_evidence_comes_first() -> None:
    draft = summarize("?", "serial", make_finding("Acme"), make_finding("Bo Holm", document="d2"))
    assert draft.short_answer == "Bo Holm"
    assert [item.hit.chunk.document_id for item in draft.evidence] == ["d2", "d1"]


def test_without_a_final_answer_there_is_none() -> None:
    assert summarize("?", "serial", make_finding("Acme"), make_finding("")) == Draft()
    assert summarize(FIRST, "parallel", make_finding(""), make_finding("")) == Draft()
    assert summarize("?", "parallel") == Draft()


def make_model(*outcomes: Completion | Exception) -> LLMSummarizer:
    pairs = ScriptedCrossReader(lambda claim, chunk: reading(chunk, supported=float("40" in claim)))
    return LLMSummarizer(
        model=RoleModel(chat=ScriptedChat(*outcomes)),
        local=LocalSummarizer(),
        judge=LocalJudge(pairs=pairs),
        min_support=0.5,
    )


def test_sentences_of_a_model_count_where_their_quotes_support_them() -> None:
    sentence = FEES[:40]
    reply = (
        f'{{"answer": {{"sentences": [{{"quotes": [1], "text": "{sentence}"}}, '
        '{"quotes": [1], "text": "Zebras graze."}, {"quotes": [9], "text": "It costs 40."}], '
        '"short_answer": "40 crowns"}}'
    )
    draft = summarize("?", "serial", make_finding("Acme"), by=make_model(completion(reply)))
    assert [claim.text for claim in draft.claims] == [sentence]
    assert draft.claims[0].evidence == (0,)
    assert draft.short_answer == "40 crowns"
    assert draft.confidence == make_finding("Acme").draft.confidence  # its own words earn nothing


@pytest.mark.parametrize(
    "outcomes",
    [
        (completion('{"answer": null}'),),
        (completion("no"), completion("no")),
        (ModelFault("down", Usage(llm_calls=1), retriable=False),),
    ],
)
def test_otherwise_the_rules_decide(outcomes: tuple[Completion | Exception, ...]) -> None:
    sub_answers = (make_finding("Acme"), make_finding("Bo Holm", document="d2"))
    assert summarize("?", "serial", *sub_answers, by=make_model(*outcomes)) == summarize(
        "?", "serial", *sub_answers
    )


def test_without_findings_no_model_is_asked() -> None:
    assert summarize("?", "serial", make_finding(""), by=make_model()) == Draft()

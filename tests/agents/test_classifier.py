"""The classifier: whole words, the longest cue, the order of classes."""

import asyncio

import pytest

from fathom.agents.classifier import Classifier
from fathom.domains.domain import Domain, QuestionClass, load_domain
from fathom.question.question import Question
from fathom.runs.recorder import Recorder
from fathom.testing.doubles import run_context

DOMAIN = Domain(
    name="x",
    classes=(
        QuestionClass(name="Money", cues=("fee", "loan", "late fee")),
        QuestionClass(name="Books", cues=("book", "loan period", "late fine", "lend")),
        QuestionClass(name="General", cues=()),
    ),
)


@pytest.mark.parametrize(
    ("question", "name", "cue"),
    [
        ("What is the FEE?", "Money", "fee"),
        ("How long is the loan period?", "Books", "loan period"),  # longer than "loan"
        ("loan\n  period", "Books", "loan period"),
        ("the fee of a book", "Books", "book"),  # longer
        ("lend me a loan", "Money", "loan"),  # as long: the first class
        ("bookkeeping and coffee", "General", ""),  # no whole word
        ("", "General", ""),
    ],
)
def test_cues_decide_the_class(question: str, name: str, cue: str) -> None:
    matched = Classifier(domain=DOMAIN).find_class(Question(question))
    assert (matched.question_class.name, matched.cue) == (name, cue)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Saya lupa kata sandi akun OSS, bagaimana?", "Technical"),
        ("Kenapa gagal login ke OSS?", "Technical"),
        ("Bagaimana cara mengurus SIUP?", "Procedure"),
        ("Dokumen apa saja untuk mendirikan CV?", "Procedure"),
        ("Apa perbedaan SIUP dan TDP?", "Licensing"),
        ("Apakah restoran termasuk risiko menengah?", "Licensing"),
        ("Apa itu NIB?", "NIB"),
        ("KBLI untuk toko kelontong", "NIB"),
        ("Di mana kantor DPMPTSP Semarang?", "Support"),
        ("Nomor telepon PTSP?", "Support"),
        ("Siapa gubernur Jawa Tengah?", "General"),
    ],
)
def test_the_licensing_domain_classifies_its_questions(question: str, name: str) -> None:
    assert (
        Classifier(domain=load_domain("licensing-id"))
        .find_class(Question(question))
        .question_class.name
        == name
    )


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("How do I renew my permit?", "Procedure"),
        ("Bagaimana cara memperpanjang izin?", "Procedure"),
        ("How much does a permit cost?", "Cost"),
        ("Berapa biaya balik nama?", "Cost"),
        ("When does the library open?", "Time"),
        ("Jam buka kantor?", "Time"),
        ("The server shows an error", "Technical"),
        ("Am I allowed to bring a dog?", "Rules"),
        ("Who wrote it?", "General"),
    ],
)
def test_the_generic_domain_has_one_class(question: str, name: str) -> None:
    assert (
        Classifier(domain=load_domain("generic")).find_class(Question(question)).question_class.name
        == name
    )


def test_classification_is_a_step_of_the_run() -> None:
    with run_context() as context:
        matched = asyncio.run(Classifier(domain=DOMAIN).classify(Question("a late fee"), context))
        assert isinstance(context.scope, Recorder)
        (step,) = context.scope.seal(None).steps
    assert matched.name == "Money"
    assert (step.name, step.agent, step.reason) == ("classify", "classifier", "cue 'late fee'")

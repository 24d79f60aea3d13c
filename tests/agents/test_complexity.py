"""The complexity analyser: its counts, and a table of questions in two languages."""

import asyncio
from pathlib import Path

import pytest
from tests.factories import engine_at

from fathom.agents.complexity import (
    ComplexityAnalyser,
    ComplexityFeatures,
    ComplexityLevel,
    RetrieverWeights,
    count_features,
    rate_features,
)
from fathom.question.question import Question
from fathom.runs.recorder import Recorder
from fathom.testing.doubles import run_context

ANALYSER = ComplexityAnalyser()
NOTHING = ComplexityFeatures(
    entities=0, clauses=1, conjunctions=0, length=0, wh_words=0, question_marks=0
)


@pytest.mark.parametrize(
    ("question", "level"),
    [
        ("Dell Latitude warranty", "simple"),
        ("Who wrote Dune?", "simple"),
        ("How do I reset my password?", "simple"),
        ("What is the capital of France?", "simple"),
        ("list files sorted by size", "simple"),
        ("", "simple"),
        ("Apa itu NIB?", "simple"),
        ("Berapa biaya SIUP?", "simple"),
        ("Di mana kantor PTSP Jawa Tengah?", "simple"),
        ("Which film came first, Alien or Blade Runner?", "moderate"),
        ("Who directed the film that won Best Picture in 1994?", "moderate"),
        ("What does swimming and diving cost?", "simple"),
        ("What are import and export taxes?", "simple"),
        ("In 2010, how many cases were estimated in China?", "simple"),
        ("why are my pods running out of memory and getting evicted", "simple"),
        ("Siapa presiden Indonesia pertama dan kapan ia lahir?", "complex"),
        ("Bagaimana cara mengurus NIB dan dokumen apa saja yang diperlukan?", "complex"),
        ("Bagaimana cara memasang rambu dan menutup laporan?", "complex"),
        ("How do I renew the permit and pay the fine?", "complex"),
        (
            "What is the difference between a Deployment and a StatefulSet, and when should I "
            "use each?",
            "complex",
        ),
        (
            "How does photosynthesis work and why does it matter for plants that live in the "
            "desert? What happens at night?",
            "complex",
        ),
        (
            "Jelaskan perbedaan SIUP dan TDP, siapa yang menerbitkannya, serta berapa lama "
            "prosesnya?",
            "complex",
        ),
        (
            "Apa yang harus dilakukan perusahaan PMA setelah NIB terbit, dan kapan LKPM wajib "
            "dilaporkan jika belum ada kegiatan?",
            "complex",
        ),
    ],
)
def test_the_questions_of_the_table_are_rated(question: str, level: str) -> None:
    rating = ANALYSER.rate(Question(question))
    assert rating.level == level, rating.features


@pytest.mark.parametrize(
    ("question", "level"),
    [
        ("Dell Latitude warranty policy", "simple"),  # section 3.5, "BM25-skewed"
        ("Kubernetes configmap TTL", "simple"),  # section 4.2, with the next two
        ("Set up EC2 instance with SSH key", "moderate"),
        ("Link Azure AD to Outlook and export access logs", "complex"),
        # section 3.5, "multi-issue"
        ("What are the steps for setting up an Azure VM and linking to SSO?", "complex"),
    ],
)
def test_the_examples_of_the_paper_are_rated(question: str, level: str) -> None:
    assert ANALYSER.rate(Question(question)).level == level


@pytest.mark.parametrize(
    ("question", "features"),
    [
        (
            "Who wrote “Dune Messiah” and when?",
            ComplexityFeatures(
                entities=1, clauses=2, conjunctions=1, length=6, wh_words=2, question_marks=1
            ),
        ),
        (
            "Apakah Budi, yang lahir di Solo pada 1990, atau Ani lebih tua??",
            ComplexityFeatures(
                entities=4, clauses=2, conjunctions=1, length=12, wh_words=1, question_marks=2
            ),
        ),
        ("", NOTHING),
    ],
)
def test_the_counts_are_correct(question: str, features: ComplexityFeatures) -> None:
    assert count_features(Question(question)) == features


def test_higher_counts_never_rate_simpler() -> None:
    order = ["simple", "moderate", "complex"]
    plain = {"entities": 1, "clauses": 1, "conjunctions": 0, "length": 6, "wh_words": 1}
    plain["intents"] = 1
    for name, least in plain.items():
        levels = [
            order.index(
                rate_features(ComplexityFeatures(**{**plain, name: value}, question_marks=1))
            )
            for value in range(least, 40)
        ]
        assert levels == sorted(levels)


@pytest.mark.parametrize(
    ("question", "weights"),
    [
        ("Who wrote Dune?", (0.6, 0.4)),
        ("Which film came first, Alien or Blade Runner?", (0.4, 0.6)),
        ("Who are A and B, what do they do, and why do they do that when C is there?", (0.3, 0.7)),
    ],
)
def test_weights_are_those_of_the_paper(question: str, weights: tuple[float, float]) -> None:
    assert ANALYSER.rate(Question(question)).weights == weights


def test_weights_can_be_replaced() -> None:
    weights: dict[ComplexityLevel, RetrieverWeights] = {
        "simple": (1.0, 0.0),
        "moderate": (0.5, 0.5),
        "complex": (0.0, 1.0),
    }
    assert ComplexityAnalyser(weights=weights).rate(Question("Who wrote Dune?")).weights == (
        1.0,
        0.0,
    )


def test_the_analysis_is_a_step_of_the_run() -> None:
    with run_context() as context:
        rating = asyncio.run(ANALYSER.analyse(Question("Who wrote Dune?"), context))
        assert isinstance(context.scope, Recorder)
        (step,) = context.scope.seal(None).steps
    assert (step.name, step.verdict) == ("complexity", "simple")
    assert rating == ANALYSER.rate(Question("Who wrote Dune?"))


def test_the_paper_balances_a_question_of_several_issues(tmp_path: Path) -> None:
    azure = Question("What are the steps for setting up an Azure VM and linking to SSO?")
    several = Question("Who are A and B, what do they do, and why do they do that when C is there?")
    with engine_at(tmp_path) as engine:
        usual = ComplexityAnalyser.of(engine.assembly)
        paper = ComplexityAnalyser.of(engine.open_paper("hybrid").assembly)
    assert (usual.rate(azure).weights, paper.rate(azure).weights) == ((0.3, 0.7), (0.5, 0.5))
    assert paper.rate(azure).level == "complex"
    assert paper.rate(Question("Dell Latitude warranty policy")).weights == (0.6, 0.4)
    assert usual.rate(several).weights == (0.3, 0.7)

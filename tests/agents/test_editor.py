from tests.making import hit_of

from fathom.agents.editor import supported, within
from fathom.types import Alternative, Claim, Draft, Evidence, Span

EVIDENCE = tuple(
    Evidence(hit=hit_of(document=f"d{n}"), span=Span(0, 9), support=support)
    for n, support in enumerate((0.9, 0.2, 0.7))
)
CLAIMS = tuple(Claim(text=f"Sentence {n}.", evidence=(n,)) for n in range(3))
SAID = Draft(evidence=EVIDENCE, claims=CLAIMS, confidence=0.6)


def test_sentences_without_support_go() -> None:
    edited = supported(SAID, 0.65)
    assert edited.claims == (CLAIMS[0], CLAIMS[2])
    assert edited.confidence == 0.8
    assert edited.evidence == EVIDENCE  # its places are what the claims name


def test_the_best_sentence_stays() -> None:
    edited = supported(SAID, 0.95)
    assert (edited.claims, edited.confidence) == ((CLAIMS[0],), 0.9)


def test_quotes_without_support_go_and_the_confidence_stays() -> None:
    other = Alternative(text="x", evidence=(1,))
    quoting = Draft(evidence=EVIDENCE, alternatives=(other,), confidence=0.3)
    edited = supported(quoting, 0.65)
    assert edited == Draft(evidence=(EVIDENCE[0], EVIDENCE[2]), confidence=0.3)
    assert supported(quoting, 0.1) == quoting
    assert supported(Draft(), 0.5) == Draft()


def test_a_long_answer_ends_early() -> None:
    def words(text: str) -> int:
        return len(text.split())

    assert within(SAID, 4, words).claims == CLAIMS[:2]
    assert within(SAID, 1, words).claims == CLAIMS[:1]
    assert within(SAID, 6, words) == SAID
    assert within(Draft(), 1, words) == Draft()

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.errors import ModelError
from fathom.models.cross_reader import InputShape, OnnxCrossReader, load_cross_reader
from fathom.models.pair import PairTokens
from fathom.models.reading import NOTHING, Reading, ReadingCalibration
from fathom.models.runtime import Ids, Output
from fathom.models.tokens import WordPiece
from fathom.types import Chunk, Span

RESOURCES = Path(__file__).parents[2] / "src" / "fathom" / "models" / "resources"
WORDS = WordPiece.read(RESOURCES / "vocab.txt")
PARIS = WORDS.encode("paris", 3)[1]
FRANCE = WORDS.encode("france", 3)[1]


class CapitalRuntime:
    """Answers "Paris" (margin 4), and finds chunks with "France" relevant.

    With no "Paris" in the chunk the null span wins; "not" contradicts.
    """

    name = "capital"
    precision = "fp32"
    inputs = frozenset({"input_ids", "token_type_ids"})

    def __init__(self, fault: float = 0.0) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self._fault = fault

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        assert set(inputs) == self.inputs
        ids, chunk = inputs["input_ids"], inputs["token_type_ids"]
        self.shapes.append(ids.shape)
        hits = (ids == PARIS) & (chunk == 1)
        about = ((ids == FRANCE) & (chunk == 1)).any(axis=1)
        answers = hits.any(axis=1)
        denied = (ids == WORDS.encode("not", 3)[1]).any(axis=1)
        scores = np.zeros((len(ids), 8))
        scores[:, 0] = np.where(about, 2.0, -2.0)
        scores[:, 1] = np.where(answers, 1.0, -1.0)
        scores[:, 2] = 1.0
        scores[:, 5:8] = np.where(denied[:, None], [0, 2, 0], [2, 0, 0])
        spans = np.where(hits, 2.0, -2.0)
        spans[:, 0] = 0.0
        return np.hstack([scores, spans, spans]).astype(np.float32) + np.float32(self._fault)


def make_reader(runtime: CapitalRuntime | None = None) -> OnnxCrossReader:
    return OnnxCrossReader(runtime or CapitalRuntime(), PairTokens(WORDS), ReadingCalibration())


def make_chunk(text: str, title: str = "") -> Chunk:
    return Chunk(
        id="d#0", document_id="d", text=text, span=Span(0, len(text)), ordinal=0, title=title
    )


def read_chunk(text: str, question: str = "What is the capital?", title: str = "") -> Reading:
    return make_reader().open_session(question).read([make_chunk(text, title)])[0]


def compute_sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def test_the_best_span_is_given_in_characters_of_the_chunk() -> None:
    text = "The capital of France is  (Paris), since 987."

    reading = read_chunk(text)

    assert reading.spans[0].span.cut(text) == "Paris"
    assert reading.no_answer == -4.0
    assert reading.relevance == pytest.approx(compute_sigmoid(2), abs=1e-6)
    assert reading.answerable == pytest.approx(compute_sigmoid(1), abs=1e-6)
    assert reading.yes == pytest.approx(compute_sigmoid(1), abs=1e-6)


def test_a_spans_score_is_its_share_of_all_spans_times_answerable() -> None:
    # Two tokens: "Paris" alone has margin 4, both together 0, "again" alone -4.
    reading = read_chunk("Paris again")

    share = math.exp(4) / (math.exp(4) + 1 + math.exp(-4))
    assert reading.spans[0].score == pytest.approx(compute_sigmoid(1) * share, abs=1e-5)


def test_a_claim_is_supported_contradicted_or_unrelated() -> None:
    plain, denied = (
        read_chunk("It is Paris.", "It is Paris."),
        read_chunk("It is not Paris.", "It is Paris."),
    )

    # exp(2) against twice exp(0).
    assert plain.supported == denied.contradicted == pytest.approx(0.786986, abs=1e-5)
    assert plain.contradicted == denied.supported == pytest.approx(0.106507, abs=1e-5)
    assert plain.unrelated == denied.unrelated == pytest.approx(0.106507, abs=1e-5)


def test_calibration_bends_the_probabilities() -> None:
    law = ReadingCalibration(relevance=(0.5, 1.0), answerable=(2.0, 0.25, -1.0), support=2.0)

    (calibrated,) = (
        OnnxCrossReader(CapitalRuntime(), PairTokens(WORDS), law)
        .open_session("Where?")
        .read([make_chunk("France: Paris")])
    )

    assert calibrated.relevance == pytest.approx(compute_sigmoid(0.5 * 2 + 1), abs=1e-6)
    assert calibrated.answerable == pytest.approx(compute_sigmoid(2 * 1 + 0.25 * 4 - 1), abs=1e-6)
    assert calibrated.supported == pytest.approx(math.e / (math.e + 2), abs=1e-6)


def test_a_long_chunk_is_read_in_windows() -> None:
    text = "filler " * 1000 + "France has Paris" + " filler" * 1000

    reading = read_chunk(text)

    assert reading.spans[0].span.cut(text) == "Paris"
    assert reading.spans[0].span.start == 7000 + len("France has ")
    assert reading.relevance > 0.5
    assert reading.answerable > 0.5


def test_an_answer_unlikely_in_every_window_is_unlikely_in_a_long_chunk() -> None:
    reading = read_chunk("filler " * 1000)

    assert reading.no_answer == 4.0
    assert reading.answerable < 0.5


def test_several_answers_do_not_overlap() -> None:
    text = "Paris and again Paris"
    spans = read_chunk(text).spans

    assert [span.span for span in spans[:2]] == [Span(0, 5), Span(16, 21)]
    assert len(spans) <= 5
    assert [span.score for span in spans] == sorted((span.score for span in spans), reverse=True)


def test_a_given_answer_has_its_support() -> None:
    session = make_reader().open_session("What is the capital?")
    place = make_chunk("The capital of France is Paris.")
    best = session.read([place])[0].spans[0].score

    assert session.score(place, "PARIS") == best
    assert 0 < session.score(place, "France") < 0.01
    assert session.score(place, "Lyon") == 0
    assert session.score(place, "") == 0
    assert session.score(make_chunk(""), "Paris") == 0


def test_a_pair_is_read_once_for_a_question() -> None:
    runtime = CapitalRuntime()
    session = make_reader(runtime).open_session("What is the capital?")
    paris, two = make_chunk("Paris"), make_chunk("London town")

    first = session.read([paris, two, paris])
    again = session.read([two, paris])
    session.score(paris, "Paris")

    assert sum(rows for rows, _ in runtime.shapes) == 2
    assert again == [first[1], first[0]]
    assert first[2] == first[0]


def test_only_rows_of_equal_length_share_a_batch() -> None:
    runtime = CapitalRuntime()

    make_reader(runtime).open_session("Who?").read(
        [make_chunk("a b c"), make_chunk("d"), make_chunk("e f g"), make_chunk("h i")]
    )

    assert [rows for rows, _ in runtime.shapes] == [1, 1, 2]


def test_the_section_path_is_read_with_the_title() -> None:
    session = make_reader().open_session("What is the capital?")
    plain = make_chunk("It is large.", "Cities")
    (reading,) = session.read([replace(plain, headings=("Paris", "France"))])

    assert reading == read_chunk("It is large.", title="Cities > Paris > France")
    assert reading != read_chunk("It is large.", title="Cities")


def test_a_title_is_read_but_is_no_answer() -> None:
    reading = read_chunk("It is large.", title="Paris, France")

    assert reading.relevance > 0.5
    assert all(0 <= span.span.start < span.span.end <= 12 for span in reading.spans)


@pytest.mark.parametrize("text", ["", "   \n", "\u200b\u200d", "\ufffd"])
def test_a_chunk_without_tokens_has_no_answer(text: str) -> None:
    assert read_chunk(text) == NOTHING


@pytest.mark.parametrize(
    "question", ["", "why " * 10_000, "?!…", "👩‍👩‍👧", "أين تقع باريس؟", "\ud800"]
)
@pytest.mark.parametrize(
    "text", ["...!?", "👩‍👩‍👧 🇩🇪", "باريس هي عاصمة فرنسا", "\ud800 x", "a" * 5000]
)
def test_unusual_texts_are_read(question: str, text: str) -> None:
    reading = read_chunk(text, question, title=text)

    assert all(0 <= span.span.start < span.span.end <= len(text) for span in reading.spans)
    assert 0 <= reading.answerable <= 1


@given(st.text(max_size=80), st.text(max_size=200))
def test_spans_are_inside_the_chunk_and_scores_are_probabilities(question: str, text: str) -> None:
    reading = read_chunk(text, question)

    values = [
        reading.relevance,
        reading.answerable,
        reading.yes,
        reading.supported,
        reading.contradicted,
    ]
    assert all(0 <= value <= 1 for value in values)
    assert all(0 <= span.span.start < span.span.end <= len(text) for span in reading.spans)
    assert sum(span.score for span in reading.spans) <= reading.answerable + 1e-5


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ModelError, match="not finite"):
        make_reader(CapitalRuntime(fault=math.nan)).open_session("Who?").read([make_chunk("Paris")])


def test_rows_that_would_influence_each_other_run_alone() -> None:
    runtime = CapitalRuntime()
    alone = OnnxCrossReader(
        runtime, PairTokens(WORDS), ReadingCalibration(), InputShape(alone=True)
    )
    chunks = [make_chunk("a b c"), make_chunk("Paris it is"), make_chunk("d")]

    readings = alone.open_session("Who?").read(chunks)

    assert [rows for rows, _ in runtime.shapes] == [1, 1, 1]
    assert readings == make_reader().open_session("Who?").read(chunks)


class MeetingRuntime(CapitalRuntime):
    """Continues only when another run has started too."""

    def __init__(self) -> None:
        super().__init__()
        self._meeting = Barrier(2, timeout=60)

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        self._meeting.wait()
        return super().run(inputs)


def test_two_rows_that_run_alone_run_in_parallel_and_keep_their_order() -> None:
    runtime = MeetingRuntime()
    alone = OnnxCrossReader(
        runtime, PairTokens(WORDS), ReadingCalibration(), InputShape(alone=True)
    )
    chunks = [
        make_chunk("Paris."),
        make_chunk("Not here, but in Lyon."),
        make_chunk("It is Paris."),
        make_chunk("No."),
    ]

    readings = alone.open_session("Where?").read(chunks)

    assert readings == [read_chunk(text_chunk.text, "Where?") for text_chunk in chunks]
    assert [rows for rows, _ in runtime.shapes] == [1] * len(chunks)


@pytest.mark.parametrize("limit", [128, 300])
def test_no_row_is_longer_than_the_limit(limit: int) -> None:
    runtime = CapitalRuntime()
    short = OnnxCrossReader(
        runtime, PairTokens(WORDS), ReadingCalibration(), InputShape(limit=limit)
    )
    text = "filler " * 400 + "Paris" + " filler" * 400

    (reading,) = short.open_session("Where is it?").read([make_chunk(text)])

    assert max(tokens for _, tokens in runtime.shapes) == limit
    assert reading.spans[0].span.cut(text) == "Paris"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.onnx"):
        load_cross_reader(tmp_path / "absent.onnx", RESOURCES / "vocab.txt", ReadingCalibration())

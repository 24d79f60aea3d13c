"""The shared reader of every system without its own: Fathom's cross-reader.

So what is compared is what each system does beside the reading of the same number of texts.
"""

from collections.abc import Sequence

from fathom.models.reader_loading import load_shipped_reader
from fathom.types import Chunk, Span

TEXTS_READ = 8  # texts; as many as Fathom reads by default


class SharedReader:
    """Reads the best texts and returns the likeliest span."""

    def __init__(self) -> None:
        self._model = load_shipped_reader()

    def answer(self, question: str, texts: Sequence[str]) -> str:
        """Return the likeliest span of the first `TEXTS_READ` texts; empty if there is none."""
        chunks = [
            Chunk(id=f"{n}#0", document_id=str(n), text=text, span=Span(0, len(text)), ordinal=0)
            for n, text in enumerate(texts[:TEXTS_READ])
        ]
        readings = self._model.open_session(question, spans=1).read(chunks)
        spans = [
            (span.score, span.span.cut(chunk.text))
            for chunk, reading in zip(chunks, readings, strict=True)
            for span in reading.spans
        ]
        return max(spans, default=(0.0, ""))[1]

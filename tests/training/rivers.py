"""Questions about rivers, and texts that answer them."""

from training.cross_reader.rows import Row

PLACES = ["Oslo", "Rome", "Cairo", "Lima", "Quito", "Delhi", "Hanoi", "Accra", "Tunis", "Riga"]


def make_row(place: str, answer: str, question: str | None = None) -> Row:
    text = f"The river that runs through the city of {place} is called {answer} by all."
    start = text.index(answer)
    return Row(
        source="squad-dev",
        group="squad",
        question=question or f"Which river runs through the city of {place}?",
        title="Rivers",
        text=text,
        spans=((start, start + len(answer)),),
        answerable=True,
        relevant=True,
    )


ROWS = [make_row(place, f"the {place.lower()}water") for place in PLACES]

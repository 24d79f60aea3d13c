import pytest

from fathom.text.noun_forms import choose_article, make_noun_singular


@pytest.mark.parametrize(
    ("article", "phrases"),
    [
        (
            "a",
            "university, union, European, one-act play, Ukrainian town, user, utility, UN agency, "
            "US state, PhD, hotel, 7th-century abbey, 110th anniversary, NATO base, unanimous vote",
        ),
        (
            "an",
            "hour, honorary citizen, heir, umbrella, uninhabited island, unincorporated town, "
            "unidentified object, FBI agent, NBA team, 8-bit game, 18th-century mill, 1890s film, "
            "Oneida chief, orchestra, Italian city",
        ),
    ],
)
def test_the_article_goes_by_the_sound(article: str, phrases: str) -> None:
    chosen = {phrase: choose_article(phrase) for phrase in phrases.split(", ")}
    assert chosen == dict.fromkeys(chosen, article)


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("writers", "writer"),
        ("companies", "company"),
        ("movies", "movie"),
        ("series", "series"),
        ("actresses", "actress"),
        ("buses", "bus"),
        ("houses", "house"),
        ("courses", "course"),
        ("churches", "church"),
        ("boxes", "box"),
        ("volcanoes", "volcano"),
        ("highways", "highway"),
        ("glass", "glass"),
        ("women", "women"),
    ],
)
def test_regular_plurals_become_singular(plural: str, singular: str) -> None:
    assert make_noun_singular(plural) == singular

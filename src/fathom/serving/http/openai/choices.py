"""The models that clients can choose: ways of answering, and how much each may spend."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path

from fathom.extensions import names
from fathom.serving.budgets import Effort
from fathom.serving.http.api import EFFORTS
from fathom.serving.http.dependencies import Here, MayRead
from fathom.serving.http.openai.errors import OpenAIRoute
from fathom.serving.http.problems import Problem

router = APIRouter(route_class=OpenAIRoute)
NAME = "fathom"
EMBEDDING = "fathom-embedding"
"""The embedder of the index; a name with this word is offered for no chat by Open WebUI."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a model's name stands for; `None` is as the settings have it."""

    strategy: str | None = None
    effort: Effort | None = None


def choices() -> Mapping[str, Choice]:
    """All names: `fathom`, `fathom-high`, `fathom-anchor`, `fathom-anchor-low`, and so on."""
    found: dict[str, Choice] = {}
    for strategy in (None, *names("strategy")):
        name = f"{NAME}-{strategy}" if strategy else NAME
        found[name] = Choice(strategy=strategy)
        for effort in EFFORTS:
            found[f"{name}-{effort}"] = Choice(strategy=strategy, effort=effort)
    return found


def choice_of(model: str) -> Choice:
    """What a model's name stands for.

    Raises:
        Problem: If there is none of this name (404).
    """
    found = choices().get(model)
    if found is None:
        raise Problem(
            404,
            "model_not_found",
            f"there is no model {model[:80]!r}",
            next="GET /v1/models lists them; fathom is the usual one",
        )
    return found


@router.get("/models")
def models(space: Here, _: MayRead) -> Any:  # noqa: ANN401 - JSON
    """The ways of answering, as models; the usual effort has no name of its own."""
    usual = space.engine.settings.budget.effort
    shown = [_model(name, each) for name, each in choices().items() if each.effort != usual]
    return {"object": "list", "data": [*shown, _model(EMBEDDING, None)]}


@router.get("/models/{name}")
def model(name: Annotated[str, Path(max_length=200)], _: MayRead) -> Any:  # noqa: ANN401 - JSON
    """One of them."""
    return _model(name, None if name == EMBEDDING else choice_of(name))


def _model(name: str, choice: Choice | None) -> dict[str, Any]:
    if choice is None:
        title = "Fathom's embedder"
    else:
        effort = f", {choice.effort} effort" if choice.effort else ""
        title = f"Fathom{f' {choice.strategy}' if choice.strategy else ''}{effort}"
    return {"id": name, "object": "model", "created": 0, "owned_by": "fathom", "name": title}

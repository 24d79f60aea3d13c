"""The models that clients can choose: strategies with efforts, and the systems of papers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path

from fathom.extensions import list_names
from fathom.registry import PAPERS
from fathom.serving.budgets import Effort
from fathom.serving.http.api import EFFORTS
from fathom.serving.http.dependencies import CurrentWorkspace, ReadCaller
from fathom.serving.http.openai.errors import OpenAIRoute, ParameterProblem

router = APIRouter(route_class=OpenAIRoute)
NAME = "fathom"
EMBEDDING = "fathom-embedding"
"""The name of the index's embedder; Open WebUI offers no model with `embedding` in it for chats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The meaning of a model's name; `None` means the value of the settings."""

    strategy: str | None = None
    paper: str | None = None
    effort: Effort | None = None


def list_choices() -> Mapping[str, Choice]:
    """Return all choices by name: `fathom`, `fathom-high`, `fathom-anchor-low`, and so on.

    The system of a paper, such as `fathom-paper-maf`, has the default effort only.
    """
    by_name: dict[str, Choice] = {}
    for strategy in (None, *list_names("strategy")):
        name = f"{NAME}-{strategy}" if strategy else NAME
        by_name[name] = Choice(strategy=strategy)
        for effort in EFFORTS:
            by_name[f"{name}-{effort}"] = Choice(strategy=strategy, effort=effort)
    return by_name | {f"{NAME}-paper-{name}": Choice(paper=name) for name in PAPERS}


def get_choice(model: str) -> Choice:
    """Return the choice of a model's name.

    Raises:
        Problem: If there is no such model (404).
    """
    choice = list_choices().get(model)
    if choice is None:
        raise ParameterProblem(
            "model",
            404,
            "model_not_found",
            f"there is no model {model[:80]!r}",
            next="GET /v1/models lists them; the default is fathom",
        )
    return choice


@router.get("/models")
def list_models(space: CurrentWorkspace, _: ReadCaller) -> Any:  # noqa: ANN401 - JSON
    """List the models; a name with the default effort is left out, as it means the same model."""
    default_effort = space.engine.settings.budget.effort
    data = [
        _describe_model(name, choice)
        for name, choice in list_choices().items()
        if choice.effort != default_effort
    ]
    return {"object": "list", "data": [*data, _describe_model(EMBEDDING, None)]}


@router.get("/models/{name}")
def get_model(name: Annotated[str, Path(max_length=200)], _: ReadCaller) -> Any:  # noqa: ANN401 - JSON
    """Get one model."""
    return _describe_model(name, None if name == EMBEDDING else get_choice(name))


def _describe_model(name: str, choice: Choice | None) -> dict[str, Any]:
    if choice is None:
        title = "Fathom's embedder"
    else:
        effort = f", {choice.effort} effort" if choice.effort else ""
        system = f"paper {choice.paper}" if choice.paper else choice.strategy
        title = f"Fathom{f' {system}' if system else ''}{effort}"
    return {"id": name, "object": "model", "created": 0, "owned_by": "fathom", "name": title}

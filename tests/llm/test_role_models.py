import pytest

from fathom.errors import UsageError
from fathom.llm.call import AbsentModel
from fathom.llm.role_models import RoleModels
from fathom.settings import Settings


def list_models(roles: dict[str, str], model: str = "") -> tuple[str | None, str | None]:
    models = RoleModels(
        Settings.model_validate({"roles": roles, "llm": {"model": model}}), AbsentModel
    )
    reader, judge = models.get_model("reader"), models.get_model("judge")
    return reader.chat.name if reader else None, judge.chat.name if judge else None


def test_by_default_all_roles_are_local_until_there_is_a_model() -> None:
    assert list_models({}) == (None, None)
    assert list_models({}, "openai:m") == ("openai:m", None)


def test_each_role_may_have_its_own_model() -> None:
    mixed = {"reader": "local", "judge": "groq:n"}
    assert list_models(mixed, "openai:m") == (None, "groq:n")
    assert list_models({"judge": "llm"}, "openai:m") == ("openai:m", "openai:m")


def test_a_role_that_needs_a_missing_model_is_reported() -> None:
    with pytest.raises(UsageError, match=r"roles.reader is llm.*-m PROVIDER:MODEL"):
        list_models({"reader": "llm"})


def test_one_model_is_built_once_so_that_its_breaker_is_shared() -> None:
    roles = RoleModels(
        Settings.model_validate({"roles": {"reader": "a:b", "judge": "a:b"}}), AbsentModel
    )
    assert roles.get_model("reader") is roles.get_model("judge")


def test_the_price_of_a_known_model_is_used() -> None:
    roles = RoleModels(Settings.model_validate({"llm": {"model": "openai:gpt-4o"}}), AbsentModel)
    model = roles.get_model("reader")
    assert model is not None
    assert model.price is not None
    assert model.price.prompt == 2.5

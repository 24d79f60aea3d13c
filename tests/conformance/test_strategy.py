"""The shipped strategies pass the conformance suite of strategies."""

import pytest

from fathom.registry import STRATEGIES
from fathom.testing import StrategyConformance


class TestStrategies(StrategyConformance):
    @pytest.fixture(params=sorted(STRATEGIES))
    def strategy(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

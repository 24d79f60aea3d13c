"""The shipped readers pass the conformance suite of readers."""

import pytest

from fathom.agents.judge import LocalJudge
from fathom.agents.reader.base import Reader
from fathom.agents.reader.confidence import AnswerConfidence
from fathom.agents.reader.llm import LLMReader
from fathom.agents.reader.local import LocalReader
from fathom.llm.call import RoleModel
from fathom.retrieval.pruning import EvidencePruner
from fathom.testing import OVERLAP, ReaderConformance, ScriptedChat


class TestReaders(ReaderConformance):
    @pytest.fixture(params=["local", "broken model"])
    def reader(self, request: pytest.FixtureRequest) -> Reader:
        local = LocalReader(pairs=OVERLAP, sentences=2)
        if request.param == "local":
            return local
        return LLMReader(
            model=RoleModel(chat=ScriptedChat(*["?"] * 40)),
            local=local,
            judge=LocalJudge(pairs=OVERLAP),
            pruner=EvidencePruner(pairs=OVERLAP, limit=450),
            confidence=AnswerConfidence(pairs=OVERLAP),
            skip_above_confidence=0.95,
            min_support=0.4,
            fallback="local",
        )

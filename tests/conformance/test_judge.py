"""Both judges pass the conformance suite of judges."""

import pytest

from fathom.agents.judge import Judge, LLMJudge, LocalJudge
from fathom.llm.call import RoleModel
from fathom.testing import OVERLAP, JudgeConformance, ScriptedChat


class TestJudges(JudgeConformance):
    @pytest.fixture(params=["local", "model", "broken model"])
    def judge(self, request: pytest.FixtureRequest) -> Judge:
        local = LocalJudge(pairs=OVERLAP)
        if request.param == "local":
            return local
        words = '{"support": [1, 1, 1, 1]}' if request.param == "model" else "?"
        return LLMJudge(model=RoleModel(chat=ScriptedChat(words, words)), local=local)

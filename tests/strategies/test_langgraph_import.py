import json
import subprocess
import sys
from typing import Any

import pytest


def run_code(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    """Import the simplest strategy, then what runs it, then the client, all in one new process."""
    code = """
import json, sys
import fathom.strategies.naive
facts = {"modules": sum(name.split(".")[0] == "fathom" for name in sys.modules)}
import fathom.strategies.run
facts["graph"], facts["client"] = "langgraph.graph" in sys.modules, "httpx" in sys.modules
import langgraph_sdk, langgraph_sdk.auth
facts["whole client"] = [langgraph_sdk.get_client.__name__, str(langgraph_sdk.auth)]
print(json.dumps(facts))
"""
    imports: dict[str, Any] = json.loads(run_code(code))
    return imports


def test_a_question_imports_langgraph_but_not_the_client_of_its_server(
    facts: dict[str, Any],
) -> None:
    assert (facts["graph"], facts["client"]) == (True, False)


def test_the_simplest_strategy_imports_at_most_80_modules(facts: dict[str, Any]) -> None:
    assert facts["modules"] <= 80


def test_the_client_can_still_be_imported_whole(facts: dict[str, Any]) -> None:
    name, auth = facts["whole client"]
    assert name == "get_client"
    assert auth.startswith("<module")


def test_a_client_that_is_already_imported_stays() -> None:
    code = "print(sys.modules['langgraph_sdk'] is langgraph_sdk)"
    assert run_code(f"import sys, langgraph_sdk, fathom.strategies.naive; {code}") == "True"


def test_a_question_imports_one_strategy_and_reads_no_files() -> None:
    unneeded = [
        "fathom.strategies.mao",
        "fathom.agents.decomposer",
        "fathom.ingest.ingest",
        "usearch",
    ]
    code = f"print([name for name in {unneeded} if name in sys.modules])"
    assert (
        run_code(
            f"import sys, fathom.engine, fathom.strategies.run, fathom.serving.cli.output; {code}"
        )
        == "[]"
    )

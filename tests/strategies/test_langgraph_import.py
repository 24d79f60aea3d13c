import subprocess
import sys


def run_code(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_question_imports_langgraph_but_not_the_client_of_its_server() -> None:
    code = (
        "import sys, fathom.strategies.run; "
        "print('langgraph.graph' in sys.modules, 'httpx' in sys.modules)"
    )
    assert run_code(f"import fathom.strategies.naive; {code}") == "True False"


def test_the_client_can_still_be_imported_whole() -> None:
    code = "import langgraph_sdk as s, langgraph_sdk.auth; print(s.get_client.__name__, s.auth)"
    assert run_code(f"import fathom.strategies.naive; {code}").startswith("get_client <module")


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


def test_the_simplest_strategy_imports_at_most_80_modules() -> None:
    code = "print(sum(name.split('.')[0] == 'fathom' for name in sys.modules))"
    assert int(run_code(f"import sys, fathom.strategies.naive; {code}")) <= 80

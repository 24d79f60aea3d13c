"""Jobs and daily budgets in every database: fathom.serving.http.accounts too."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.postgres_server import Server

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.index.database import Database
from fathom.index.engines import switch_workspace
from fathom.runs.ledger import BudgetRefused, Ledger
from fathom.runs.reservation import Charge, CostBound
from fathom.serving.http import job_queue
from fathom.serving.http.accounts import DailyAccount
from fathom.serving.http.job_queue import Job, JobQueue, create_job_queue
from fathom.serving.http.keys import create_key_store
from fathom.usage import FREE, Budget, Price, Usage

Machine = Callable[[], Engine]


@pytest.fixture(params=["embedded", "postgres"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    """Return a function that opens engines of one index, as several servers do."""
    url = ""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        url = switch_workspace(server.shared, f"q{os.urandom(6).hex()}")
    tree = {"index.url": url, "index.directory": str(tmp_path), "offline": True}
    engines: list[Engine] = []

    def engine() -> Engine:
        engines.append(Engine(parse_settings(tree)))
        return engines[-1]

    yield engine
    for open_one in engines:
        open_one.close()


def make_job(name: str) -> Job:
    return Job(id=name, names={f"/u/{name}.md": f"{name}.md"}, refused=[])


def open_queues(machine: Machine, number: int) -> list[JobQueue]:
    return [create_job_queue(machine().index, f"server {at}") for at in range(number)]


def test_jobs_are_done_one_after_the_other_each_by_one_server(machine: Machine) -> None:
    first, other = open_queues(machine, 2)
    assert first.list_latest() == []
    assert not first.has_open()
    for name in ("first", "second"):
        first.add(make_job(name))
    assert other.has_open()
    taken = other.take()
    assert taken is not None
    assert (taken.id, taken.state) == ("first", "running")
    assert not first.has_open()
    assert first.take() is None  # what was sent last is to be there at last
    taken.stage, taken.files_done = "reading", 1
    assert other.save(taken)
    assert first.get("first") == taken
    assert not first.save(taken)
    taken.state = "done"
    assert other.save(taken)
    assert not other.save(taken)
    following = first.take()
    assert following is not None
    assert following.id == "second"
    assert [queue.id for queue in other.list_latest()] == ["second", "first"]
    for queue in (first, other):
        queue.close()


def test_the_job_of_a_silent_server_goes_to_another_one(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = open_queues(machine, 2)
    first.add(make_job("first"))
    monkeypatch.setattr(job_queue, "LEASE_S", -1.0)
    slow = first.take()
    monkeypatch.undo()
    assert slow is not None
    assert other.has_open()
    taken = other.take()
    assert taken is not None
    assert (taken.id, taken.starts, slow.starts) == ("first", 2, 1)
    assert not first.save(slow)  # it is told so, and stops
    assert other.save(slow)
    for queue in (first, other):
        queue.close()


def test_a_job_records_how_often_a_server_died_over_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_queue, "LEASE_S", -1.0)
    servers = open_queues(machine, 4)
    servers[0].add(make_job("first"))
    for number, server in enumerate(servers, start=1):
        taken = server.take()
        assert taken is not None
        assert taken.starts == number
    assert (job_found := servers[0].get("first")) is not None
    assert job_found.starts == 4  # it is kept before anything is done
    for queue in servers:
        queue.close()


def test_a_returned_job_counts_as_not_begun(machine: Machine) -> None:
    first, other = open_queues(machine, 2)
    first.add(make_job("first"))
    for server in (first, other, first):
        taken = server.take()
        assert taken is not None
        assert taken.starts == 1
        assert server.give_back(taken)
    assert (job_found := other.get("first")) is not None
    assert (job_found.state, job_found.starts) == ("waiting", 0)
    for queue in (first, other):
        queue.close()


def test_no_job_is_ever_taken_by_two(machine: Machine) -> None:
    servers = open_queues(machine, 4)
    servers[0].add(make_job("only"))
    with ThreadPoolExecutor(16) as many:
        taken = list(many.map(lambda number: servers[number % 4].take(), range(32)))
    assert [claimed.id for claimed in taken if claimed is not None] == ["only"]
    for server in servers:
        server.close()


def test_the_latest_and_the_waiting_jobs_are_remembered(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_queue, "MOST_KEPT", 3)
    [queue] = open_queues(machine, 1)
    for number in range(6):
        queue.add(make_job(str(number)))
        if number < 4 and (taken := queue.take()) is not None:
            taken.state = "done"
            queue.save(taken)
    assert [job_listed.id for job_listed in queue.list_latest()] == ["5", "4", "3"]
    assert queue.get("0") is None
    queue.close()


DAY = "2026-11-23"


def make_account(database: Database, budget: Budget, whole: Budget | None = None) -> DailyAccount:
    above = DailyAccount(database, "workspace:", DAY, whole) if whole else None
    return DailyAccount(database, "key:1", DAY, budget, above)


def test_servers_together_never_reserve_or_spend_more_than_the_daily_budget(
    machine: Machine,
) -> None:
    stores = [create_key_store(machine().index).database for _ in range(3)]
    bound = CostBound(calls=1, prompt_tokens=7, completion_tokens=3)

    def ask(number: int) -> bool:
        account = make_account(stores[number % 3], Budget(tokens=200), Budget(tokens=1_000))
        try:
            with Ledger(Budget(), account=account).reserve(bound) as room:
                assert account.get_remaining()["tokens"] >= 0
                room.settle(Usage(llm_calls=1, prompt_tokens=7, completion_tokens=1))
        except BudgetRefused:
            return False
        return True

    with ThreadPoolExecutor(12) as many:
        done = sum(many.map(ask, range(60)))
    remaining = make_account(stores[0], Budget(tokens=200), Budget(tokens=1_000)).get_remaining()[
        "tokens"
    ]
    assert done >= 20  # as many as would fit, were each to spend all that it reserves
    assert remaining == 200 - 8 * done
    assert remaining >= 0
    for store in stores:
        store.close()


def test_the_reservations_of_a_killed_server_stay_reserved(machine: Machine) -> None:
    database = create_key_store(machine().index).database
    bound, amount = CostBound(calls=1, prompt_tokens=60), Charge(1, 60, 0)
    make_account(database, Budget(tokens=100)).draw(bound, amount)
    again = make_account(create_key_store(machine().index).database, Budget(tokens=100))
    assert again.get_remaining()["tokens"] == 40
    with pytest.raises(BudgetRefused, match="tokens would need 60, 40 left"):
        again.draw(bound, amount)
    database.close()


def test_an_amount_beyond_the_key_is_returned_to_its_workspace(machine: Machine) -> None:
    database = create_key_store(machine().index).database
    account = make_account(database, Budget(tokens=10), Budget(tokens=100))
    with pytest.raises(BudgetRefused):
        account.draw(CostBound(calls=1, prompt_tokens=20), Charge(1, 20, 0))
    assert (
        DailyAccount(database, "workspace:", DAY, Budget(tokens=100)).get_remaining()["tokens"]
        == 100
    )
    database.close()


@pytest.mark.parametrize("budget", [Budget(cost_usd=1e12), Budget(cost_usd=1e300, tokens=10**30)])
def test_a_cap_beyond_the_columns_of_a_database_limits_nothing(
    machine: Machine, budget: Budget
) -> None:
    database = create_key_store(machine().index).database
    account = make_account(database, budget)
    account.draw(CostBound(calls=1, prompt_tokens=60, price=FREE), Charge(1, 60, 0, 0, 5))
    assert account.get_remaining()["cost_usd"] > 10**18
    database.close()


def test_money_is_counted_exactly_and_unknown_prices_are_refused(machine: Machine) -> None:
    database = create_key_store(machine().index).database
    account = make_account(database, Budget(cost_usd=0.003))
    price = Price(prompt=10.0, completion=10.0)
    ledger = Ledger(Budget(), account=account)
    for _ in range(3):
        with ledger.reserve(CostBound(calls=1, prompt_tokens=100, price=price)) as room:
            room.settle(Usage(llm_calls=1, prompt_tokens=100))
    assert account.get_remaining()["cost_usd"] == 0
    with pytest.raises(BudgetRefused, match="cost_usd"):
        ledger.reserve(CostBound(calls=1, prompt_tokens=1, price=price))
    with pytest.raises(BudgetRefused, match="the cost is unknown"):
        ledger.reserve(CostBound(calls=1, prompt_tokens=1))
    ledger.reserve(CostBound(retrievals=1)).release()  # a search costs nothing
    database.close()

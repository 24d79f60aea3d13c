"""Twenty workspaces of one server, and probes of every call for data of another one.

Each has a document with a word and an id that stand nowhere else. A word, an id or a path of
another workspace in what a probe gives is a leak.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from tests.index.postgres.test_opening import open_workspace
from tests.postgres_server import USER, Server

from fathom.index.postgres.opening import open_reader, open_writer
from fathom.index.postgres.reader import PostgresReader
from fathom.testing.index_entries import IDENTITY, axis, entry, put
from fathom.types import Filter

TENANTS = 20
COMMON = "harbour"
TABLES = (
    *("indexes", "documents", "chunks", "sources", "spaces", "kept", "calibrations", "terms"),
    *("postings", "removed", "dropped"),
)

Probe = Callable[[PostgresReader, "TenantDocuments", random.Random], object]


class TenantDocuments:
    """A workspace and the words that only it contains."""

    def __init__(self, number: int) -> None:
        self.name, self.word = f"tenant{number}", f"canary{number:04}x"
        self.document, self.path = f"{self.word}-document", f"/c/{self.word}-document"
        self.strategy, self.root = f"{self.word}-strategy", f"/{self.word}-root"


def draw_filters(other: TenantDocuments, drawn: random.Random) -> tuple[Filter, ...]:
    some = (
        Filter("document", "=", other.document),
        Filter("path", "prefix", "/c/canary"),
        Filter("title", "prefix", "Title"),
        Filter("owner", "!=", "nobody"),
        Filter("owner", "=", other.word),
    )
    return tuple(drawn.sample(some, drawn.randrange(3)))


PROBES: tuple[Probe, ...] = (
    lambda reader, other, drawn: reader.keyword_search(
        f"{COMMON} {other.word} title", k=100, filters=draw_filters(other, drawn)
    ),
    lambda reader, other, drawn: reader.vector_search(
        axis(1), k=100, filters=draw_filters(other, drawn)
    ),
    lambda reader, other, _: reader.count_chunks_per_word([other.word]) == [0] or other.word,
    lambda reader, other, _: reader.chunks([f"{other.document}#{number}" for number in range(3)]),
    lambda reader, other, _: reader.get_document(other.document),
    lambda reader, other, _: reader.get_entry(other.document),
    lambda reader, *_: list(reader.list_documents()),
    lambda reader, other, _: reader.get_source(other.path),
    lambda reader, other, drawn: list(reader.list_sources(drawn.choice(["/", "/c", other.path]))),
    lambda reader, other, _: reader.list_places(other.document),
    lambda reader, *_: reader.get_roots(),
    lambda reader, *_: reader.get_calibrations(),
    lambda reader, *_: reader.status(),
    lambda reader, *_: reader.list_findings(),
)


@pytest.fixture(scope="module")
def tenants(postgres: Server) -> Iterator[dict[TenantDocuments, PostgresReader]]:
    """Return all workspaces, each open for reading."""
    with ExitStack() as stack:
        opened: dict[TenantDocuments, PostgresReader] = {}
        for number in range(TENANTS):
            tenant = TenantDocuments(number)
            address = open_workspace(postgres, tenant.name)
            texts = [f"{COMMON} {tenant.word}", f"more {COMMON}", "the rest"]
            with open_writer(address, IDENTITY) as writer:
                vectors = [[1.0], [0.0, 1.0], [0.0, 0.0, 1.0]]
                put(writer, entry(tenant.document, texts, vectors, owner=tenant.word))
                writer.keep_calibration(tenant.strategy, "{}")
                writer.set_roots([tenant.root])
            opened[tenant] = stack.enter_context(open_reader(address))
        yield opened


def is_leaked(output: object, tenant: TenantDocuments) -> bool:
    return "canary" in repr(output).replace(tenant.word, "")


@pytest.mark.parametrize("probes", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_probe_finds_data_of_another_workspace(
    tenants: dict[TenantDocuments, PostgresReader], probes: int
) -> None:
    drawn, everyone = random.Random(11), list(tenants)
    for number in range(probes):
        tenant, other = drawn.sample(everyone, 2)
        output = PROBES[number % len(PROBES)](tenants[tenant], other, drawn)
        assert not is_leaked(output, tenant), (number, tenant.name, other.name)


def test_a_probe_finds_data_of_its_own_workspace(
    tenants: dict[TenantDocuments, PostgresReader],
) -> None:
    for tenant, reader in list(tenants.items())[:3]:
        silent = random.Random()
        outputs = [probe(reader, tenant, silent) for probe in PROBES if probe is not PROBES[2]]
        assert sum(tenant.word in repr(output) for output in outputs) >= len(PROBES) - 4
        assert is_leaked(reader.get_document(tenant.document), TenantDocuments(999))
        assert reader.count_chunks_per_word([tenant.word]) == [3]  # as it is in the title too


@pytest.mark.parametrize("probes", [200, pytest.param(2_000, marks=pytest.mark.slow)])
def test_no_query_of_the_user_finds_a_row_of_another_workspace(
    tenants: dict[TenantDocuments, PostgresReader], postgres: Server, probes: int
) -> None:
    drawn = random.Random(12)
    with postgres.connect("d1", USER) as connection:
        numbers = {
            name: number
            for number, name in connection.execute("SELECT no, name FROM fathom.workspaces")
        }
        vectors = [
            row[0]
            for row in connection.execute(
                "SELECT relname FROM pg_class WHERE relname ~ '^vectors_[0-9]+$'"
            )
        ]
        for _ in range(probes):
            tenant = drawn.choice(list(tenants))
            entered = str(numbers[tenant.name])
            connection.execute("SELECT set_config('fathom.workspace', %s, false)", (entered,))
            table = drawn.choice([*TABLES, *vectors])
            rows = connection.execute(
                f"SELECT count(*) FROM fathom.{table} WHERE workspace_no <> %s", (entered,)
            ).fetchone()
            assert rows == (0,), table
            changed = connection.execute(
                f"UPDATE fathom.{table} SET workspace_no = workspace_no WHERE workspace_no <> %s",
                (entered,),
            )
            assert changed.rowcount == 0, table
        connection.execute("SELECT set_config('fathom.workspace', '', false)")
        for table in (*TABLES, *vectors):
            nobody = connection.execute(f"SELECT count(*) FROM fathom.{table}").fetchone()
            assert nobody == (0,), table

"""Rights of documents in PostgreSQL: the server itself hides the rows of hidden documents."""

import pytest

from fathom.errors import UsageError
from fathom.index.rights import ReadingRule, Viewer
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, put

pytest.importorskip("psycopg", reason="needs the extra postgres")
from tests.postgres_server import USER, Server

from fathom.index.postgres.address import Address
from fathom.index.postgres.opening import open_reader, open_writer, rebuild

SAILOR = Viewer(frozenset({"sailors", "o'neill", 'a"b,c'}))
RULES = [ReadingRule("*cats*", ("vets",))]


@pytest.fixture
def address(postgres: Server) -> Address:
    """Return the address of an index whose cats only the group of vets may read."""
    place = Address.from_url(postgres.open_database())
    with open_writer(place, IDENTITY) as writer:
        writer.set_rights(RULES)
        put(writer, CATS, SHIPS)
    return place


def name_superuser(address: Address) -> Address:
    return Address.from_url(str(address).replace(f"{USER}@", "postgres@"))


def test_the_server_hides_rows_from_every_statement(address: Address) -> None:
    with open_reader(address, viewer=SAILOR) as sailor, sailor._open_store() as store:
        for query in (
            "SELECT id FROM fathom.documents",
            "SELECT DISTINCT split_part(id, '#', 1) FROM fathom.chunks",
            "SELECT document_id FROM fathom.sources",
        ):
            assert store.connection.execute(query).fetchall() == [("ships",)]
    with open_reader(address) as whole, whole._open_store() as store:
        rows = store.connection.execute("SELECT id FROM fathom.documents ORDER BY id").fetchall()
        assert rows == [("cats",), ("ships",)]


def test_a_superuser_gets_no_viewer_and_no_rules(address: Address) -> None:
    root = name_superuser(address)
    with pytest.raises(UsageError, match="do not bind a superuser"):
        open_reader(root, viewer=SAILOR)
    with open_writer(root, None) as writer:
        with pytest.raises(UsageError, match="do not bind a superuser"):
            writer.set_rights([ReadingRule("*", ())])
        assert list(writer.get_rights()) == RULES


def test_a_database_of_an_older_version_gets_no_viewer(address: Address, postgres: Server) -> None:
    with open_reader(address) as whole:
        with whole._open_store() as store:
            name = store.connection.info.dbname
        with postgres.connect(name) as connection:
            connection.execute("DROP TABLE fathom.readers CASCADE")
        assert whole.get_reader_names() is None
        assert whole.get_rights() == ()
    with pytest.raises(UsageError, match="holds no rights of documents"):
        open_reader(address, viewer=SAILOR)


def test_an_index_that_is_made_anew_keeps_the_rights(address: Address) -> None:
    with rebuild(address, IDENTITY, ["/c"]) as (writer, _):
        put(writer, CATS, SHIPS)
    with open_reader(address, viewer=SAILOR) as sailor:
        assert [summary.id for summary in sailor.list_documents()] == ["ships"]
        assert list(sailor.get_rights()) == RULES

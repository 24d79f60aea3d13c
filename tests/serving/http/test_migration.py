"""The data of a server are copied with an index: `fathom.serving.http.migration`."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.factories import engine_at
from tests.postgres_server import Server
from typer.testing import CliRunner

from fathom import Engine
from fathom.errors import UsageError
from fathom.index.embedded.database import FileDatabase
from fathom.index.engines import UPLOADS, EmbeddedIndex, Index, locate_index, make_index_settings
from fathom.serving.cli.app import app as commands
from fathom.serving.http.conversation_store import Conversations
from fathom.serving.http.job_queue import Job, JobState, create_job_queue
from fathom.serving.http.keys import Key, create_key_store
from fathom.serving.http.migration import copy_server_tables
from fathom.serving.http.object_store import create_object_store
from fathom.settings import Settings

QUESTION = "How long is the notice period?"


def make_served(place: Path) -> str:
    """Make an embedded index with the data of a server, and return the text of a key."""
    (place / "leave.md").write_text("# Leave\n\nThe notice period is three months.\n")
    with engine_at(place) as engine:
        engine.ingest(place / "leave.md")
        answer = engine.ask(QUESTION)
        talks = Conversations(engine)
        for owner in ("3d066515", ""):
            talk = talks.add(owner=owner)
            talks.add_turn(talk, QUESTION, answer.trace_id)
            talks.add_turn(talk, "And for parents?", None)
        talks.close()
        keys = create_key_store(engine.index)
        _, text = keys.add(Key(id="", name="ana", per_minute=60))
        keys.add(Key(id="", name="hr", workspace="hr", tokens_per_day=70))
        keys.database.execute(
            "INSERT INTO accounts(owner, day, tokens) VALUES ('key:a', 'today', 30)"
        )
        keys.close()
        queue = create_job_queue(engine.index, "here")
        for number, state in enumerate(get_args(JobState)):
            queue.add(Job(id=f"j{number}", names={"/a": "a"}, refused=[], state=state))
        queue.close()
        objects = create_object_store(engine.index)
        objects.put("member", "file-1", {"filename": "a"}, "vs_1")
        objects.put("vector_store", "vs_1", {"name": "ferries"})
        objects.close()
        sent = engine.directory / UPLOADS / "trips" / "ferry.md"
        sent.parent.mkdir(parents=True)
        sent.write_text("A ferry.")
    return text


def read_server_data(place: str, disk: Path) -> list[Any]:
    """Return everything that servers can see there."""
    trees = (
        {**make_index_settings(place), "directory": disk}
        if place.startswith("postgres")
        else make_index_settings(place)
    )
    with Engine(Settings.model_validate({"index": trees})) as engine:
        keys, queue, talks, objects = (
            create_key_store(engine.index),
            create_job_queue(engine.index, ""),
            Conversations(engine),
            create_object_store(engine.index),
        )
        listed = talks.list_latest(10)
        server_data = [
            keys.list_keys(),
            keys.database.execute("SELECT owner, tokens FROM accounts"),
            [job.to_json() for job in queue.list_latest() if job.state in {"done", "failed"}],
            listed,
            [talks.get(conversation["id"]) for conversation in listed],
            [talks.find_owner(conversation["id"]) for conversation in listed],
            [objects.list_all("vector_store"), objects.list_all("member", "vs_1")],
        ]
        for opened in (keys, queue, talks, objects):
            opened.close()
    return server_data


def test_server_data_are_copied_to_a_database_and_back(postgres: Server, tmp_path: Path) -> None:
    text, source, url = make_served(tmp_path), tmp_path / "index", postgres.open_database()
    copied = CliRunner().invoke(commands, ["copy", str(source), url])
    assert copied.exit_code == 0, copied.output
    assert copied.stdout.splitlines() == [
        "1 documents, 1 chunks copied",
        "2 keys, which are valid at the copy too",
        "keys are for the workspaces hr too: copy each of them as well",
        "2 conversations",
        "2 jobs",
        "2 jobs are not done and stay with the server that works on them",
        "1 vector stores",
        f"1 uploaded files stay at {source}: their documents are copied; upload the files to a "
        "server of the copy before you delete them",
    ]
    before = read_server_data(str(source), tmp_path)
    assert sorted(before[-2]) == ["", "3d066515"]
    assert [turn["question"] for turn in before[-3][0]["turns"]] == [QUESTION, "And for parents?"]
    assert "three months" in str(before[-3])
    assert read_server_data(url, tmp_path / "beside") == before
    keys = create_key_store(locate_index(url, tmp_path / "beside"))
    key = keys.find(text)
    assert key is not None
    assert (key.name, key.per_minute) == ("ana", 60)
    keys.close()

    back = tmp_path / "back"
    again = CliRunner().invoke(commands, ["copy", url, str(back), "--json"])
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["beside"][-2:] == ["2 jobs", "1 vector stores"]
    assert read_server_data(str(back), tmp_path) == before


def test_a_backup_holds_all_that_servers_see(tmp_path: Path) -> None:
    make_served(tmp_path)
    index, saved = tmp_path / "index", tmp_path / "saved"
    backed_up = CliRunner().invoke(
        commands, ["backup", str(saved), "--index", str(index), "--json"]
    )
    assert backed_up.exit_code == 0, backed_up.output
    outcome = json.loads(backed_up.stdout)
    assert (outcome["folder"], outcome["files"]) == (str(saved), 7)
    assert read_server_data(str(saved), saved) == read_server_data(str(index), index)
    assert (saved / UPLOADS / "trips" / "ferry.md").read_text() == "A ferry."


def test_an_index_on_a_server_is_backed_up_there(postgres: Server, tmp_path: Path) -> None:
    url = postgres.open_database()
    refused = CliRunner().invoke(commands, ["backup", str(tmp_path / "saved"), "--index", url])
    assert isinstance(refused.exception, UsageError)
    assert "back it up there, for example with pg_dump" in str(refused.exception)
    assert not (tmp_path / "saved").exists()


def test_repeating_a_copy_doubles_nothing(postgres: Server, tmp_path: Path) -> None:
    make_served(tmp_path)
    source = tmp_path / "index"
    there = locate_index(postgres.open_database(), tmp_path / "beside")
    index = EmbeddedIndex(source)
    turn = "conversation, question, trace_id, asked"
    [row, *_] = index.open_database("conversations.db", ()).execute(f"SELECT {turn} FROM turns")
    talks = there.open_database("conversations.db", ())
    # As one leaves it who is killed in the middle.
    talks.execute(f"INSERT INTO turns({turn}) VALUES (?, ?, ?, ?)", row)
    first = copy_server_tables(index, there, source)
    assert copy_server_tables(index, there, source) == first
    assert talks.execute("SELECT count(*) FROM turns") == [(4,)]
    assert talks.execute("SELECT count(*) FROM conversations") == [(2,)]
    assert talks.execute("SELECT count(*) FROM jobs") == [(2,)]
    talks.close()


@dataclass(frozen=True)
class CopiedServer:
    """The data of a server beside one index, and their copy beside another."""

    source: Path
    url: str
    original: Index
    there: Index
    first_report: list[str]

    def repeat_copy(self) -> list[str]:
        return copy_server_tables(self.original, self.there, self.source)


@pytest.fixture(params=["near", "far"])
def copied(request: pytest.FixtureRequest, postgres: Server, tmp_path: Path) -> CopiedServer:
    make_served(tmp_path)
    source = tmp_path / "index"
    url = postgres.open_database() if request.param == "far" else str(tmp_path / "there")
    original, there = EmbeddedIndex(source), locate_index(url, tmp_path / "beside")
    return CopiedServer(source, url, original, there, copy_server_tables(original, there, source))


def test_repeating_a_copy_updates_changes(copied: CopiedServer, tmp_path: Path) -> None:
    original, there, first = copied.original, copied.there, copied.first_report
    keys, its_keys = create_key_store(original), create_key_store(there)
    [ana, _] = sorted(keys.list_keys(), key=lambda key: key.name)
    keys.database.execute(
        "UPDATE keys SET per_minute = 7, expires = 'soon' WHERE id = ?", (ana.id,)
    )
    new_key, _ = its_keys.add(Key(id="", name="bo"))
    spent = "UPDATE accounts SET tokens = ?, nano = ?, reserved_tokens = ?, reserved_nano = ?"
    its_keys.database.execute(spent, (10, 90, 40, 0))
    keys.database.execute(spent, (60, 20, 0, 60))
    with engine_at(tmp_path) as engine:
        talks = Conversations(engine)
        talk = talks.list_latest(1)[0]["id"]
        talks.add_turn(talk, "And for guests?", None)
        talks.close()
    assert copied.repeat_copy() == [
        *first[:2],
        "keys that only the copy has; `fathom keys revoke ID` revokes them there: "
        f"{new_key.id} (bo)",
        *first[2:],
    ]
    assert [key for key in its_keys.list_keys() if key.id != new_key.id] == list(keys.list_keys())
    sums = "SELECT tokens, nano, reserved_tokens, reserved_nano FROM accounts"
    assert its_keys.database.execute(sums) == [(60, 90, 0, 0)]
    query = "SELECT question FROM turns WHERE conversation = ? ORDER BY no"
    turns = there.open_database("conversations.db", ()).execute(query, (talk,))
    assert [row[0] for row in turns] == [QUESTION, "And for parents?", "And for guests?"]
    for store in (keys, its_keys):
        store.close()


def test_repeating_a_copy_keeps_changes_made_at_the_copy(
    copied: CopiedServer, tmp_path: Path
) -> None:
    first = copied.first_report
    keys = create_key_store(copied.there)
    ana, hr = sorted(keys.list_keys(), key=lambda key: key.name)
    keys.revoke(hr.id)
    keys.database.execute("UPDATE keys SET per_minute = 3, scopes = '' WHERE id = ?", (ana.id,))
    with Engine(Settings.model_validate({"index": make_index_settings(copied.url)})) as engine:
        talks = Conversations(engine)
        went_on, removed = (conversation["id"] for conversation in talks.list_latest(2))
        talks.add_turn(went_on, "And for guests?", None)
        talks.remove(removed)
        with engine_at(tmp_path) as other:
            at_the_source = Conversations(other)
            at_the_source.add_turn(removed, "Still there?", None)
            at_the_source.close()
        for _ in range(2):
            assert copied.repeat_copy() == [
                "1 keys, which are valid at the copy too",
                first[1],
                f"keys that were revoked at the copy, and stay revoked: {hr.id} (hr)",
                f"keys that may do less at the copy, and stay so limited: {ana.id} (ana)",
                "1 conversations",
                "1 conversations were continued at the copy, and stay unchanged there",
                "1 conversations were removed at the copy, and stay removed",
                *first[3:],
            ]
        [remaining] = keys.list_keys()
        assert (remaining.id, remaining.per_minute, remaining.scopes) == (ana.id, 3, frozenset())
        assert keys.list_workspaces() == ("",)
        assert [conversation["id"] for conversation in talks.list_latest(9)] == [went_on]
        turns = [turn["question"] for turn in talks.get(went_on)["turns"]]
        assert turns == [QUESTION, "And for parents?", "And for guests?"]
        talks.close()
    keys.revoke(ana.id)
    assert not keys.has_keys()
    keys.close()


def test_a_copy_of_a_closed_server_is_closed_until_it_is_opened(tmp_path: Path) -> None:
    original, there = EmbeddedIndex(tmp_path / "one"), EmbeddedIndex(tmp_path / "other")
    own_keys, its = create_key_store(original), create_key_store(there)
    first, _ = own_keys.add(Key(id="", name="ana"))
    own_keys.revoke(first.id)
    report = copy_server_tables(original, there, tmp_path / "one")
    assert report == [
        "no key is left, so nobody can ask at the copy either; run `fathom keys list` there"
    ]
    assert its.get_door() == "closed"
    its.open_door()
    assert copy_server_tables(original, there, tmp_path / "one") == []
    assert its.get_door() == "open"
    own_keys.add(Key(id="", name="bo"))
    assert copy_server_tables(original, there, tmp_path / "one") == [
        "1 keys, which are valid at the copy too"
    ]
    its.database.execute("DELETE FROM keys")
    assert its.get_door() == "closed"
    own_keys.close()
    its.close()


class _Killed(Exception):
    """Ends a statement before it reaches the table."""


@pytest.mark.parametrize("before", range(5))
def test_a_kill_in_between_loses_and_doubles_no_turn(
    tmp_path: Path, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_served(tmp_path)
    source = tmp_path / "index"
    original, there = EmbeddedIndex(source), EmbeddedIndex(tmp_path / "there")
    copy_server_tables(original, there, source)
    talks = there.open_database("conversations.db", ())
    [(talk,), _] = talks.execute("SELECT id FROM conversations ORDER BY id")
    with engine_at(tmp_path) as engine:
        conversations = Conversations(engine)
        for question in ("And for guests?", "And for pets?"):
            conversations.add_turn(talk, question, None)
        conversations.close()
    ask, execute = FileDatabase.execute, iter(range(before))

    def kill(self: FileDatabase, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        changes = self.path.parent.name == "there" and "SELECT" not in statement
        if changes and self.path.name == "conversations.db" and next(execute, None) is None:
            raise _Killed
        return ask(self, statement, *values)

    query = "SELECT question FROM turns WHERE conversation = ? ORDER BY no"
    whole = [QUESTION, "And for parents?", "And for guests?", "And for pets?"]
    with monkeypatch.context() as patched:
        patched.setattr(FileDatabase, "execute", kill)
        with suppress(_Killed):
            copy_server_tables(original, there, source)
    assert [row[0] for row in talks.execute(query, (talk,))] == whole[: 2 + before]
    copy_server_tables(original, there, source)
    assert [row[0] for row in talks.execute(query, (talk,))] == whole
    talks.close()


def test_an_index_without_a_server_creates_nothing_beside_its_copy(tmp_path: Path) -> None:
    one, other = EmbeddedIndex(tmp_path / "one"), EmbeddedIndex(tmp_path / "other")
    assert copy_server_tables(one, other, tmp_path / "one") == []
    assert list(tmp_path.iterdir()) == []


def test_data_that_cannot_be_stored_are_reported_and_the_index_is_copied(
    postgres: Server, tmp_path: Path
) -> None:
    make_served(tmp_path)
    url = postgres.open_database().replace("fathom@", "postgres@")
    copied = CliRunner().invoke(commands, ["copy", str(tmp_path / "index"), url])
    assert copied.exit_code == 0, copied.output
    assert "1 documents, 1 chunks copied" in copied.stdout
    assert "the remaining data of `fathom serve` was not copied: 'postgres' passes by" in (
        copied.stdout
    )


def test_a_place_with_documents_gets_no_keys(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        make_served(tmp_path / name)
    one, other = tmp_path / "one" / "index", tmp_path / "other" / "index"
    before = read_server_data(str(other), tmp_path)
    refused = CliRunner().invoke(commands, ["copy", str(one), str(other)])
    assert isinstance(refused.exception, UsageError)
    assert read_server_data(str(other), tmp_path) == before


def test_a_copied_conversation_has_a_holder_only_if_nobody_else_asked_at_either_place(
    tmp_path: Path,
) -> None:
    folders = tmp_path / "here", tmp_path / "there"
    source, target = map(EmbeddedIndex, folders)
    with Engine.open(folders[0]) as original, Engine.open(folders[1]) as copied:
        talks, copies = Conversations(original), Conversations(copied)
        first, second = (talks.add(holder="ana") for _ in range(2))

        def copy_holders() -> set[str]:
            copy_server_tables(source, target, folders[0])
            rows = target.open_database("conversations.db", ()).execute("SELECT id FROM holders")
            return {row[0] for row in rows}

        assert copy_holders() == {first, second}
        talks.add_turn(second, "Who earns most?", None, "root")
        assert copy_holders() == {first}
        copies.add_turn(first, "Who earns least?", None, "root")
        talks.add_turn(first, "How long is the notice period?", None, "ana")
        assert copy_holders() == set()
        talks.close()
        copies.close()

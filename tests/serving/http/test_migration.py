"""What a server keeps goes along with a copied index: `fathom.serving.http.migration`."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.making import engine_at
from tests.postgres_server import Server
from typer.testing import CliRunner

from fathom import Engine
from fathom.errors import UsageError
from fathom.index.embedded.database import FileDatabase
from fathom.index.engines import EmbeddedIndex, Index, locate_index, make_index_settings
from fathom.serving.cli import app as commands
from fathom.serving.http.conversation_store import Conversations
from fathom.serving.http.job_queue import Job, JobState, create_job_queue
from fathom.serving.http.keys import Key, create_key_store
from fathom.serving.http.migration import copy_server_tables
from fathom.serving.http.tables import UPLOADS
from fathom.settings import Settings

QUESTION = "How long is the notice period?"


def served(place: Path) -> str:
    """An embedded index with what servers keep; the text of a key."""
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
        sent = engine.directory / UPLOADS / "trips" / "ferry.md"
        sent.parent.mkdir(parents=True)
        sent.write_text("A ferry.")
    return text


def kept(place: str, disk: Path) -> list[Any]:
    """All that servers can see of it there."""
    given = (
        {**make_index_settings(place), "directory": disk}
        if place.startswith("postgres")
        else make_index_settings(place)
    )
    with Engine(Settings.model_validate({"index": given})) as engine:
        keys, queue, talks = (
            create_key_store(engine.index),
            create_job_queue(engine.index, ""),
            Conversations(engine),
        )
        listed = talks.list_latest(10)
        told = [
            keys.list_keys(),
            keys.database.execute("SELECT owner, tokens FROM accounts"),
            [job.to_json() for job in queue.list_latest() if job.state in {"done", "failed"}],
            listed,
            [talks.get(each["id"]) for each in listed],
            [talks.find_owner(each["id"]) for each in listed],
        ]
        for opened in (keys, queue, talks):
            opened.close()
    return told


def test_what_a_server_keeps_goes_to_a_database_and_back(postgres: Server, tmp_path: Path) -> None:
    text, source, url = served(tmp_path), tmp_path / "index", postgres.open_database()
    copied = CliRunner().invoke(commands, ["copy", str(source), url])
    assert copied.exit_code == 0, copied.output
    assert copied.stdout.splitlines() == [
        "1 documents, 1 chunks copied",
        "2 keys, which are valid at the copy too",
        "keys are for the workspaces hr too: copy each of them likewise",
        "2 conversations",
        "2 jobs",
        "2 jobs are not done and stay with the server that works on them",
        f"1 uploaded files stay at {source}: their documents are copied; upload the files to a "
        "server of the copy before you delete them",
    ]
    before = kept(str(source), tmp_path)
    assert sorted(before[-1]) == ["", "3d066515"]
    assert [turn["question"] for turn in before[-2][0]["turns"]] == [QUESTION, "And for parents?"]
    assert "three months" in str(before[-2])
    assert kept(url, tmp_path / "beside") == before
    keys = create_key_store(locate_index(url, tmp_path / "beside"))
    found = keys.find(text)
    assert found is not None
    assert (found.name, found.per_minute) == ("ana", 60)
    keys.close()

    back = tmp_path / "back"
    again = CliRunner().invoke(commands, ["copy", url, str(back), "--json"])
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["beside"][-1] == "2 jobs"
    assert kept(str(back), tmp_path) == before


def test_done_again_nothing_is_there_twice(postgres: Server, tmp_path: Path) -> None:
    served(tmp_path)
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
class Copied:
    """What a server kept beside one index, and its copy beside another."""

    source: Path
    url: str
    here: Index
    there: Index
    told: list[str]

    def again(self) -> list[str]:
        return copy_server_tables(self.here, self.there, self.source)


@pytest.fixture(params=["near", "far"])
def copied(request: pytest.FixtureRequest, postgres: Server, tmp_path: Path) -> Copied:
    served(tmp_path)
    source = tmp_path / "index"
    url = postgres.open_database() if request.param == "far" else str(tmp_path / "there")
    here, there = EmbeddedIndex(source), locate_index(url, tmp_path / "beside")
    return Copied(source, url, here, there, copy_server_tables(here, there, source))


def test_done_again_it_brings_up_what_has_changed(copied: Copied, tmp_path: Path) -> None:
    here, there, first = copied.here, copied.there, copied.told
    keys, its_keys = create_key_store(here), create_key_store(there)
    [ana, _] = sorted(keys.list_keys(), key=lambda key: key.name)
    keys.database.execute(
        "UPDATE keys SET per_minute = 7, expires = 'soon' WHERE id = ?", (ana.id,)
    )
    own, _ = its_keys.add(Key(id="", name="bo"))
    spent = "UPDATE accounts SET tokens = ?, nano = ?, reserved_tokens = ?, reserved_nano = ?"
    its_keys.database.execute(spent, (10, 90, 40, 0))
    keys.database.execute(spent, (60, 20, 0, 60))
    with engine_at(tmp_path) as engine:
        talks = Conversations(engine)
        talk = talks.list_latest(1)[0]["id"]
        talks.add_turn(talk, "And for guests?", None)
        talks.close()
    assert copied.again() == [
        *first[:2],
        "keys that open the copy alone, until `fathom keys revoke ID` there ends them: "
        f"{own.id} (bo)",
        *first[2:],
    ]
    assert [key for key in its_keys.list_keys() if key.id != own.id] == list(keys.list_keys())
    sums = "SELECT tokens, nano, reserved_tokens, reserved_nano FROM accounts"
    assert its_keys.database.execute(sums) == [(60, 90, 0, 0)]
    asked = "SELECT question FROM turns WHERE conversation = ? ORDER BY no"
    turns = there.open_database("conversations.db", ()).execute(asked, (talk,))
    assert [row[0] for row in turns] == [QUESTION, "And for parents?", "And for guests?"]
    for each in (keys, its_keys):
        each.close()


def test_done_again_what_was_done_at_the_copy_stays(copied: Copied, tmp_path: Path) -> None:
    first = copied.told
    keys = create_key_store(copied.there)
    ana, hr = sorted(keys.list_keys(), key=lambda key: key.name)
    keys.revoke(hr.id)
    keys.database.execute("UPDATE keys SET per_minute = 3, scopes = '' WHERE id = ?", (ana.id,))
    with Engine(Settings.model_validate({"index": make_index_settings(copied.url)})) as engine:
        talks = Conversations(engine)
        went_on, removed = (each["id"] for each in talks.list_latest(2))
        talks.add_turn(went_on, "And for guests?", None)
        talks.remove(removed)
        with engine_at(tmp_path) as other:
            at_the_source = Conversations(other)
            at_the_source.add_turn(removed, "Still there?", None)
            at_the_source.close()
        for _ in range(2):
            assert copied.again() == [
                "1 keys, which are valid at the copy too",
                first[1],
                f"keys that were revoked at the copy, and stay so: {hr.id} (hr)",
                f"keys that may do less at the copy, and go on so: {ana.id} (ana)",
                "1 conversations",
                "1 conversations were continued at the copy, and stay unchanged there",
                "1 conversations were removed at the copy, and stay so",
                *first[3:],
            ]
        [left] = keys.list_keys()
        assert (left.id, left.per_minute, left.scopes) == (ana.id, 3, frozenset())
        assert keys.list_workspaces() == ("",)
        assert [each["id"] for each in talks.list_latest(9)] == [went_on]
        turns = [turn["question"] for turn in talks.get(went_on)["turns"]]
        assert turns == [QUESTION, "And for parents?", "And for guests?"]
        talks.close()
    keys.revoke(ana.id)
    assert not keys.has_keys()
    keys.close()


def test_a_copy_of_what_was_closed_is_closed_until_it_is_opened_there(tmp_path: Path) -> None:
    here, there = EmbeddedIndex(tmp_path / "one"), EmbeddedIndex(tmp_path / "other")
    own, its = create_key_store(here), create_key_store(there)
    first, _ = own.add(Key(id="", name="ana"))
    own.revoke(first.id)
    told = copy_server_tables(here, there, tmp_path / "one")
    assert told == [
        "no key is left, so nobody can ask at the copy either; run `fathom keys list` there"
    ]
    assert its.get_door() == "closed"
    its.open_door()
    assert copy_server_tables(here, there, tmp_path / "one") == []
    assert its.get_door() == "open"
    own.add(Key(id="", name="bo"))
    assert copy_server_tables(here, there, tmp_path / "one") == [
        "1 keys, which are valid at the copy too"
    ]
    its.database.execute("DELETE FROM keys")
    assert its.get_door() == "closed"
    own.close()
    its.close()


class _Killed(Exception):
    """Nothing of what was asked reached the table."""


@pytest.mark.parametrize("before", range(5))
def test_killed_in_between_no_turn_is_lost_or_there_twice(
    tmp_path: Path, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    served(tmp_path)
    source = tmp_path / "index"
    here, there = EmbeddedIndex(source), EmbeddedIndex(tmp_path / "there")
    copy_server_tables(here, there, source)
    talks = there.open_database("conversations.db", ())
    [(talk,), _] = talks.execute("SELECT id FROM conversations ORDER BY id")
    with engine_at(tmp_path) as engine:
        conversations = Conversations(engine)
        for question in ("And for guests?", "And for pets?"):
            conversations.add_turn(talk, question, None)
        conversations.close()
    ask, left = FileDatabase.execute, iter(range(before))

    def killed(self: FileDatabase, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        changes = self.path.parent.name == "there" and "SELECT" not in statement
        if changes and self.path.name == "conversations.db" and next(left, None) is None:
            raise _Killed
        return ask(self, statement, *values)

    asked = "SELECT question FROM turns WHERE conversation = ? ORDER BY no"
    whole = [QUESTION, "And for parents?", "And for guests?", "And for pets?"]
    with monkeypatch.context() as patched:
        patched.setattr(FileDatabase, "execute", killed)
        with suppress(_Killed):
            copy_server_tables(here, there, source)
    assert [row[0] for row in talks.execute(asked, (talk,))] == whole[: 2 + before]
    copy_server_tables(here, there, source)
    assert [row[0] for row in talks.execute(asked, (talk,))] == whole
    talks.close()


def test_an_index_without_a_server_makes_nothing_beside_its_copy(tmp_path: Path) -> None:
    one, other = EmbeddedIndex(tmp_path / "one"), EmbeddedIndex(tmp_path / "other")
    assert copy_server_tables(one, other, tmp_path / "one") == []
    assert list(tmp_path.iterdir()) == []


def test_where_it_cannot_be_kept_that_is_told_and_the_index_copied(
    postgres: Server, tmp_path: Path
) -> None:
    served(tmp_path)
    url = postgres.open_database().replace("fathom@", "postgres@")
    copied = CliRunner().invoke(commands, ["copy", str(tmp_path / "index"), url])
    assert copied.exit_code == 0, copied.output
    assert "1 documents, 1 chunks copied" in copied.stdout
    assert "the rest of what `fathom serve` keeps was not copied: 'postgres' passes by" in (
        copied.stdout
    )


def test_a_place_that_holds_documents_gets_no_keys(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        served(tmp_path / name)
    one, other = tmp_path / "one" / "index", tmp_path / "other" / "index"
    before = kept(str(other), tmp_path)
    refused = CliRunner().invoke(commands, ["copy", str(one), str(other)])
    assert isinstance(refused.exception, UsageError)
    assert kept(str(other), tmp_path) == before

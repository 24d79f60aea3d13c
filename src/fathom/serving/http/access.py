"""Access control: the caller behind a request, its request rate and its budget."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from fathom.index.rights import Viewer
from fathom.runs.ledger import Account
from fathom.serving.http.accounts import DailyAccount
from fathom.serving.http.keys import CURATORS, EVERYTHING, PREFIX, SCOPES, Key, Keys, Scope
from fathom.serving.http.problems import Problem
from fathom.serving.http.rates import Rates
from fathom.usage import Budget

T = TypeVar("T")
COOKIE = "fathom_key"
"""The cookie with a browser's key; requests of pictures and links have no header for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller behind a request.

    Attributes:
        key: The caller's key; `None` for the local user.
        workspace: The workspace of the documents; empty for the default one.
        scopes: What the caller may do.
    """

    key: Key | None = None
    workspace: str = ""
    scopes: frozenset[Scope] = frozenset(SCOPES)

    @property
    def key_id(self) -> str:
        """The id of the key; empty for the local user."""
        return self.key.id if self.key else ""

    @property
    def owner(self) -> str:
        """The name by which the caller owns traces and conversations; empty for the local user."""
        return self.key.name if self.key else ""

    @property
    def viewer(self) -> Viewer | None:
        """The viewer by whose names documents are readable; `None` if the caller may read all."""
        if self.key is None or EVERYTHING in self.key.groups:
            return None
        return Viewer(frozenset({f"user:{self.key.name}", *self.key.groups}))

    @property
    def may_curate(self) -> bool:
        """True if the caller's feedback may change the answers that others get."""
        return bool(self.scopes & CURATORS)


LOCAL = Caller()
"""The user at this machine."""


class Access:
    """The access control of a server: its keys, their request rates and their daily budgets."""

    def __init__(
        self,
        keys: Keys,
        *,
        required: bool = False,
        workspace_budget: Budget | None = None,
    ) -> None:
        """Create the access control. Nothing is opened before it is needed.

        Args:
            keys: The keys of the server.
            required: Whether every caller needs a key even if no key exists, because others than
                the local user can reach the server.
            workspace_budget: The tokens and money of each workspace a day.
        """
        self.keys = keys
        self._required = required
        self._was_closed = False
        self._workspace_budget = workspace_budget or Budget()
        self._rates = Rates(keys.database)
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="fathom-access")

    def needs_key(self) -> bool:
        """Return whether every caller needs a key.

        Once a key was needed, this does not change before `Keys.open_door` is called, even if the
        database of the keys is deleted or replaced meanwhile.
        """
        door = self.keys.get_door()
        # A deleted key database looks new: it must not open a server that was closed.
        self._was_closed = door == "closed" or (self._was_closed and door == "new")
        return self._required or self._was_closed

    def _find_caller(self, credential: str) -> Caller:
        if not credential.startswith(PREFIX) and not self.needs_key():
            return LOCAL  # some clients always send a key, and without one send any word
        key = self.keys.find(credential) if credential else None
        if key is None:
            detail = "the key is unknown" if credential else "a key is needed"
            raise build_unauthorized_problem(detail, "send it as Authorization: Bearer fth_...")
        self._was_closed = True
        if key.is_expired(datetime.now(UTC)):
            raise build_unauthorized_problem(f"the key {key.id} has expired", "ask for a new one")
        return Caller(key=key, workspace=key.workspace, scopes=key.scopes)

    async def identify_caller(self, credential: str) -> Caller:
        """Identify the caller by a key, and count the request, without blocking the event loop.

        Args:
            credential: The text of a key; empty if none was sent.

        Raises:
            Problem: 401 if the key is unknown, has expired, or is missing although it is needed;
                429 if it was used too often.
        """
        caller = await self.run_lookup(lambda: self._find_caller(credential))
        if caller.key is not None and caller.key.per_minute is not None:
            # Counting waits for the disk, so it must not run in the thread of the event loop.
            await asyncio.get_running_loop().run_in_executor(
                self._threads, self._count_request, caller
            )
        return caller

    async def count_event(self, name: str, per_minute: int) -> bool:
        """Count an event of the server; return whether it is within so many events a minute."""
        loop = asyncio.get_running_loop()
        return not await loop.run_in_executor(self._threads, self._rates.take, name, per_minute)

    async def open_account_async(self, caller: Caller) -> Account | None:
        """Do what `open_account` does without blocking the event loop."""
        if not self._list_budgets(caller):
            return None
        return await self.run_lookup(lambda: self.open_account(caller))

    async def run_lookup(self, lookup: Callable[[], T]) -> T:
        """Run a lookup; use a thread if the database is on a server."""
        # A lookup on this disk is faster than a change of threads. In asyncio's default pool a
        # lookup would wait behind uploads.
        if self.keys.database.is_near:
            return lookup()
        return await asyncio.get_running_loop().run_in_executor(self._threads, lookup)

    def open_account(self, caller: Caller) -> Account | None:
        """Open today's account, which limits the caller's runs; return `None` without a limit.

        Raises:
            Problem: 429 if nothing is left.
        """
        day, account = datetime.now(UTC).date().isoformat(), None
        for owner, budget in self._list_budgets(caller):
            account = DailyAccount(self.keys.database, owner, day, budget, account)
        if account is None:
            return None
        remaining = account.get_remaining()
        if remaining["tokens"] <= 0 or remaining["cost_usd"] <= 0:
            raise Problem(
                429,
                "budget_spent",
                "the budget of today is spent",
                next="ask again tomorrow (UTC), or request a larger budget",
                retry_after=_count_seconds_to_midnight(),
            )
        return account

    def close(self) -> None:
        """Close the keys and the threads."""
        self._threads.shutdown(cancel_futures=True)
        self.keys.close()

    def _count_request(self, caller: Caller) -> None:
        key = caller.key
        if key is None or key.per_minute is None:
            return
        if wait_s := self._rates.take(key.id, key.per_minute):
            raise Problem(
                429,
                "too_many_requests",
                f"more than {key.per_minute} requests a minute",
                next="ask again after the time of Retry-After",
                retry_after=wait_s,
            )

    def _list_budgets(self, caller: Caller) -> list[tuple[str, Budget]]:
        """Return the accounts' owners and budgets that limit a caller, the workspace's first."""
        owners = [(f"workspace:{caller.workspace}", self._workspace_budget)]
        if caller.key is not None:
            key_budget = Budget(tokens=caller.key.tokens_per_day, cost_usd=caller.key.usd_per_day)
            owners.append((f"key:{caller.key.id}", key_budget))
        return [(owner, budget) for owner, budget in owners if budget != Budget()]


def build_unauthorized_problem(detail: str, todo: str) -> Problem:
    """Build the problem of an unidentified caller; `todo` is the next step."""
    headers = {"WWW-Authenticate": 'Bearer realm="fathom"'}
    return Problem(401, "unauthorized", detail, next=todo, headers=headers)


def _count_seconds_to_midnight() -> float:
    now = datetime.now(UTC)
    tomorrow = datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)
    return (tomorrow - now).total_seconds()

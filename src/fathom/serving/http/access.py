"""Who may do what: the caller behind a request, how often, and what may be spent."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from fathom.runs.ledger import Account
from fathom.serving.http.accounts import DailyAccount
from fathom.serving.http.keys import CURATORS, PREFIX, SCOPES, Key, Keys, Scope
from fathom.serving.http.problems import Problem
from fathom.serving.http.rates import Rates
from fathom.usage import Budget

T = TypeVar("T")
COOKIE = "fathom_key"
"""Holds the key for a browser, which sends no header with a picture or a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks.

    Attributes:
        key: What they hold; `None` for the local user, who needs none on loopback.
        workspace: Whose documents are meant; empty for the default one.
        scopes: What the caller may do.
    """

    key: Key | None = None
    workspace: str = ""
    scopes: frozenset[Scope] = frozenset(SCOPES)

    @property
    def key_id(self) -> str:
        """Of the key; empty for the local user."""
        return self.key.id if self.key else ""

    @property
    def may_curate(self) -> bool:
        """Whether what they say is right changes what others are answered."""
        return bool(self.scopes & CURATORS)


LOCAL = Caller()
"""Who sits at this machine."""


class Access:
    """Knows the keys, how often each was used lately, and what each has spent today."""

    def __init__(
        self,
        keys: Keys,
        *,
        required: bool = False,
        workspace_budget: Budget | None = None,
    ) -> None:
        """Nothing is opened before it is needed.

        Args:
            keys: Those of the server.
            required: Whether nobody may ask without a key, also while there is none: so where
                others than the local user reach the server.
            workspace_budget: Tokens and money for each workspace and day.
        """
        self.keys = keys
        self._required = required
        self._was_closed = False
        self._workspace_budget = workspace_budget or Budget()
        self._rates = Rates(keys.kept)
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="fathom-access")

    def needs_key(self) -> bool:
        """Whether nobody may ask without a key.

        Once that was so it stays so until it is said otherwise, also where what kept the keys
        was deleted or replaced meanwhile.
        """
        door = self.keys.door()
        self._was_closed = door == "closed" or (self._was_closed and door == "new")
        return self._required or self._was_closed

    def caller(self, credential: str) -> Caller:
        """Who holds this key.

        Args:
            credential: The text of a key; empty where none was sent.

        Raises:
            Problem: 401 if it is none, or has expired, or is missing where it is needed; 429 if
                it was used too often.
        """
        caller = self._holder(credential)
        self._count(caller)
        return caller

    def _holder(self, credential: str) -> Caller:
        if not credential.startswith(PREFIX) and not self.needs_key():
            return LOCAL  # clients that cannot do without a key send any word
        key = self.keys.find(credential) if credential else None
        if key is None:
            told = "the key is unknown" if credential else "a key is needed"
            raise _unauthorized(told, "send it as Authorization: Bearer fth_...")
        self._was_closed = True
        if key.is_over(datetime.now(UTC)):
            raise _unauthorized(f"the key {key.id} has expired", "ask for a new one")
        return Caller(key=key, workspace=key.workspace, scopes=key.scopes)

    async def known(self, credential: str) -> Caller:
        """As `caller`; others are answered meanwhile."""
        caller = await self._beside(lambda: self._holder(credential))
        if caller.key is not None and caller.key.per_minute is not None:
            # What is counted is synced to disk, so never by the thread that serves everybody.
            await asyncio.get_running_loop().run_in_executor(self._threads, self._count, caller)
        return caller

    async def opened(self, caller: Caller) -> Account | None:
        """As `account`, likewise."""
        return await self._beside(lambda: self.account(caller)) if self._budgets(caller) else None

    async def _beside(self, look: Callable[[], T]) -> T:
        """Look at what a server keeps without keeping the others waiting, nor behind uploads."""
        if self.keys.kept.is_near:
            return look()
        return await asyncio.get_running_loop().run_in_executor(self._threads, look)

    def account(self, caller: Caller) -> Account | None:
        """What the caller may still spend today, as the account of a run; `None` without limit.

        Raises:
            Problem: 429 if nothing is left.
        """
        day, account = datetime.now(UTC).date().isoformat(), None
        for owner, budget in self._budgets(caller):
            account = DailyAccount(self.keys.kept, owner, day, budget, account)
        if account is None:
            return None
        left = account.left()
        if left["tokens"] <= 0 or left["cost_usd"] <= 0:
            raise Problem(
                429,
                "budget_spent",
                "the budget of today is spent",
                next="come again tomorrow (UTC), or ask for a larger one",
                retry_after=_seconds_to_midnight(),
            )
        return account

    def close(self) -> None:
        """Let go of the keys."""
        self._threads.shutdown(cancel_futures=True)
        self.keys.close()

    def _count(self, caller: Caller) -> None:
        key = caller.key
        if key is None or key.per_minute is None:
            return
        if wait_s := self._rates.take(key.id, key.per_minute):
            raise Problem(
                429,
                "too_many_requests",
                f"more than {key.per_minute} requests a minute",
                next="come again after the time of Retry-After",
                retry_after=wait_s,
            )

    def _budgets(self, caller: Caller) -> list[tuple[str, Budget]]:
        """Whose budgets limit a caller, and how far; that of the workspace first."""
        owners = [(f"workspace:{caller.workspace}", self._workspace_budget)]
        if caller.key is not None:
            own = Budget(tokens=caller.key.tokens_per_day, cost_usd=caller.key.usd_per_day)
            owners.append((f"key:{caller.key.id}", own))
        return [(owner, budget) for owner, budget in owners if budget != Budget()]


def _unauthorized(detail: str, todo: str) -> Problem:
    headers = {"WWW-Authenticate": 'Bearer realm="fathom"'}
    return Problem(401, "unauthorized", detail, next=todo, headers=headers)


def _seconds_to_midnight() -> float:
    now = datetime.now(UTC)
    tomorrow = datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)
    return (tomorrow - now).total_seconds()

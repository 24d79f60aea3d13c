"""Who may do what: the caller behind a request, how often, and what may be spent."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fathom.ledger import Ledger
from fathom.serving.http.keys import PREFIX, SCOPES, Key, Keys, Scope
from fathom.serving.http.problems import Problem
from fathom.usage import Budget

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


LOCAL = Caller()
"""Who sits at this machine."""


class Access:
    """Knows the keys, how often each was used lately, and what each has spent today."""

    def __init__(
        self,
        directory: Path,
        *,
        required: bool = False,
        workspace_budget: Budget | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is opened before it is needed.

        Args:
            directory: Of the index; its keys lie beside it.
            required: Whether nobody may ask without a key, also while there is none: so where
                others than the local user reach the server.
            workspace_budget: Tokens and money for each workspace and day.
            clock: Seconds that never run backwards.
        """
        self.keys = Keys(directory)
        self._required = required
        self._workspace_budget = workspace_budget or Budget()
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._accounts: dict[str, _Account] = {}

    def needs_key(self) -> bool:
        """Whether nobody may ask without a key."""
        return self._required or self.keys.any()

    def caller(self, credential: str) -> Caller:
        """Who holds this key.

        Args:
            credential: The text of a key; empty where none was sent.

        Raises:
            Problem: 401 if it is none, or has expired, or is missing where it is needed; 429 if
                it was used too often.
        """
        if not credential.startswith(PREFIX) and not self.needs_key():
            return LOCAL  # clients that cannot do without a key send any word
        key = self.keys.find(credential) if credential else None
        if key is None:
            told = "the key is unknown" if credential else "a key is needed"
            raise _unauthorized(told, "send it as Authorization: Bearer fth_...")
        if key.is_over(datetime.now(UTC)):
            raise _unauthorized(f"the key {key.id} has expired", "ask for a new one")
        self._count(key)
        return Caller(key=key, workspace=key.workspace, scopes=key.scopes)

    def account(self, caller: Caller) -> Ledger | None:
        """What the caller may still spend today, as the account of a run; `None` without limit.

        Raises:
            Problem: 429 if nothing is left.
        """
        chain = self._chain(caller)
        if not chain:
            return None
        left = chain[-1].ledger.left()
        if left["tokens"] <= 0 or left["cost_usd"] <= 0:
            raise Problem(
                429,
                "budget_spent",
                "the budget of today is spent",
                next="come again tomorrow (UTC), or ask for a larger one",
                retry_after=_seconds_to_midnight(),
            )
        return chain[-1].ledger

    def keep(self, caller: Caller) -> None:
        """Write down what was spent; a server that is started again begins with it."""
        for each in self._chain(caller):
            usage = each.ledger.usage
            tokens, usd = each.before
            spent = tokens + usage.tokens, usd + (usage.cost_usd or 0.0)
            if spent != each.before:
                self.keys.note_spent(each.owner, each.day, *spent)

    def close(self) -> None:
        """Let go of the file of the keys."""
        self.keys.close()

    def _count(self, key: Key) -> None:
        if key.per_minute is None:
            return
        now, most = self._clock(), float(max(key.per_minute, 1))
        left, before = self._buckets.get(key.id, (most, now))
        left = min(most, left + (now - before) * most / 60)
        if key.per_minute == 0 or left < 1:
            self._buckets[key.id] = (left, now)
            raise Problem(
                429,
                "too_many_requests",
                f"more than {key.per_minute} requests a minute",
                next="come again after the time of Retry-After",
                retry_after=(1 - left) * 60 / most,
            )
        self._buckets[key.id] = (left - 1, now)

    def _chain(self, caller: Caller) -> "list[_Account]":
        """The accounts of a caller, that of the workspace first; each is that of the next."""
        owners = [(f"workspace:{caller.workspace}", self._workspace_budget)]
        if caller.key is not None:
            own = Budget(tokens=caller.key.tokens_per_day, cost_usd=caller.key.usd_per_day)
            owners.append((f"key:{caller.key.id}", own))
        chain: list[_Account] = []
        for owner, budget in owners:
            if budget != Budget():
                chain.append(self._opened(owner, budget, chain[-1].ledger if chain else None))
        return chain

    def _opened(self, owner: str, budget: Budget, above: Ledger | None) -> "_Account":
        day = datetime.now(UTC).date().isoformat()
        known = self._accounts.get(owner)
        if known is None or known.day != day:
            tokens, usd = self.keys.spent(owner, day)
            left = Budget(
                tokens=None if budget.tokens is None else max(0, budget.tokens - tokens),
                cost_usd=None if budget.cost_usd is None else max(0.0, budget.cost_usd - usd),
            )
            ledger = Ledger(left, account=above)
            known = _Account(owner=owner, day=day, before=(tokens, usd), ledger=ledger)
            self._accounts[owner] = known
        return known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    """What an owner may spend on a day; `before` was spent before the server was started."""

    owner: str
    day: str
    before: tuple[int, float]
    ledger: Ledger


def _unauthorized(detail: str, todo: str) -> Problem:
    headers = {"WWW-Authenticate": 'Bearer realm="fathom"'}
    return Problem(401, "unauthorized", detail, next=todo, headers=headers)


def _seconds_to_midnight() -> float:
    now = datetime.now(UTC)
    tomorrow = datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)
    return (tomorrow - now).total_seconds()

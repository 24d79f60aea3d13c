"""Daily accounts: the tokens and money of a day, shared by all servers of an index."""

from math import inf

from fathom.index.database import Database
from fathom.runs.ledger import BudgetRefused, Limit
from fathom.runs.reservation import NANO, Charge, CostBound, convert_cap
from fathom.usage import Budget

NO_LIMIT = 1 << 62
"""The cap of an unlimited account; it still fits into a signed 64-bit column."""


class DailyAccount:
    """An owner's account for one day, as `ledger.Account` defines it.

    Each step is one statement in a database that all servers share, so that spent + reserved <= cap
    at every instant, however many servers ask. What a killed server had reserved stays reserved
    until the day ends, because it may have been spent.
    """

    def __init__(
        self,
        database: Database,
        owner: str,
        day: str,
        budget: Budget,
        parent: "DailyAccount | None" = None,
    ) -> None:
        """Open the account; earlier expenses of the day count.

        Args:
            database: The database with the table `accounts`.
            owner: The owner of the account.
            day: The day in UTC, as `2026-11-23`.
            budget: Tokens and money.
            parent: The account whose caps hold too.
        """
        self._database, self._owner, self._parent = database, (owner, day), parent
        self._is_priced = budget.cost_usd is not None
        self._tokens = NO_LIMIT if budget.tokens is None else min(budget.tokens, NO_LIMIT)
        money = NO_LIMIT if budget.cost_usd is None else convert_cap(budget.cost_usd)
        self._nano = min(money, NO_LIMIT)
        database.execute(
            "INSERT INTO accounts(owner, day) VALUES (?, ?) ON CONFLICT DO NOTHING", self._owner
        )

    def get_remaining(self) -> dict[Limit, float]:
        """Return what may still be reserved, cost in billionths of a USD; infinite if unlimited."""
        [(tokens, nano)] = self._database.execute(
            "SELECT tokens + reserved_tokens, nano + reserved_nano FROM accounts "
            "WHERE owner = ? AND day = ?",
            self._owner,
        )
        amounts: dict[Limit, float] = {
            "seconds": inf,
            "calls": inf,
            "tokens": inf if self._tokens == NO_LIMIT else self._tokens - tokens,
            "retrievals": inf,
            "cost_usd": self._nano - nano if self._is_priced else inf,
        }
        parent_amounts = self._parent.get_remaining() if self._parent else amounts
        return {limit: min(amount, parent_amounts[limit]) for limit, amount in amounts.items()}

    def draw(self, bound: CostBound, amount: Charge) -> None:
        """Set an amount aside, in the parent account too.

        Raises:
            BudgetRefused: If the amount does not fit.
        """
        if self._parent is not None:
            # The parent comes first: a drawing that fails below it is booked back.
            self._parent.draw(bound, amount)
        try:
            self._draw(amount)
        except BaseException:
            if self._parent is not None:
                self._parent.book(amount, Charge())
            raise

    def book(self, amount: Charge, spent: Charge) -> None:
        """End a drawing of `amount`, of which `spent` was spent."""
        if amount.tokens or amount.nano:
            self._database.execute(
                "UPDATE accounts SET reserved_tokens = reserved_tokens - ?, "
                "reserved_nano = reserved_nano - ?, tokens = tokens + ?, nano = nano + ? "
                "WHERE owner = ? AND day = ?",
                (amount.tokens, amount.nano, spent.tokens, spent.nano, *self._owner),
            )
        if self._parent is not None:
            self._parent.book(amount, spent)

    def _draw(self, amount: Charge) -> None:
        if self._is_priced and amount.unpriced:
            raise BudgetRefused(
                "cost_usd", needed=None, left=self.get_remaining()["cost_usd"] / NANO
            )
        if not amount.tokens and not amount.nano:
            return  # a run without language models, such as a search
        drawn = self._database.execute(
            "UPDATE accounts SET reserved_tokens = reserved_tokens + ?, "
            "reserved_nano = reserved_nano + ? WHERE owner = ? AND day = ? "
            "AND tokens + reserved_tokens + ? <= ? AND nano + reserved_nano + ? <= ? RETURNING day",
            (
                *(amount.tokens, amount.nano, *self._owner),
                *(amount.tokens, self._tokens, amount.nano, self._nano),
            ),
        )
        if not drawn:
            remaining = self.get_remaining()
            if amount.tokens > remaining["tokens"]:
                raise BudgetRefused("tokens", needed=amount.tokens, left=remaining["tokens"])
            raise BudgetRefused(
                "cost_usd", needed=amount.nano / NANO, left=remaining["cost_usd"] / NANO
            )

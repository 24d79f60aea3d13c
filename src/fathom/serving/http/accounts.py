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
    at every instant, also with many servers. The amounts that a killed server had reserved stay
    reserved until the day ends, because they may have been spent.
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
            budget: The tokens and money of the day.
            parent: Another account whose caps hold too, such as that of the workspace.
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
        """Return the amounts that can still be reserved.

        The cost is in billionths of a USD; an unlimited amount is infinite.
        """
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
        """Reserve an amount, in the parent account too.

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
        """End the reservation of `amount`, and book `spent` as spent."""
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

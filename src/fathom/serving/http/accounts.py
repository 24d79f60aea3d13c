"""What may be spent on a day, by all servers of an index together."""

from math import floor, inf

from fathom.index.database import Database
from fathom.runs.ledger import BudgetRefused, Limit
from fathom.runs.reservation import NANO, Charge, CostBound
from fathom.usage import Budget

NO_LIMIT = 1 << 62


class DailyAccount:
    """The account of an owner for one day; see `ledger.Account`.

    Each step is one statement where the others see it too, so that spent + reserved <= cap at every
    instant, however many servers ask. What a server had reserved when it was killed stays
    reserved until the day ends: it may have been spent.
    """

    def __init__(
        self,
        kept: Database,
        owner: str,
        day: str,
        budget: Budget,
        above: "DailyAccount | None" = None,
    ) -> None:
        """Open it; what was spent before counts.

        Args:
            kept: Holds the table `accounts`.
            owner: Whose it is.
            day: Of UTC, as `2026-11-23`.
            budget: Tokens and money.
            above: Whose caps hold too.
        """
        self._kept, self._owner, self._above = kept, (owner, day), above
        self._is_priced = budget.cost_usd is not None
        self._tokens = NO_LIMIT if budget.tokens is None else budget.tokens
        self._nano = NO_LIMIT if budget.cost_usd is None else floor(budget.cost_usd * NANO)
        kept.ask(
            "INSERT INTO accounts(owner, day) VALUES (?, ?) ON CONFLICT DO NOTHING", self._owner
        )

    def left(self) -> dict[Limit, float]:
        """See `Account.left`."""
        [(tokens, nano)] = self._kept.ask(
            "SELECT tokens + reserved_tokens, nano + reserved_nano FROM accounts "
            "WHERE owner = ? AND day = ?",
            self._owner,
        )
        own: dict[Limit, float] = {
            "seconds": inf,
            "calls": inf,
            "tokens": inf if self._tokens == NO_LIMIT else self._tokens - tokens,
            "retrievals": inf,
            "cost_usd": self._nano - nano if self._is_priced else inf,
        }
        above = self._above.left() if self._above else own
        return {limit: min(amount, above[limit]) for limit, amount in own.items()}

    def draw(self, bound: CostBound, amount: Charge) -> None:
        """See `Account.draw`."""
        if self._above is not None:
            self._above.draw(bound, amount)
        try:
            self._draw(amount)
        except BaseException:
            if self._above is not None:
                self._above.book(amount, Charge())
            raise

    def book(self, amount: Charge, spent: Charge) -> None:
        """See `Account.book`."""
        if amount.tokens or amount.nano:
            self._kept.ask(
                "UPDATE accounts SET reserved_tokens = reserved_tokens - ?, "
                "reserved_nano = reserved_nano - ?, tokens = tokens + ?, nano = nano + ? "
                "WHERE owner = ? AND day = ?",
                (amount.tokens, amount.nano, spent.tokens, spent.nano, *self._owner),
            )
        if self._above is not None:
            self._above.book(amount, spent)

    def _draw(self, amount: Charge) -> None:
        if self._is_priced and amount.unpriced:
            raise BudgetRefused("cost_usd", needed=None, left=self.left()["cost_usd"] / NANO)
        if not amount.tokens and not amount.nano:
            return  # as a search
        drawn = self._kept.ask(
            "UPDATE accounts SET reserved_tokens = reserved_tokens + ?, "
            "reserved_nano = reserved_nano + ? WHERE owner = ? AND day = ? "
            "AND tokens + reserved_tokens + ? <= ? AND nano + reserved_nano + ? <= ? RETURNING day",
            (
                *(amount.tokens, amount.nano, *self._owner),
                *(amount.tokens, self._tokens, amount.nano, self._nano),
            ),
        )
        if not drawn:
            left = self.left()
            if amount.tokens > left["tokens"]:
                raise BudgetRefused("tokens", needed=amount.tokens, left=left["tokens"])
            raise BudgetRefused("cost_usd", needed=amount.nano / NANO, left=left["cost_usd"] / NANO)

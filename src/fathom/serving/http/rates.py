"""Request rates of keys, summed over all servers of an index."""

from fathom.index.database import Database

MINUTE_S = 60.0
"""A minute in seconds."""


class Rates:
    """A limiter that lets each key be used a number of times a minute, at once or spread out.

    For each key the table holds the instant at which its whole rate is available again; each use
    delays this instant by one share of a minute. Source: the generic cell rate algorithm (ITU-T
    I.371).
    """

    def __init__(self, database: Database) -> None:
        """Create the limiter. Nothing is opened before it is needed.

        Args:
            database: The database with the table `rates`; all servers use its clock.
        """
        self._database = database
        now = database.clock
        # An instant more than a minute ahead was written by a wrong clock.
        self._unused = f"CASE WHEN until BETWEEN {now} AND {now} + 60 THEN until ELSE {now} END"
        self._take = (
            f"UPDATE rates SET until = {self._unused} + ? WHERE key = ? "  # noqa: S608 - constants
            f"AND {self._unused} <= {now} + 60 - ? RETURNING key"
        )
        self._wait = f"SELECT {self._unused} - {now} FROM rates WHERE key = ?"  # noqa: S608 - constants

    def take(self, key_id: str, per_minute: int) -> float:
        """Use a key once, in one step that no other server can interrupt.

        Returns:
            0 if the key may be used, else the seconds to wait.
        """
        if per_minute < 1:
            return MINUTE_S
        share = MINUTE_S / per_minute
        if self._database.execute(self._take, (share, key_id, share)):
            return 0.0
        rows = self._database.execute(self._wait, (key_id,))
        if not rows:  # the key is used for the first time
            self._database.execute(
                "INSERT INTO rates(key) VALUES (?) ON CONFLICT DO NOTHING", (key_id,)
            )
            return self.take(key_id, per_minute)
        return max(float(rows[0][0]) - MINUTE_S + share, 0.001)

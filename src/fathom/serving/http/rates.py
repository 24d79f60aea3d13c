"""How often each key was used lately, at all servers of an index together."""

from fathom.index.database import Database

MINUTE = 60.0


class Rates:
    """Lets each key be used so many times a minute, all at once or one by one.

    Of a key is kept when it will be as if it had not been used for a minute; each use puts that off
    by its share of a minute. Source: the generic cell rate algorithm (ITU-T I.371).
    """

    def __init__(self, kept: Database) -> None:
        """Nothing is asked before it is needed.

        Args:
            kept: Holds the table `rates`, and has the clock that counts at all servers.
        """
        self._kept = kept
        now = kept.clock
        # What lies further ahead than a minute was noted by a clock that was wrong.
        self._unused = f"CASE WHEN until BETWEEN {now} AND {now} + 60 THEN until ELSE {now} END"
        self._take = (
            f"UPDATE rates SET until = {self._unused} + ? WHERE key = ? "  # noqa: S608 - constants
            f"AND {self._unused} <= {now} + 60 - ? RETURNING key"
        )
        self._wait = f"SELECT {self._unused} - {now} FROM rates WHERE key = ?"  # noqa: S608 - constants

    def take(self, key_id: str, per_minute: int) -> float:
        """Use a key once, in one step that no other server comes between.

        Returns:
            0 if it may be used, else after how many seconds to come again.
        """
        if per_minute < 1:
            return MINUTE
        share = MINUTE / per_minute
        if self._kept.ask(self._take, (share, key_id, share)):
            return 0.0
        rows = self._kept.ask(self._wait, (key_id,))
        if not rows:  # it is used for the first time
            self._kept.ask("INSERT INTO rates(key) VALUES (?) ON CONFLICT DO NOTHING", (key_id,))
            return self.take(key_id, per_minute)
        return max(float(rows[0][0]) - MINUTE + share, 0.001)

"""Which checks of an external monitor notify, and which find that a notification is pending."""

from pipelines.activation.checks import NOT_NECESSARY, NOTIFICATION_PENDING, OCCURS, Checks, Clock


class Notifications:
    """The notifications of one external monitor; none is pending at the start of the window.

    A RECEIVE answers a notification, and else it is pending until it times out. Each depends on the one
    before it, so Python looks at one check after the other.
    """

    def __init__(self, timeout: int, clock: Clock) -> None:
        self._timeout, self._clock = timeout, clock
        self._notified: int | None = None

    def decide(self, checks: Checks) -> Checks:
        """Take apart the timer's checks of which some notify, and say which are suppressed.

        Args:
            checks: in order, as they were found.
        """
        places, firsts, lasts, suppressed = [], [], [], []
        columns = (checks[name].tolist() for name in ("first_check", "last_check", "reason", "is_receive"))
        for place, (first, last, reason, is_receive) in enumerate(zip(*columns, strict=True)):
            if is_receive:
                self._notified = None
            if reason == NOT_NECESSARY:
                places.append(place)
                firsts.append(first)
                lasts.append(last)
                suppressed.append(OCCURS)
                continue
            while first <= last:
                until, suppressed_by = self._look(first, last)
                places.append(place)
                firsts.append(first)
                lasts.append(until)
                suppressed.append(suppressed_by)
                first = until + self._clock.check
        found = checks[places]
        found["first_check"], found["last_check"], found["suppressed_by"] = firsts, lasts, suppressed
        found["checks"] = (found["last_check"] - found["first_check"]) // self._clock.check + 1
        return found

    def _look(self, first: int, last: int) -> tuple[int, int]:
        """The last of the checks that find the same as the first one, and what they find."""
        if self._notified is not None and first - self._notified < self._timeout:
            over = self._clock.at_or_after(self._notified + self._timeout) - self._clock.check
            return max(first, min(last, over)), NOTIFICATION_PENDING
        # Timed out by the next tick: every one of them notifies.
        self._notified = last if self._timeout <= self._clock.check else first
        return self._notified, OCCURS

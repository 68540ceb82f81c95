"""Which calls are timed where some are: what hotpath.h does by chance follows from the number of calls."""


def until_timed(calls, period):
    """As hotpath_until_timed_ of hotpath.h: calls up to the next one that is timed, after so many on this path."""
    mixed = calls * 0x9e3779b1 % 2 ** 32
    mixed = (mixed ^ mixed >> 15) * 0x85ebca77 % 2 ** 32
    mixed ^= mixed >> 13
    half = 0 if period >= 2 ** 31 else period // 2
    return period - half + (mixed * (2 * half + 1) >> 32)


class Countdown:
    """Which calls of a site are timed on one thread: the first on each path, and then one in so many on average."""

    def __init__(self, period):
        self.period, self.left, self.calls, self.timed = period, 1, {}, 0

    def call(self, path=""):
        if path not in self.calls:
            self.left = 1
        before = self.calls.get(path, 0)
        self.calls[path] = before + 1
        self.left -= 1
        if self.left > 0:
            return False
        self.timed += 1
        self.left = until_timed(before, self.period)
        return True


def timed_of(count, period):
    """Those of so many calls on one path that are timed."""
    countdown = Countdown(period)
    return [at for at in range(count) if countdown.call()]

"""Which calls are timed when calls are sampled: the random choice in hotpath/inline.h follows from the number of
calls."""


def until_timed(calls, period):
    """As hotpath_until_timed_ of hotpath/inline.h: calls up to the next timed one, after this many on this path."""
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
    """How many of the calls on one path are timed."""
    countdown = Countdown(period)
    return [at for at in range(count) if countdown.call()]

"""What all measurements share: their result, their errors, and how often they are repeated."""

import time
from dataclasses import dataclass, field

from prediction import Score


class PeersError(Exception):
    """A failure that is told in a line."""


class NotHere(PeersError):
    """What would be measured does not exist on this machine."""


@dataclass
class Measured:
    """What came of one contestant on one clip."""

    # Seconds a frame, one direction, everything that it needs to get from luma to vectors.
    seconds: float
    # Prediction by whole-sample vectors of whole blocks.
    blocks: Score
    # How much of a core it got meanwhile, 1 for all of it; less means that others disturbed a measurement on
    # one core.
    share: float
    # Prediction by a vector a sample; None for those that have none.
    dense: Score | None = None
    # What the contestant itself says of its parts, in seconds a frame.
    stages: dict = field(default_factory=dict)
    device: str = ""


class Stopwatch:
    """Sums up the time of the `with` blocks it is used in."""

    def __init__(self):
        self.seconds = 0.0
        self.cpu_seconds = 0.0

    def __enter__(self):
        self.began = time.perf_counter(), time.process_time()

    def __exit__(self, *_):
        self.seconds += time.perf_counter() - self.began[0]
        self.cpu_seconds += time.process_time() - self.began[1]

    @property
    def share(self):
        """How much of a core this process had in that time."""
        return self.cpu_seconds / self.seconds


def repeat(one_pass, least_seconds):
    """Calls `one_pass` until `least_seconds` have been spent: what it returned first, and how often it was
    called. That is three times at least, but once only where that alone takes as long."""
    began = time.perf_counter()
    first, count = one_pass(), 1
    while time.perf_counter() - began < least_seconds or count == 2:
        one_pass()
        count += 1
    return first, count

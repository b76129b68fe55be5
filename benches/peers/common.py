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

    # Seconds a picture, one direction, everything that it needs to get from luma to vectors.
    seconds: float
    # Prediction by whole-sample vectors of whole blocks.
    blocks: Score
    # How much of a core it got meanwhile, 1 for all of it; less means that others disturbed a measurement on
    # one core.
    share: float
    # Prediction by a vector a sample; None for those that have none.
    dense: Score | None = None
    # What the contestant itself says of its parts, in seconds a picture.
    stages: dict = field(default_factory=dict)
    device: str = ""


def repeat(one_pass, least_seconds):
    """Calls `one_pass` until `least_seconds` have been spent: what it returned each time, and the share of
    a core that it got.

    It is called three times at least, but once only where that alone takes as long.
    """
    results = []
    began, began_cpu = time.perf_counter(), time.process_time()
    while True:
        results.append(one_pass())
        spent = time.perf_counter() - began
        if spent >= least_seconds and (len(results) >= 3 or len(results) == 1):
            return results, (time.process_time() - began_cpu) / spent

"""Shared by all measurements: result, errors, progress, stopwatch and repetition."""

import sys
import time
from dataclasses import dataclass, field

from prediction import Score


class PeersError(Exception):
    """A failure that is reported as one line."""


class NotHere(PeersError):
    """The device or library to be measured does not exist on this machine."""


def progress(words):
    """Prints a progress line; on a terminal the next one overwrites it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)
    elif words:
        print(words, file=sys.stderr, flush=True)


@dataclass
class Measured:
    """The result of one contestant on one clip."""

    # Seconds per frame and direction, from luma to vectors.
    seconds: float
    # Prediction by whole-sample vectors of whole blocks.
    blocks: Score
    # CPU time divided by wall-clock time. Less than 1 on one core means that other processes ran on it.
    share: float
    # Prediction by one vector a sample; None if the contestant has only block vectors.
    dense: Score | None = None
    # Seconds per frame and stage, from the contestant's own statistics.
    stages: dict = field(default_factory=dict)
    device: str = ""


class Stopwatch:
    """Sums the time of the `with` blocks in which it is used."""

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
        """CPU time of this process divided by wall-clock time."""
        return self.cpu_seconds / self.seconds


def repeat(one_pass, least_seconds):
    """Calls `one_pass` until `least_seconds` have passed: at least three times, or once if the first call
    takes that long. Returns the result of the first call and the number of calls."""
    began = time.perf_counter()
    first, count = one_pass(), 1
    while time.perf_counter() - began < least_seconds or count == 2:
        one_pass()
        count += 1
    return first, count

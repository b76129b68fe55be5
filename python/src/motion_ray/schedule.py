"""Which worker searches which range next: arithmetic without Ray, which the simulation uses as well.

A video is cut at key frames into *parts*, the shortest ranges. A worker gets a *span* of successive parts. Its first
one is a single part, by which its speed is measured. Its share is then what it can search until all workers end at the
same time. It gets half of that (factoring: Hummel, Schonberg and Flynn, 1992), so that spans are long in the beginning
and short in the end; all of it, when half would be so short that the start of the program counts. When nothing is left,
idle workers search again what is late. Nothing is searched more than twice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

#: How often a range is searched at most: again after a failure, or beside a worker that is late.
ATTEMPTS = 2

#: A worker gets half of its share if that takes at least this many times the start-up of the program, ...
HALF = 20.0

#: ... otherwise all of it, but at least what takes this many times the start-up, ...
SHORTEST = 8.0

#: ... and at most what takes this many seconds, so that little is lost with a worker.
LONGEST = 60.0


@dataclass(frozen=True)
class Span:
    """The parts ``first`` to ``end``, exclusive, of a video."""

    video: str
    first: int
    end: int


@dataclass(frozen=True)
class Attempt:
    """A span on a worker since a time."""

    number: int
    span: Span
    worker: str
    began: float


@dataclass
class Speed:
    """Seconds of video that a worker searches in a second, and how long the program takes to start."""

    rate: float
    start_up: float

    def time(self, seconds: float) -> float:
        """How long it takes for ``seconds`` of video."""
        return self.start_up + seconds / self.rate


@dataclass
class _Waiting:
    """A span that waits, how often it was searched, and the nodes where it failed."""

    span: Span
    attempts: int = 0
    avoid: frozenset[str] = frozenset()


@dataclass
class _Running:
    """A span that is searched by one worker or by two at once."""

    waiting: _Waiting
    attempts: list[Attempt] = field(default_factory=list)


class Schedule:
    """The spans of all videos. Times are seconds of any clock."""

    def __init__(self) -> None:
        # When each part of a video begins, and when the last one ends.
        self._times: dict[str, list[float]] = {}
        self._waiting: list[_Waiting] = []
        self._running: dict[Span, _Running] = {}
        self._attempts: dict[int, Attempt] = {}
        self._nodes: dict[str, str] = {}
        # Of each worker that has searched a video, and the sums of each video.
        self._speeds: dict[str, dict[str, Speed]] = {}
        self._sums: dict[str, tuple[int, float, float]] = {}
        self._numbers = 0

    def add_video(self, video: str, parts: Sequence[float], spans: Iterable[Span]) -> None:
        """Adds a video with the durations of its parts, of which ``spans`` are to be searched."""
        self._times[video] = list(accumulate(parts, initial=0.0))
        self._waiting += [_Waiting(span) for span in spans]

    def drop_video(self, video: str) -> list[Attempt]:
        """Forgets what is to be done of a video; returns the attempts at it."""
        self._waiting = [waiting for waiting in self._waiting if waiting.span.video != video]
        self._running = {span: running for span, running in self._running.items() if span.video != video}
        return [attempt for attempt in self._attempts.values() if attempt.span.video == video]

    def add_worker(self, worker: str, node: str) -> None:
        """Adds an idle worker of a node."""
        self._nodes[worker] = node

    def remove_worker(self, worker: str) -> None:
        """Takes a worker away; what it searches fails separately."""
        self._nodes.pop(worker, None)
        for video in list(self._speeds.get(worker, {})):
            self._set_speed(worker, video, None)

    def seconds(self, span: Span) -> float:
        """The duration of a span."""
        times = self._times[span.video]
        return times[span.end] - times[span.first]

    def left(self, video: str) -> bool:
        """Whether anything of ``video`` waits or is searched."""
        running = any(span.video == video for span in self._running)
        return running or any(waiting.span.video == video for waiting in self._waiting)

    def waits(self) -> bool:
        """Whether any span waits for a worker."""
        return bool(self._waiting)

    def take(self, worker: str, now: float) -> Attempt | None:
        """The next span for an idle worker, if there is one for it."""
        node = self._nodes[worker]
        nodes = set(self._nodes.values())
        for index, waiting in enumerate(self._waiting):
            if node in waiting.avoid and not nodes <= waiting.avoid:
                continue
            span = self._cut(waiting.span, worker, now)
            if span.end < waiting.span.end:
                rest = Span(span.video, span.end, waiting.span.end)
                self._waiting[index] = _Waiting(rest, waiting.attempts, waiting.avoid)
            else:
                del self._waiting[index]
            return self._begin(_Running(_Waiting(span, waiting.attempts, waiting.avoid)), worker, now)
        late = self._late(worker, now)
        return self._begin(late, worker, now) if late else None

    def needs(self, attempt: Attempt) -> bool:
        """Whether the span of an attempt is neither searched by another one meanwhile nor dropped."""
        running = self._running.get(attempt.span)
        return running is not None and attempt in running.attempts

    def done(self, attempt: Attempt, start_up: float, taken: float) -> list[Attempt]:
        """An attempt has succeeded; the search has taken ``taken`` seconds after ``start_up`` seconds. Returns the attempt
        at the same span that is not needed any more, if there is one."""
        speed = Speed(self.seconds(attempt.span) / max(taken, 1e-3), start_up)
        if old := self._speed(attempt.worker, attempt.span.video):
            speed = Speed((old.rate + speed.rate) / 2, (old.start_up + speed.start_up) / 2)
        if attempt.worker in self._nodes:
            self._set_speed(attempt.worker, attempt.span.video, speed)
        self._attempts.pop(attempt.number, None)
        running = self._running.pop(attempt.span, None)
        return [other for other in running.attempts if other != attempt] if running else []

    def fail(self, attempt: Attempt, node: str, *, searched: bool, final: bool = False) -> bool:
        """An attempt on ``node`` has failed. Unless ``searched``, it does not count. Returns whether the span has failed
        for good: because it was tried often enough, or it is ``final``."""
        self._attempts.pop(attempt.number, None)
        if not self.needs(attempt):
            return False
        running = self._running[attempt.span]
        running.attempts.remove(attempt)
        waiting = running.waiting
        waiting.avoid |= {node}
        if not searched:
            waiting.attempts -= 1
        if running.attempts and not final:
            return False
        del self._running[attempt.span]
        if final or waiting.attempts >= ATTEMPTS:
            return True
        self._waiting.insert(0, waiting)
        return False

    def _begin(self, running: _Running, worker: str, now: float) -> Attempt:
        self._numbers += 1
        attempt = Attempt(self._numbers, running.waiting.span, worker, now)
        running.waiting.attempts += 1
        running.attempts.append(attempt)
        self._running[attempt.span] = running
        self._attempts[attempt.number] = attempt
        return attempt

    def _cut(self, span: Span, worker: str, now: float) -> Span:
        """The beginning of ``span`` that ``worker`` gets."""
        speed = self._speed(worker, span.video)
        end = span.first + 1
        if speed:
            rates = self._mean(span.video, speed).rate * len(self._nodes)
            share = self._seconds_left(now) / rates * speed.rate
            start_up = speed.start_up * speed.rate
            wanted = share / 2 if share / 2 >= HALF * start_up else max(share, SHORTEST * start_up)
            wanted = min(wanted, LONGEST * speed.rate)
            times = self._times[span.video]
            # The last part that ends in time.
            end = max(end, bisect_right(times, times[span.first] + wanted, end, span.end + 1) - 1)
        return Span(span.video, span.first, end)

    def _seconds_left(self, now: float) -> float:
        """The seconds of video that wait, and about those that are being searched."""
        left = sum(self.seconds(waiting.span) for waiting in self._waiting)
        for running in self._running.values():
            attempt = running.attempts[0]
            speed = self._speed(attempt.worker, attempt.span.video)
            done = max(now - attempt.began - speed.start_up, 0.0) * speed.rate if speed else 0.0
            left += max(self.seconds(attempt.span) - done, 0.0)
        return left

    def _speed(self, worker: str, video: str) -> Speed | None:
        return self._speeds.get(worker, {}).get(video)

    def _set_speed(self, worker: str, video: str, speed: Speed | None) -> None:
        count, rate, start_up = self._sums.get(video, (0, 0.0, 0.0))
        speeds = self._speeds.setdefault(worker, {})
        if old := speeds.pop(video, None):
            count, rate, start_up = count - 1, rate - old.rate, start_up - old.start_up
        if speed:
            speeds[video] = speed
            count, rate, start_up = count + 1, rate + speed.rate, start_up + speed.start_up
        self._sums[video] = (count, rate, start_up)

    def _mean(self, video: str, default: Speed) -> Speed:
        """The mean speed of the workers that have searched ``video``."""
        count, rate, start_up = self._sums.get(video, (0, 0.0, 0.0))
        return Speed(rate / count, start_up / count) if count else default

    def _late(self, worker: str, now: float) -> _Running | None:
        """The span that is expected last, if ``worker`` is expected to end it before."""

        def left(attempt: Attempt) -> float:
            elapsed = now - attempt.began
            speed = self._speed(attempt.worker, attempt.span.video)
            # Of one that should have ended, or of which nothing is known, half is expected to be done.
            rest = speed.time(self.seconds(attempt.span)) - elapsed if speed else elapsed
            return rest if rest > 0 else elapsed

        found: tuple[float, _Running] | None = None
        for running in self._running.values():
            waiting = running.waiting
            if len(running.attempts) != 1 or waiting.attempts >= ATTEMPTS or self._nodes[worker] in waiting.avoid:
                continue
            # Where no speed is known, a span takes as long as the longest one.
            seconds = self.seconds(waiting.span)
            mine = self._speed(worker, waiting.span.video)
            mine = mine or self._mean(waiting.span.video, Speed(seconds / LONGEST, 0.0))
            rest = left(running.attempts[0])
            if mine.time(seconds) < rest and (found is None or found[0] < rest):
                found = (rest, running)
        return found[1] if found else None

"""How long a day of video takes on many workers: the schedule of the driver with a clock that is computed.

``python -m motion_ray.simulation`` prints a table. Its defaults are those of docs/how/ranges.md, which says how they were
measured.
"""

from __future__ import annotations

import argparse
import heapq
import random
from dataclasses import dataclass

from motion_ray.schedule import Attempt, Schedule, Span


@dataclass(frozen=True)
class Model:
    """What a run is made of. Times in seconds, rates in a second."""

    video: float = 86400.0
    frame_rate: float = 25.0
    part: float = 10.0
    #: Frames that a worker searches.
    rate: float = 500.0
    #: The standard deviation of the logarithm of the workers' rates.
    spread: float = 0.2
    #: The share of workers that are four times as slow.
    slow: float = 0.02
    #: The program's start, from the call to the first frame of its range.
    start_up: float = 0.5
    #: What the driver needs for a range; it does it for one range after the other.
    dispatch: float = 0.002
    #: The mean time until a worker is lost; another one takes its place at once.
    lifetime: float = 86400.0
    #: Bytes of the video, and of the vectors, in a second of video.
    video_bytes: float = 500e3
    vector_bytes: float = 722e3
    #: Bytes that one process plans or joins.
    plan: float = 1e9
    join: float = 600e6
    #: Bytes that the shared storage reads and writes for all workers together.
    storage: float = 5e9


@dataclass(frozen=True)
class Outcome:
    """What came out: times of the three steps, that of the search if it were divided among equal workers and nothing else
    took time, the ranges, and the share of the video that was searched twice."""

    plan: float
    search: float
    join: float
    ideal: float
    ranges: int
    twice: float

    @property
    def total(self) -> float:
        return self.plan + self.search + self.join


def simulate(model: Model, count: int, seed: int) -> Outcome:
    """A run with ``count`` workers."""
    chance = random.Random(seed)
    parts = round(model.video / model.part)
    schedule = Schedule()
    schedule.add_video("v", [model.part] * parts, [Span("v", 0, parts)])
    rates: dict[str, float] = {}
    dies: dict[str, float] = {}

    def join(now: float) -> str:
        name = f"w{len(dies)}"
        slow = 4.0 if chance.random() < model.slow else 1.0
        rate = model.rate / model.frame_rate * chance.lognormvariate(0.0, model.spread) / slow
        rates[name] = min(rate, model.storage / count / (model.video_bytes + model.vector_bytes))
        dies[name] = now + chance.expovariate(1 / model.lifetime)
        schedule.add_worker(name, name)
        return name

    idle = [join(0.0) for _ in range(count)]
    ideal = model.video * model.frame_rate / model.rate / count
    ends: list[tuple[float, int, Attempt, bool]] = []
    cancelled: set[int] = set()
    now = driver_free = searched = 0.0
    ranges = 0
    while True:
        # The fastest first: when nothing waits and it gets nothing, no other one gets anything.
        idle.sort(key=rates.__getitem__)
        skipped: list[str] = []
        while idle:
            name = idle.pop()
            attempt = schedule.take(name, now)
            if attempt is None:
                skipped.append(name)
                if schedule.waits():
                    continue
                break
            driver_free = max(now, driver_free) + model.dispatch
            end = driver_free + model.start_up + schedule.seconds(attempt.span) / rates[name]
            lost = dies[name] < end
            heapq.heappush(ends, (dies[name] if lost else end, attempt.number, attempt, lost))
            ranges += 1
            searched += schedule.seconds(attempt.span)
        idle += skipped
        if not schedule.left("v"):
            break
        now, _, attempt, lost = heapq.heappop(ends)
        if attempt.number in cancelled:
            continue
        if lost:
            schedule.remove_worker(attempt.worker)
            if schedule.fail(attempt, attempt.worker, searched=True):
                raise RuntimeError(f"{attempt.span} was lost twice: start the driver again")
            idle.append(join(now))
            continue
        idle.append(attempt.worker)
        for other in schedule.done(attempt, model.start_up, schedule.seconds(attempt.span) / rates[attempt.worker]):
            cancelled.add(other.number)
            schedule.fail(other, other.worker, searched=True)
            idle.append(other.worker)
    plan = model.video * model.video_bytes / min(model.plan, model.storage)
    # Each byte is read and written.
    joining = model.video * model.vector_bytes / min(model.join, model.storage / 2)
    return Outcome(plan, now, joining, ideal, ranges, searched / model.video - 1)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m motion_ray.simulation", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--seed", type=int, default=1)
    defaults = Model()
    for name, value in defaults.__dict__.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=value, help="default: %(default)s")
    options = parser.parse_args()
    model = Model(**{name: getattr(options, name) for name in defaults.__dict__})
    print("| workers | plan s | search s | join s | all s | search alone s | speed-up | ranges | twice |")
    print("|---|---|---|---|---|---|---|---|---|")
    one = model.video * model.frame_rate / model.rate
    for count in options.workers:
        out = simulate(model, count, options.seed)
        print(
            f"| {count} | {out.plan:.0f} | {out.search:.0f} | {out.join:.0f} | {out.total:.0f} | {out.ideal:.0f} "
            f"| {one / out.total:.1f} | {out.ranges} | {100 * out.twice:.1f} % |"
        )


if __name__ == "__main__":
    main()

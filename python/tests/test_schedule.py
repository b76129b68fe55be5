"""Which span a worker gets, without Ray."""

from __future__ import annotations

import random

import pytest

from motion_ray.schedule import ATTEMPTS, LONGEST, Attempt, Schedule, Span


def schedule(parts: int, workers: int, nodes: int) -> Schedule:
    """A video of ``parts`` parts of 10 s, and workers on nodes in turn."""
    made = Schedule()
    made.add_video("v", [10.0] * parts, [Span("v", 0, parts)])
    for index in range(workers):
        made.add_worker(f"w{index}", f"n{index % nodes}")
    return made


def take(made: Schedule, worker: str, now: float) -> Attempt:
    attempt = made.take(worker, now)
    assert attempt is not None
    return attempt


@pytest.mark.parametrize("seed", range(50))
def test_everything_is_searched_whatever_fails(seed: int) -> None:
    """Workers of random speeds; some attempts fail, some workers leave and others join."""
    chance = random.Random(seed)
    made = schedule(200, 6, 3)
    running: dict[str, tuple[float, Attempt]] = {}
    workers = {f"w{index}": f"n{index % 3}" for index in range(6)}
    rates = {name: chance.uniform(1, 20) for name in workers}
    counts, done, lost, now = [0] * 200, [0] * 200, 0, 0.0
    while made.left("v"):
        for name in workers.keys() - running.keys():
            if attempt := made.take(name, now):
                running[name] = (now + 0.5 + made.seconds(attempt.span) / rates[name], attempt)
                for part in range(attempt.span.first, attempt.span.end):
                    counts[part] += 1
        name, (now, attempt) = min(running.items(), key=lambda item: item[1][0])
        del running[name]
        span = attempt.span
        if lost < 20 and chance.random() < 0.3 and all(counts[part] == 1 for part in range(span.first, span.end)):
            lost += 1
            assert not made.fail(attempt, workers[name], searched=True)
            if len(workers) > 2 and chance.random() < 0.5:
                made.remove_worker(name)
                del workers[name]
                new = f"new{lost}"
                workers[new], rates[new] = f"node{lost}", chance.uniform(1, 20)
                made.add_worker(new, workers[new])
            continue
        for part in range(span.first, span.end):
            done[part] += 1
        for other in made.done(attempt, 0.5, made.seconds(span) / rates[name]):
            running = {name: it for name, it in running.items() if it[1] != other}
            assert not made.fail(other, "", searched=True)
    assert done == [1] * 200
    assert max(counts) <= ATTEMPTS
    assert lost > 0


def test_spans_get_shorter_to_the_end() -> None:
    made = schedule(100, 2, 2)
    lengths, ends, now = [], {"w0": 0.0, "w1": 0.0}, 0.0
    attempts: dict[str, Attempt] = {}
    while made.waits():
        worker = min(ends, key=lambda name: ends[name])
        now = ends[worker]
        if worker in attempts:
            made.done(attempts[worker], 0.1, made.seconds(attempts[worker].span) / 40)
        attempts[worker] = take(made, worker, now)
        lengths.append(attempts[worker].span.end - attempts[worker].span.first)
        ends[worker] = now + 0.1 + made.seconds(attempts[worker].span) / 40
    # The first ones measure the speed; the next ones get shorter, until half a share takes too little time.
    assert lengths[:2] == [1, 1]
    assert max(lengths) == lengths[2] == 24 and len(lengths) <= 12
    assert lengths[2:5] == sorted(lengths[2:5], reverse=True)
    # Both end at about the same time: within what a part takes.
    assert abs(ends["w0"] - ends["w1"]) <= 0.5


def test_a_span_is_not_longer_than_what_may_be_lost_and_takes_longer_than_the_start() -> None:
    made = schedule(10_000, 1, 1)
    made.done(take(made, "w0", 0.0), 1.0, 1.0)
    assert made.seconds(take(made, "w0", 2.0).span) == 10 * LONGEST
    made = schedule(100, 100, 1)
    made.done(take(made, "w0", 0.0), 1.0, 1.0)
    assert made.seconds(take(made, "w0", 2.0).span) == 80, "eight times the start-up at ten seconds a second"


def test_a_failed_span_is_tried_once_more_elsewhere() -> None:
    made = schedule(1, 2, 2)
    first = take(made, "w0", 0.0)
    assert not made.fail(first, "n0", searched=True)
    assert made.take("w0", 1.0) is None, "it has failed on this node"
    second = take(made, "w1", 1.0)
    assert made.left("v")
    assert made.fail(second, "n1", searched=True)
    assert not made.left("v") and made.take("w0", 2.0) is None

    # Where there is no other node, on the same one.
    made = schedule(1, 1, 1)
    assert not made.fail(take(made, "w0", 0.0), "n0", searched=True)
    assert made.fail(take(made, "w0", 1.0), "n0", searched=True)

    # What has not been searched does not count; what is hopeless is not tried again.
    made = schedule(1, 1, 1)
    for _ in range(5):
        assert not made.fail(take(made, "w0", 0.0), "n0", searched=False)
    assert made.fail(take(made, "w0", 0.0), "n0", searched=True, final=True)


def test_what_is_late_is_searched_by_another_worker_too() -> None:
    made = schedule(5, 2, 2)
    stuck = take(made, "w0", 0.0)
    for part in range(4):
        made.done(take(made, "w1", float(part)), 0.1, 0.9)
        if not made.waits():
            break
    assert not made.waits()
    copy = take(made, "w1", 60.0)
    assert copy.span == stuck.span
    assert made.take("w1", 120.0) is None, "not more than twice"
    assert made.done(copy, 0.1, 0.9) == [stuck]
    assert not made.left("v")
    assert not made.fail(stuck, "n0", searched=True)


def test_the_failure_of_one_of_two_is_none() -> None:
    made = schedule(2, 2, 2)
    stuck = take(made, "w0", 0.0)
    made.done(take(made, "w1", 0.0), 0.1, 0.9)
    copy = take(made, "w1", 60.0)
    assert not made.fail(copy, "n1", searched=True)
    assert made.left("v")
    assert made.fail(stuck, "n0", searched=True), "both have failed"


def test_a_dropped_video_is_forgotten() -> None:
    made = schedule(3, 1, 1)
    attempt = take(made, "w0", 0.0)
    assert made.drop_video("v") == [attempt]
    assert not made.waits() and not made.left("v")
    assert not made.fail(attempt, "n0", searched=True)
    assert made.take("w0", 1.0) is None

"""Gives the ranges of videos to the workers of a Ray cluster, as tasks, and joins what they wrote."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import NodeDiedError, RayError, RayTaskError, TaskUnschedulableError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from motion_ray import worker as remote
from motion_ray.dashboard import Dashboard, Line
from motion_ray.job import Identity, Job, JobError
from motion_ray.nodes import Worker, workers
from motion_ray.schedule import ATTEMPTS, Attempt, Schedule
from motion_ray.worker import UNFIT, Outcome

#: The exit codes of ``motion-vectors`` after which a second try is no use: wrong arguments.
_HOPELESS = {2}

#: After so many ranges have failed, the other ranges of a video are not tried.
_GIVE_UP = 3

#: The longest time in which a cluster accepts a connection, in seconds.
_LONGEST_ANSWER = 10.0

#: Between two looks at the nodes of the cluster, in seconds.
_LOOK = 1.0


@dataclass(frozen=True)
class Options:
    """How to search. ``properties`` are those of ``motionestimate``, such as ``algorithm=three-step``, except ``device``
    and ``threads``, which each worker has for itself. ValueError for what makes no sense."""

    properties: Sequence[str] = ()
    zstd: bool = False
    address: str | None = None
    program: str = "motion-vectors"
    cores: int = 4
    gpu_device: str = "gpu"
    resource: str | None = None
    shortest: float = 10.0
    wait: float = 60.0

    def __post_init__(self) -> None:
        for word in self.properties:
            if word.partition("=")[0] in ("device", "threads"):
                raise ValueError(f"{word}: each worker has its own device and threads")
        if self.cores < 1 or self.shortest <= 0:
            raise ValueError("cores and shortest must be positive")


@dataclass
class VideoResult:
    """What became of a video. It has failed if there are ``failures``; each names what has failed and why."""

    video: Path
    out: Path | None = None
    frames: int = 0
    ranges: int = 0
    kept: bool = False
    failures: list[str] = field(default_factory=list)


def search(
    videos: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    options: Options = Options(),
    dashboard: Dashboard | None = None,
) -> list[VideoResult]:
    """Searches ``videos`` into the folder ``out``, which all nodes see, as they see the videos, under the same paths.

    What is there already is not searched again. Uses the Ray of this process, or that of ``options.address``, or starts
    one on this machine.

    Raises:
        OSError: if ``out`` cannot be written, ``motion-vectors`` does not run here, or Ray cannot be used.
    """
    if os.sep in options.program:
        options = replace(options, program=os.path.abspath(options.program))
    folder = Path(out).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        version = remote.version(options.program)
    except (OSError, subprocess.CalledProcessError) as error:
        why = error.strerror if isinstance(error, OSError) else f"it ends with code {error.returncode}"
        raise OSError(
            f"{options.program} does not run: {why}: install motion-vectors, or name it by --program"
        ) from None
    with _alone(folder), connected(options):
        run = _Run(folder, options, version, dashboard or Dashboard(quiet=True))
        return run.run([Path(video).absolute() for video in videos])


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other run of this program writes to ``folder`` meanwhile."""
    with (folder / ".motion_ray.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"another motion_ray writes to {folder}") from None
        yield


@contextlib.contextmanager
def connected(options: Options) -> Iterator[None]:
    """Uses the Ray of this process; without one, connects to that of ``options.address`` or starts one."""
    if ray.is_initialized():
        yield
        return
    # Without an address Ray would take one from the environment, or a cluster that runs here.
    address = options.address or "local"
    dashboard = None if options.address else False
    _check(address)
    try:
        ray.init(address=address, log_to_driver=False, include_dashboard=dashboard, logging_level=logging.ERROR)
    except (RayError, RuntimeError) as error:
        # Among others: there is no token, or the cluster has another version of Ray.
        raise OSError(" ".join(str(error).split())) from error
    try:
        yield
    finally:
        ray.shutdown()


def _check(address: str) -> None:
    """Whether something answers at an address HOST:PORT: Ray tries for minutes, and tells what it does meanwhile."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        try:
            socket.create_connection((host.strip("[]"), int(port)), _LONGEST_ANSWER).close()
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise OSError(f"no Ray answers at {address}: {why}") from None


@dataclass
class _Step:
    """What is to be done of a video before its search or after it."""

    job: Job
    is_join: bool
    tries: int = 0


class _Run:
    """One call of `search`."""

    def __init__(self, folder: Path, options: Options, version: str, dashboard: Dashboard) -> None:
        # Nodes then need no installation of this package.
        ray.cloudpickle.register_pickle_by_value(remote)  # type: ignore[no-untyped-call]
        self.folder, self.options, self.version, self.dashboard = folder, options, version, dashboard
        self.call = ray.remote(max_retries=0)(remote.call)
        self.schedule = Schedule()
        self.jobs: dict[str, Job] = {}
        self.results: dict[str, VideoResult] = {}
        self.workers: dict[str, Worker] = {}
        self.idle: set[str] = set()
        self.turn = 0
        # Nodes that are lost, which Ray may tell later; one that comes back has another identity.
        self.dead: set[str] = set()
        # Nodes that cannot search, with the reason.
        self.unfit: dict[str, str] = {}
        self.tasks: dict[Any, Any] = {}
        self.steps: list[_Step] = []
        self.steps_running = 0
        # When the nodes were looked at, and the look after which idle workers were asked about what is late.
        self.looked = self.asked = 0.0
        self.alive_at = time.monotonic()

    def run(self, videos: Sequence[Path]) -> list[VideoResult]:
        for video in videos:
            self._add(video)
        while self.steps or self.tasks or self.schedule.waits():
            self._look_at_nodes()
            self._start()
            if not self._is_possible():
                break
            self._collect()
            self.dashboard.show()
            if not self.steps and not self.steps_running and not any(map(self.schedule.left, self.jobs)):
                # What still runs was cancelled.
                break
        self.dashboard.end()
        return list(self.results.values())

    def _add(self, video: Path) -> None:
        result = VideoResult(video)
        if video.name in self.results:
            self.results[str(video)] = result
            result.failures.append("another video has the same name: search it into another folder")
            return
        self.results[video.name] = result
        try:
            properties = tuple(sorted(self.options.properties))
            size = video.stat().st_size
            identity = Identity(video.name, size, self.version, properties, self.options.zstd)
            job = Job(video, identity, self.folder)
            if record := job.finished():
                result.out, result.kept = job.out, True
                result.frames, result.ranges = record["frames"], record["ranges"]
                return
            self.jobs[job.name] = job
            if job.load_plan():
                self._plan_ready(job)
            else:
                self.steps.append(_Step(job, is_join=False))
        except (OSError, JobError) as error:
            self._fail(video.name, reason(error))

    def _plan_ready(self, job: Job) -> None:
        self.schedule.add_video(job.name, job.parts, job.gaps())
        self._check_end(job.name)

    def _look_at_nodes(self) -> None:
        now = time.monotonic()
        if now - self.looked < _LOOK:
            return
        self.looked = now
        found = {
            worker.name: worker
            for node in _nodes()
            if node["NodeID"] not in self.unfit and node["NodeID"] not in self.dead
            for worker in workers(node, self.options.cores, self.options.resource)
        }
        for name in self.workers.keys() - found.keys():
            self._remove(name)
        for name in found.keys() - self.workers.keys():
            self.workers[name] = found[name]
            self.schedule.add_worker(name, found[name].node)
            self.idle.add(name)
            self.dashboard.lines[name] = Line()

    def _remove(self, name: str) -> None:
        del self.workers[name]
        self.schedule.remove_worker(name)
        self.idle.discard(name)
        self.dashboard.lines.pop(name, None)

    def _start(self) -> None:
        while self.steps and self.steps_running < len(self.workers):
            self._start_step(self.steps.pop(0))
        if not self.schedule.waits() and self.asked == self.looked:
            # Whether something is late need not be known at once.
            return
        self.asked = self.looked
        for name in sorted(self.idle):
            attempt = self.schedule.take(name, time.monotonic())
            if attempt is None:
                continue
            job, worker = self.jobs[attempt.span.video], self.workers[name]
            arguments = [str(job.video), "--range", job.range(attempt.span), "--out", str(job.piece(attempt.span))]
            arguments += ["--json", "--quiet", *(["--zstd"] if self.options.zstd else []), *self.options.properties]
            arguments += worker.properties(self.options.gpu_device)
            node = NodeAffinitySchedulingStrategy(worker.node, soft=False)
            call = self.call.options(name=f"search {job.name}", scheduling_strategy=node, **worker.resources())
            pieces = str(job.pieces)
            needed = {str(job.video): job.identity.bytes, pieces: None}
            task = call.remote(self.options.program, self.version, needed, pieces, arguments)
            self.tasks[task] = partial(self._searched, attempt, worker)
            self.idle.discard(name)
            self.dashboard.lines[name].at = f"{job.name} {job.range(attempt.span)}"

    def _start_step(self, step: _Step) -> None:
        """Plans or joins, on one node after the other. It reads and writes files, and takes no core from the search."""
        job = step.job
        folder, arguments = self.folder, [str(job.video), "--plan", f"{self.options.shortest:f}s"]
        if step.is_join:
            try:
                # Short names: there may be thousands.
                names = [f"./{job.piece(span).name}" for span in job.done()]
                folder, arguments = job.pieces, ["--join", *names, "--out", str(job.out)]
            except JobError as error:
                self._fail(job.name, str(error))
                return
            arguments += ["--zstd"] if self.options.zstd else []
        worker = self.workers[sorted(self.workers)[self.turn % len(self.workers)]]
        self.turn += 1
        node = NodeAffinitySchedulingStrategy(worker.node, soft=False)
        name = f"{'join' if step.is_join else 'plan'} {job.name}"
        call = self.call.options(name=name, num_cpus=0, scheduling_strategy=node)
        needed: dict[str, int | None] = {str(job.video): job.identity.bytes, str(folder): None}
        arguments += ["--json", "--quiet"]
        task = call.remote(self.options.program, self.version, needed, str(folder), arguments)
        self.tasks[task] = partial(self._stepped, step, worker)
        self.steps_running += 1

    def _is_possible(self) -> bool:
        """Whether there are workers, or may be soon."""
        now = time.monotonic()
        if self.workers or self.steps_running:
            self.alive_at = now
            return True
        if now - self.alive_at < self.options.wait and not self._all_unfit():
            return True
        reasons = "; ".join(dict.fromkeys(self.unfit.values()))
        for name in self.jobs:
            if self.schedule.left(name) or any(step.job.name == name for step in self.steps):
                self._fail(name, f"no worker is left{': ' + reasons if reasons else ''}")
        return False

    def _all_unfit(self) -> bool:
        nodes = [node for node in _nodes() if workers(node, self.options.cores, self.options.resource)]
        return bool(nodes) and all(node["NodeID"] in self.unfit for node in nodes)

    def _collect(self) -> None:
        """Waits until a task ends, or for a while."""
        if not self.tasks:
            time.sleep(_LOOK / 4)
            return
        refs = list(self.tasks)
        ray.wait(refs, num_returns=1, timeout=_LOOK / 4)
        ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0)
        for ref in ready:
            then = self.tasks.pop(ref)
            try:
                outcome: Outcome | RayError = ray.get(ref)
            except RayError as error:
                outcome = error
            then(outcome)

    def _searched(self, attempt: Attempt, worker: Worker, outcome: Outcome | RayError) -> None:
        name = attempt.span.video
        if isinstance(outcome, RayError):
            # Cancelled, or lost, maybe with its node: it is used again when the node is seen to be alive after a while.
            if worker.name in self.workers:
                self._remove(worker.name)
            self.looked = time.monotonic()
            if isinstance(outcome, (NodeDiedError, TaskUnschedulableError)):
                self.dead.add(worker.node)
            lost = f"the worker {worker.name} was lost ({_line(outcome)})"
            self._attempt_failed(attempt, worker, lost, searched=not isinstance(outcome, TaskUnschedulableError))
            return
        if worker.name in self.workers:
            self.idle.add(worker.name)
            self.dashboard.lines[worker.name].at = ""
        report = outcome["report"]
        if outcome["code"] == UNFIT:
            is_gone = self._is_gone(self.jobs[name])
            if not is_gone:
                self._set_aside(worker, outcome["error"])
            self._attempt_failed(attempt, worker, outcome["error"], searched=False, final=is_gone)
        elif outcome["code"] != 0:
            self._attempt_failed(attempt, worker, outcome["error"], final=outcome["code"] in _HOPELESS)
        else:
            taken, is_needed = report.get("seconds", 0.0), self.schedule.needs(attempt)
            self._cancel(self.schedule.done(attempt, outcome["seconds"] - taken, taken))
            if is_needed:
                self.dashboard.count(worker.name, report, self.schedule.seconds(attempt.span))
                self._check_end(name)

    def _attempt_failed(
        self, attempt: Attempt, worker: Worker, why: str, *, searched: bool = True, final: bool = False
    ) -> None:
        name = attempt.span.video
        where = f"range {self.jobs[name].range(attempt.span)}: {why}"
        is_needed = self.schedule.needs(attempt)
        if not self.schedule.fail(attempt, worker.node, searched=searched, final=final):
            if is_needed:
                self.dashboard.say(f"{self.results[name].video}: {where}; it is searched again")
            return
        self._fail(name, where)
        if final or len(self.results[name].failures) >= _GIVE_UP:
            self._cancel(self.schedule.drop_video(name))

    def _set_aside(self, worker: Worker, why: str) -> None:
        """Uses the node of a worker no more."""
        if worker.node not in self.unfit:
            self.unfit[worker.node] = f"{worker.name}: {why}"
            self.dashboard.say(f"not used any more: {worker.name}: {why}")
        for name in [name for name, other in self.workers.items() if other.node == worker.node]:
            self._remove(name)

    def _is_gone(self, job: Job) -> bool:
        """Whether a video is not what it was, so that no node is to blame."""
        try:
            return job.video.stat().st_size != job.identity.bytes
        except OSError:
            return True

    def _cancel(self, attempts: Sequence[Attempt]) -> None:
        for task, then in self.tasks.items():
            if then.args and then.args[0] in attempts:
                ray.cancel(task, force=False)

    def _check_end(self, name: str) -> None:
        if not self.schedule.left(name) and not self.results[name].failures:
            self.steps.insert(0, _Step(self.jobs[name], is_join=True))

    def _stepped(self, step: _Step, worker: Worker, outcome: Outcome | RayError) -> None:
        self.steps_running -= 1
        name = step.job.name
        if isinstance(outcome, RayError):
            error, again = f"the worker {worker.name} was lost ({_line(outcome)})", True
        else:
            error, again = outcome["error"], outcome["code"] == UNFIT and not self._is_gone(step.job)
            if again:
                self._set_aside(worker, error)
        step.tries += 1
        if again and (step.tries < ATTEMPTS or not isinstance(outcome, RayError)):
            self.steps.insert(0, step)
        elif error or isinstance(outcome, RayError):
            self._fail(name, error)
        else:
            try:
                self._step_done(step, outcome["report"])
            except (OSError, JobError) as problem:
                self._fail(name, reason(problem))

    def _step_done(self, step: _Step, report: dict[str, Any]) -> None:
        job = step.job
        if step.is_join:
            job.finish({"frames": report["frames"], "ranges": len(job.ranges)})
            result = self.results[job.name]
            result.out, result.frames, result.ranges = job.out, report["frames"], len(job.ranges)
        else:
            job.store_plan(report)
            self._plan_ready(job)

    def _fail(self, name: str, why: str) -> None:
        self.results[name].failures.append(why)
        self.dashboard.say(f"{self.results[name].video}: {why}")


def _nodes() -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return nodes


def _line(error: RayError) -> str:
    """What has happened, in one line: of an exception in a task, the last one of its traceback."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1 if isinstance(error, RayTaskError) else 0]


def reason(error: Exception) -> str:
    """An error for users."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)

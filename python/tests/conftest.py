"""Clips, a cluster of several nodes on this machine, and a record of every call of ``motion-vectors``."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Before Ray is imported: all of the cluster on the loopback address, and nothing told to anybody.
os.environ.update(RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0", RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled")
# Not behind all other programs of a busy machine.
os.environ["RAY_worker_niceness"] = "0"

import pytest
from ray.cluster_utils import Cluster

PROGRAM = os.environ.get("MOTION_VECTORS", shutil.which("motion-vectors") or "")

# Takes down when a range begins to be searched, and by which process; then it is `motion-vectors`.
RECORDER = """#!/bin/sh
case " $* " in *" --range "*)
  range=$(printf '%s ' "$@" | sed 's/.*--range \\([^ ]*\\) .*/\\1/')
  device=$(printf '%s ' "$@" | sed 's/.* device=\\([^ ]*\\) .*/\\1/')
  echo "$range $$ $PPID $device" >>'{log}'
esac
exec '{program}' "$@"
"""


@dataclass
class Call:
    """A search of a range that has begun."""

    range: str
    pid: int
    parent: int
    device: str = ""


@dataclass
class Place:
    """A folder with a recorder instead of the program."""

    folder: Path
    address: str = ""
    drivers: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        text = RECORDER.format(log=self.log, program=PROGRAM)
        self.program.write_text(text)
        self.program.chmod(0o755)

    @property
    def program(self) -> Path:
        return self.folder / "motion-vectors"

    @property
    def log(self) -> Path:
        return self.folder / "calls"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def calls(self) -> list[Call]:
        """All searches that have begun."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        words = (line.split() for line in lines)
        return [Call(range, int(pid), int(parent), device) for range, pid, parent, device in words]

    def wait_for_calls(self, count: int, seconds: float = 900) -> list[Call]:
        """Waits until so many searches have begun."""
        wait_until(lambda: len(self.calls()) >= count, seconds)
        return self.calls()

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """Starts the driver."""
        command = [sys.executable, "-m", "motion_ray.cli", *map(str, arguments), "--out", str(self.out), "--json"]
        command += ["--quiet", "--program", str(self.program)]
        command += ["--address", self.address] if self.address else []
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.drivers.append(driver)
        return driver

    def run(self, *arguments: object) -> Run:
        """Runs the driver to its end."""
        return finish(self.start(*arguments))


@dataclass
class Run:
    """What a driver has done: a record for each video, by its name."""

    code: int
    errors: str
    videos: dict[str, Any]


def finish(driver: subprocess.Popen[str]) -> Run:
    """Waits for the end of a driver."""
    text, errors = driver.communicate(timeout=900)
    records = [json.loads(line) for line in text.splitlines()]
    return Run(driver.returncode, errors, {Path(record["video"]).name: record for record in records})


def wait_until(condition: Callable[[], bool], seconds: float = 300) -> None:
    """Waits until ``condition`` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def node(cluster: Cluster, **resources: Any) -> Any:
    """Adds a node, with one core unless ``resources`` say otherwise."""
    arguments: dict[str, Any] = {"num_cpus": 1, **resources}
    return cluster.add_node(node_ip_address="127.0.0.1", **arguments)


@pytest.fixture(scope="session")
def head() -> Iterator[Cluster]:
    """A cluster whose only node has no cores."""
    arguments = {"num_cpus": 0, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args=arguments)
    yield cluster
    cluster.shutdown()  # type: ignore[no-untyped-call]


@pytest.fixture(scope="session")
def two_nodes(head: Cluster) -> Cluster:
    """The cluster with two nodes of one core."""
    node(head)
    node(head)
    return head


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A place without a cluster."""
    place = Place(tmp_path)
    yield place
    for driver in place.drivers:
        if driver.poll() is None:
            driver.kill()
            driver.wait()


def clip(
    path: Path,
    seconds: int,
    *,
    source: str = "",
    encoder: str = "x264enc key-int-max=25 speed-preset=ultrafast",
    size: tuple[int, int] = (144, 112),
) -> Path:
    """Makes a clip of moving rings, 25 frames a second, a key frame a second."""
    mux = "mp4mux" if path.suffix == ".mp4" else "matroskamux"
    launch = (
        f"videotestsrc num-buffers={25 * seconds} pattern=zone-plate kx2=20 ky2=20 kt=1 {source} ! "
        f"video/x-raw,format=I420,width={size[0]},height={size[1]},framerate=25/1 ! "
        f"{encoder} ! {mux} ! filesink location={path}"
    )
    subprocess.run(["gst-launch-1.0", "-q", *launch.split()], check=True)
    return path


def without_key_frames(path: Path) -> Path:
    """Makes a clip whose container says that it has none."""
    clip(path, 2, encoder="jpegenc")
    # In a SimpleBlock of Matroska the flags are behind the number of the track and a time of two bytes.
    path.write_bytes(re.sub(rb"(\x81..)\x80(?=\xff\xd8)", rb"\1\0", path.read_bytes(), flags=re.DOTALL))
    return path


def single(video: Path, *properties: str) -> bytes:
    """What one run of ``motion-vectors`` over all of a video writes."""
    out = video.with_name(f"single-{'-'.join(properties)}-{video.name}.bin")
    subprocess.run([PROGRAM, str(video), "--out", str(out), "--quiet", *properties], check=True)
    return out.read_bytes()


def searched(calls: list[Call], ends: float) -> list[int]:
    """How often each second of a clip with a key frame a second, which ends at ``ends``, was searched."""
    counts = [0] * round(ends)
    for call in calls:
        start, _, end = call.range.partition(":")
        for second in range(round(float(start or 0)), round(float(end or ends))):
            counts[second] += 1
    return counts


@pytest.fixture(scope="session")
def rings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of 20 seconds."""
    return clip(tmp_path_factory.mktemp("clips") / "rings.mp4", 20)


def pytest_sessionstart() -> None:
    if not PROGRAM:
        pytest.exit("motion-vectors is not installed: cargo build -p motion-vectors, and name it in MOTION_VECTORS", 2)

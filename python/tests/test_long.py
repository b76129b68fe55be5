"""Faults and larger clusters, with real processes. Some minutes: scripts/check-python long."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ray.cluster_utils import Cluster

from conftest import Call, Place, clip, finish, is_alive, node, searched, single, wait_until

pytestmark = pytest.mark.long

# So slow that there is time for a fault.
SLOW = ["search-range=64", "block-size=8"]


@pytest.fixture
def on_head(place: Place, head: Cluster) -> Iterator[Place]:
    """A place on the cluster, from which all nodes with cores are removed before and afterwards."""
    place.address = head.address
    for extra in list(head.worker_nodes):
        head.remove_node(extra)
    yield place
    for extra in list(head.worker_nodes):
        head.remove_node(extra)


@pytest.fixture(scope="session")
def minute(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of a minute."""
    return clip(tmp_path_factory.mktemp("clips") / "minute.mp4", 60)


def check(place: Place, video: Path, seconds: int) -> list[Call]:
    """The joined file is that of one machine, and nothing was searched more than twice."""
    assert (place.out / f"{video.name}.bin").read_bytes() == single(video, *SLOW)
    counts = searched(place.calls(), seconds)
    assert set(counts) <= {1, 2}, counts
    return place.calls()


@pytest.mark.parametrize("properties", [["algorithm=full"], ["algorithm=three-step"], ["algorithm=hierarchical"]])
def test_four_nodes_write_what_one_machine_writes(
    on_head: Place, head: Cluster, minute: Path, properties: list[str]
) -> None:
    for _ in range(4):
        node(head)
    run = on_head.run(minute, "--shortest", 2, *properties)
    assert run.code == 0, run.errors
    assert (on_head.out / "minute.mp4.bin").read_bytes() == single(minute, *properties)
    assert len({call.parent for call in on_head.calls()}) >= 4


def test_a_removed_node_loses_nothing(on_head: Place, head: Cluster, minute: Path) -> None:
    nodes = [node(head), node(head)]
    driver = on_head.start(minute, "--shortest", 5, *SLOW)
    call = on_head.wait_for_calls(4)[-1]
    head.remove_node(nodes[1], allow_graceful=False)
    run = finish(driver)
    assert run.code == 0, run.errors
    assert not is_alive(call.pid)
    check(on_head, minute, 60)


def test_a_node_that_is_added_takes_part(on_head: Place, head: Cluster, minute: Path) -> None:
    node(head)
    driver = on_head.start(minute, "--shortest", 2, *SLOW)
    before = {call.parent for call in on_head.wait_for_calls(2)}
    node(head)
    run = finish(driver)
    assert run.code == 0, run.errors
    assert {call.parent for call in check(on_head, minute, 60)} - before


def test_a_cluster_that_has_lost_all_nodes_goes_on_with_a_new_one(
    on_head: Place, head: Cluster, tmp_path: Path
) -> None:
    first = node(head)
    minute = clip(tmp_path / "minute.mp4", 60, size=(320, 240))
    driver = on_head.start(minute, "--shortest", 5, *SLOW, "kernel=exhaustive")
    # One node may search all but the first range as one.
    on_head.wait_for_calls(2)
    assert driver.poll() is None
    head.remove_node(first, allow_graceful=False)
    time.sleep(2)
    node(head)
    run = finish(driver)
    assert run.code == 0, run.errors
    check(on_head, minute, 60)


def test_a_killed_driver_goes_on_when_it_is_started_again(on_head: Place, head: Cluster, tmp_path: Path) -> None:
    node(head)
    node(head)
    minute = clip(tmp_path / "minute.mp4", 60, size=(320, 240))
    arguments = [minute, "--shortest", 5, *SLOW, "kernel=exhaustive"]
    driver = on_head.start(*arguments)
    on_head.wait_for_calls(1)
    refused = on_head.run(*arguments)
    assert refused.code == 2 and "another motion_ray writes to" in refused.errors
    calls = on_head.wait_for_calls(3)
    assert driver.poll() is None
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    # Its searches end with it.
    wait_until(lambda: not any(is_alive(call.pid) for call in on_head.calls()))
    pieces = on_head.out / "minute.mp4.pieces"
    done = {path.name: path.stat().st_mtime_ns for path in pieces.glob("[!.]*.bin")}
    assert done
    before = len(on_head.calls())
    run = on_head.run(*arguments)
    assert run.code == 0, run.errors
    again = check(on_head, minute, 60)[before:]
    # What was there is not searched again; what was not complete is.
    assert not {f"{call.range.replace(':', '-')}.bin" for call in again} & done.keys()
    interrupted = {second for call in calls for second in seconds(call)} - {
        second for name in done for second in seconds(Call(name.removesuffix(".bin").replace("-", ":"), 0, 0))
    }
    assert interrupted <= {second for call in again for second in seconds(call)}


def seconds(call: Call) -> range:
    start, _, end = call.range.partition(":")
    return range(round(float(start or 0)), round(float(end or 60)))


def test_a_worker_that_hangs_does_not_hold_back_the_end(on_head: Place, head: Cluster, minute: Path) -> None:
    node(head)
    node(head)
    driver = on_head.start(minute, "--shortest", 5, *SLOW)
    stopped = on_head.wait_for_calls(4)[-1]
    wait_until(lambda: "--range" in Path(f"/proc/{stopped.pid}/cmdline").read_text())
    os.kill(stopped.pid, signal.SIGSTOP)
    run = finish(driver)
    assert run.code == 0, run.errors
    calls = check(on_head, minute, 60)
    assert [call.range for call in calls].count(stopped.range) == 2
    # What hangs gets the signal to end when it goes on.
    if is_alive(stopped.pid):
        os.kill(stopped.pid, signal.SIGCONT)
    wait_until(lambda: not is_alive(stopped.pid))


def test_a_video_that_vanishes_is_named_and_the_rest_goes_on(
    on_head: Place, head: Cluster, minute: Path, tmp_path: Path
) -> None:
    node(head)
    gone = clip(tmp_path / "gone.mp4", 60)
    driver = on_head.start(gone, minute, "--shortest", 5, *SLOW)
    on_head.wait_for_calls(1)
    gone.unlink()
    run = finish(driver)
    assert run.code == 1 and "1 of 2 videos have failed" in run.errors and "gone.mp4 is not there" in run.errors
    assert run.videos["minute.mp4"]["frames"] == 1500 and not run.videos["minute.mp4"]["failures"]


def test_full_storage_is_named_and_the_rest_goes_on(
    on_head: Place, head: Cluster, minute: Path, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("SKIPPED: only root can mount a small file system")
    node(head)
    node(head)
    on_head.out.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", str(on_head.out)], check=True)
    try:
        small = clip(tmp_path / "small.mp4", 5)
        run = on_head.run(minute, small, "--shortest", 5, *SLOW)
        assert run.code == 1
        assert "1 of 2 videos have failed" in run.errors and "No space left on device" in run.errors, run.errors
        assert str(minute) in run.errors and run.videos["small.mp4"]["frames"] == 125
        kept = {path.name for path in (on_head.out / "minute.mp4.pieces").glob("[!.]*.bin")}
        assert kept and not (on_head.out / "minute.mp4.bin").exists()
        # With more space it goes on.
        subprocess.run(["mount", "-o", "remount,size=100m", str(on_head.out)], check=True)
        before = len(on_head.calls())
        run = on_head.run(minute, small, "--shortest", 5, *SLOW)
        assert run.code == 0, run.errors
        assert (on_head.out / "minute.mp4.bin").read_bytes() == single(minute, *SLOW)
        assert not {f"{call.range.replace(':', '-')}.bin" for call in on_head.calls()[before:]} & kept
    finally:
        subprocess.run(["umount", "--lazy", str(on_head.out)], check=True)


def test_workers_with_a_gpu_and_without_write_the_same(on_head: Place, head: Cluster, minute: Path) -> None:
    """PoCL stands for a GPU, which Ray counts, or which is a resource of its own."""
    node(head)
    node(head, num_gpus=1)
    node(head, resources={"motion_gpu": 1})
    run = on_head.run(minute, "--shortest", 2, "--gpu-device", "cpu", "search-range=4")
    assert run.code == 0, run.errors
    assert (on_head.out / "minute.mp4.bin").read_bytes() == single(minute, "search-range=4")
    devices = {call.parent: call.device for call in on_head.calls()}
    assert sorted(set(devices.values())) == ["cpu", "native"], devices
    assert list(devices.values()).count("cpu") >= 2

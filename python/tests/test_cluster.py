"""Real processes on the nodes of a real cluster: the joined file is that of one machine."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from ray.cluster_utils import Cluster

from conftest import Place, clip, finish, is_alive, searched, single, wait_until, without_key_frames
from motion_ray import Options, search


@pytest.fixture
def on_two(place: Place, two_nodes: Cluster) -> Place:
    place.address = two_nodes.address
    return place


@pytest.mark.parametrize(
    "properties", [["algorithm=full", "--zstd"], ["algorithm=three-step"], ["algorithm=hierarchical"]]
)
def test_the_joined_file_is_that_of_one_machine(on_two: Place, rings: Path, properties: list[str]) -> None:
    run = on_two.run(rings, "--shortest", 1, *properties)
    assert run.code == 0, run.errors
    name = "rings.mp4.bin" + (".zst" if "--zstd" in properties else "")
    assert (on_two.out / name).read_bytes() == single(rings, *properties)
    assert run.videos["rings.mp4"]["frames"] == 500
    calls = on_two.calls()
    # Every second was searched once, on both nodes; one that was late, twice.
    assert set(searched(calls, 20)) <= {1, 2} and len({call.parent for call in calls}) > 1
    assert len(calls) < 20, "spans get longer than the shortest range"
    assert sorted(path.name for path in on_two.out.iterdir()) == [".motion_ray.lock", name, "rings.mp4.json"]

    # What is done is not done again.
    again = on_two.run(rings, "--shortest", 1, *properties)
    assert again.code == 0 and again.videos["rings.mp4"]["kept"] and again.videos["rings.mp4"]["frames"] == 500
    assert on_two.calls() == calls
    # Another search is not taken for it.
    other = on_two.run(rings, "--shortest", 1, *properties, "search-range=5")
    assert other.code == 1 and "is of another search, with properties" in other.errors


def test_what_is_bad_is_named_and_the_rest_goes_on(on_two: Place, tmp_path: Path) -> None:
    good = clip(tmp_path / "good.mp4", 4)
    variable = clip(tmp_path / "variable.mkv", 6, source="! identity drop-probability=0.3")
    text = tmp_path / "text.mp4"
    text.write_text("Once upon a time there was a text.\n" * 100)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    keyless = without_key_frames(tmp_path / "keyless.mkv")
    missing = tmp_path / "missing.mp4"
    (tmp_path / "twin").mkdir()
    twin = clip(tmp_path / "twin" / "good.mp4", 1)
    run = on_two.run(text, good, cut, keyless, variable, missing, twin, "--shortest", 1)
    assert run.code == 1
    named = run.errors[run.errors.index("5 of 7 videos have failed:") :]
    for video, told in [
        (text, "it is no video that GStreamer knows"),
        (cut, "it may be damaged or cut off"),
        (keyless, "it has no key frames"),
        (missing, "No such file"),
        (twin, "another video has the same name"),
    ]:
        assert any(str(video) in line and told in line for line in named.splitlines()), (video, named)
    assert len(named.splitlines()) == 6
    assert "--range" not in run.errors, "an option that motion_ray lacks"
    for video in (good, variable):
        assert (on_two.out / f"{video.name}.bin").read_bytes() == single(video)


def test_wrong_properties_end_a_video_at_once(on_two: Place, rings: Path) -> None:
    run = on_two.run(rings, "block-size=6", "--shortest", 1)
    assert run.code == 1 and "block size 6 is not supported" in run.errors
    assert len(on_two.calls()) <= 2
    run = on_two.run(rings, "device=native")
    assert run.code == 2 and "each worker has its own device" in run.errors


def test_a_worker_killed_in_mid_range_loses_nothing(on_two: Place, tmp_path: Path) -> None:
    video = clip(tmp_path / "long.mp4", 40)
    driver = on_two.start(video, "search-range=64", "--shortest", 4)
    call = on_two.wait_for_calls(3)[2]
    assert is_alive(call.pid)
    os.kill(call.parent, signal.SIGKILL)
    wait_until(lambda: not is_alive(call.pid))
    run = finish(driver)
    assert run.code == 0, run.errors
    assert (on_two.out / "long.mp4.bin").read_bytes() == single(video, "search-range=64")
    counts = searched(on_two.calls(), 40)
    assert set(counts) <= {1, 2} and 2 in counts


def test_pieces_that_do_not_fit_are_named(on_two: Place, rings: Path) -> None:
    """Of a run that was interrupted, pieces are there that overlap, or that nobody has planned."""
    stopped = on_two.start(rings, "--shortest", 1, "search-range=64")
    wait_until(lambda: any((on_two.out / "rings.mp4.pieces").glob("[!.]*.bin")))
    stopped.send_signal(signal.SIGTERM)
    assert stopped.wait(60) == 130
    pieces = on_two.out / "rings.mp4.pieces"
    piece = next(pieces.glob("[!.]*.bin"))
    for name, told in [("-20.bin", "none of the pieces that are planned"), ("-.bin", "overlap")]:
        wrong = pieces / name
        wrong.write_bytes(piece.read_bytes())
        run = on_two.run(rings, "--shortest", 1, "search-range=64")
        assert run.code == 1 and told in run.errors and str(wrong) in run.errors
        wrong.unlink()
    # A damaged piece is found when the pieces are joined; a hole is searched.
    piece.write_bytes(piece.read_bytes()[:-10])
    run = on_two.run(rings, "--shortest", 1, "search-range=64")
    assert run.code == 1 and "delete it and search its range again" in run.errors
    piece.unlink()
    assert on_two.run(rings, "--shortest", 1, "search-range=64").code == 0
    assert (on_two.out / "rings.mp4.bin").read_bytes() == single(rings, "search-range=64")


def test_the_function_uses_the_ray_of_its_process(two_nodes: Cluster, place: Place, rings: Path) -> None:
    results = search(
        [rings], place.out, Options(["search-range=4"], address=two_nodes.address, program=str(place.program))
    )
    assert [(result.failures, result.frames) for result in results] == [([], 500)]
    assert results[0].out is not None and results[0].out.read_bytes() == single(rings, "search-range=4")


def test_a_cluster_without_workers_is_an_error(head: Cluster, place: Place, rings: Path) -> None:
    place.address = head.address
    run = place.run(rings, "--resource", "what_no_node_has", "--wait", 1)
    assert run.code == 1 and "no worker is left" in run.errors


def test_a_node_with_another_version_is_not_used(on_two: Place, rings: Path) -> None:
    """The driver finds the program; on the nodes it tells another version."""
    text = on_two.program.read_text().replace(
        'case " $*', '[ -z "$RAY_JOB_ID" ] || exec echo motion-vectors 0.0\ncase " $*'
    )
    on_two.program.write_text(text)
    run = on_two.run(rings, "--wait", 1)
    assert run.code == 1 and "is motion-vectors 0.0, not motion-vectors " in run.errors
    assert not on_two.calls()
    missing = subprocess.run(
        ["motion_ray", str(rings), "--out", "out", "--program", "/none"], check=False, capture_output=True, text=True
    )
    assert missing.returncode == 2 and "/none" in missing.stderr

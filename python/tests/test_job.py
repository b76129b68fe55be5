"""What is on the shared storage, and which workers a node has, without Ray."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from motion_ray.job import Identity, Job, JobError
from motion_ray.nodes import Worker, workers
from motion_ray.schedule import Span

PLAN = {"start": "0.5", "end": "40", "frames": 1000, "key_frames": 40, "ranges": [":10", "10:20.5", "20.5:30", "30:"]}


def job(folder: Path, *properties: str) -> Job:
    return Job(Path("/v/clip.mp4"), Identity("clip.mp4", 7, "motion-vectors 1", properties, False), folder)


def test_the_files_say_what_is_done(tmp_path: Path) -> None:
    planned = job(tmp_path)
    assert not planned.load_plan() and planned.finished() is None
    planned.store_plan(PLAN)
    assert planned.parts == [9.5, 10.5, 9.5, 10.0]
    assert planned.range(Span("clip.mp4", 0, 2)) == ":20.5" and planned.range(Span("clip.mp4", 2, 4)) == "20.5:"
    assert planned.gaps() == [Span("clip.mp4", 0, 4)]
    planned.piece(Span("clip.mp4", 1, 3)).write_text("")
    (planned.pieces / ".30-.bin.XYZ.part").write_text("what was interrupted is nothing")

    again = job(tmp_path)
    assert again.load_plan() and again.ranges == planned.ranges
    assert again.done() == [Span("clip.mp4", 1, 3)]
    assert again.gaps() == [Span("clip.mp4", 0, 1), Span("clip.mp4", 3, 4)]
    again.out.write_text("")
    again.finish({"frames": 5})
    assert not again.pieces.exists()
    record = job(tmp_path).finished()
    assert record is not None and record["frames"] == 5
    again.out.unlink()
    assert job(tmp_path).finished() is None


def test_what_does_not_fit_is_an_error(tmp_path: Path) -> None:
    planned = job(tmp_path)
    planned.store_plan(PLAN)
    with pytest.raises(JobError, match=r"with properties \[\], not \[\"search-range=5\"\]"):
        job(tmp_path, "search-range=5").load_plan()
    planned.piece(Span("clip.mp4", 0, 2)).write_text("")
    overlapping = planned.piece(Span("clip.mp4", 1, 3))
    overlapping.write_text("")
    with pytest.raises(JobError, match="overlap"):
        planned.gaps()
    overlapping.unlink()
    for name in ("5-10.bin", "text.bin", "20.5-10.bin"):
        (planned.pieces / name).write_text("")
        with pytest.raises(JobError, match="none of the pieces"):
            planned.gaps()
        (planned.pieces / name).unlink()
    (planned.pieces / "plan.json").write_text("{")
    with pytest.raises(JobError, match="cannot be read"):
        planned.load_plan()


def described(**resources: float) -> dict[str, Any]:
    return {"Alive": True, "NodeID": "abcdef", "NodeName": "host", "Resources": resources}


def test_a_worker_has_cores_or_a_gpu() -> None:
    assert workers(described(CPU=10), 4, None) == [
        Worker("host-abcd/cpu0", "abcdef", 4, None),
        Worker("host-abcd/cpu1", "abcdef", 4, None),
        Worker("host-abcd/cpu2", "abcdef", 2, None),
    ]
    found = workers(described(CPU=10, GPU=1, motion_gpu=1), 4, None)
    assert [(worker.name[-4:], worker.cores, worker.gpu) for worker in found] == [
        ("gpu0", 4, "GPU"),
        ("gpu1", 4, "motion_gpu"),
        ("cpu0", 2, None),
    ]
    assert found[0].resources() == {"num_cpus": 4, "num_gpus": 1}
    assert found[1].resources() == {"num_cpus": 4, "resources": {"motion_gpu": 1}}
    assert found[0].properties("gpu") == ["device=gpu"]
    assert found[2].properties("gpu") == ["device=native", "threads=2"]
    # Cores are divided among the GPUs; one without cores still works.
    assert [worker.cores for worker in workers(described(CPU=3, GPU=2), 4, None)] == [1, 2]
    assert [worker.cores for worker in workers(described(GPU=1), 4, None)] == [0]


def test_nodes_are_chosen_by_a_resource() -> None:
    assert not workers(described(CPU=4), 4, "motion")
    assert len(workers(described(CPU=4, motion=1), 4, "motion")) == 1
    assert not workers({**described(CPU=4), "Alive": False}, 4, None)
    assert not workers(described(CPU=0), 4, None)

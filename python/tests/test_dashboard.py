"""What a user sees of the workers."""

import time

import pytest

from motion_ray.dashboard import Dashboard, Line


def test_a_worker_has_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    dashboard = Dashboard()
    dashboard.lines = {"b/gpu0": Line(), "a/cpu0": Line(at="clip.mp4 10:20")}
    dashboard.count("a/cpu0", {"frames": 250, "frames_per_second": 123.44, "device": "native"}, 10.0)
    dashboard.show()
    assert capsys.readouterr().err == "", "it is not time yet"
    monkeypatch.setattr(time, "monotonic", lambda: now + 100.0)
    dashboard.show()
    first, second, total = capsys.readouterr().err.splitlines()
    assert first.split() == ["a/cpu0", "123.4", "frames/s", "clip.mp4", "10:20", "native"]
    assert second.split() == ["b/gpu0", "idle"]
    assert total.startswith("1 ranges, 250 frames, 10 s of video in 100.0 s: 2.5 frames/s on 2 workers")


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    dashboard = Dashboard(quiet=True)
    dashboard.say("something")
    dashboard.show()
    dashboard.end()
    assert capsys.readouterr().err == ""

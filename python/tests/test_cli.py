"""What users get wrong is told in one line, with exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest
import ray.exceptions

from conftest import Place, Run


def refused(run: Run, *told: str) -> None:
    """Whether a run has ended at once, with all of ``told`` in one line."""
    assert run.code == 2 and not run.videos, run.errors
    assert len(run.errors.splitlines()) == 1 and run.errors.startswith("motion_ray: "), run.errors
    for text in told:
        assert text in run.errors, run.errors


@pytest.mark.skipif(not hasattr(ray.exceptions, "AuthenticationError"), reason="this Ray has no tokens")
def test_a_missing_token(place: Place, rings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tmp_path / "auth_token"
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
    refused(place.run(rings), str(token), "ray get-auth-token --generate")


def test_an_address_at_which_nobody_answers(place: Place, rings: Path) -> None:
    for address, told in [("127.0.0.1:9", "Connection refused"), ("a.host.invalid:6379", ""), ("nonsense", "")]:
        place.address = address
        refused(place.run(rings), address, told)


def test_a_folder_that_cannot_be(place: Place, rings: Path, tmp_path: Path) -> None:
    place.out.write_text("a file")
    refused(place.run(rings), f"{place.out}: File exists")
    (tmp_path / "file").write_text("")
    run = place.run(rings, "--out", tmp_path / "file" / "below")
    refused(run)


def test_a_program_that_does_not_run(place: Place, rings: Path) -> None:
    place.program.unlink()
    refused(place.run(rings), f"{place.program} does not run: No such file or directory", "--program")
    place.program.write_text("#!/bin/sh\nexit 3\n")
    place.program.chmod(0o755)
    refused(place.run(rings), "it ends with code 3")


def test_a_missing_video(place: Place, tmp_path: Path) -> None:
    missing = tmp_path / "missing.mp4"
    run = place.run(missing)
    assert run.code == 1 and f"{missing}: No such file or directory" in run.errors
    assert "Errno" not in run.errors and "Traceback" not in run.errors

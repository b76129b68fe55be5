"""The notebook runs, and shows what it says."""

import json
from pathlib import Path

from conftest import program
from notebook import run


def test_the_notebook():
    names, shown = run(json.loads(Path(program("MOTION_NOTEBOOK")).read_text()))
    psnr, luma = names["psnr"], names["luma"]
    assert psnr(names["predicted"], luma[30]) > psnr(luma[29], luma[30]) + 3
    assert psnr(names["made"][0], luma[29]) > psnr((names["before"][0].astype(float) + names["after"][0]) / 2, luma[29]) + 2
    assert psnr(names["clean"][4], luma[30]) > psnr(names["noisy"][4], luma[30]) + 3
    assert [value.size for value in shown if hasattr(value, "save")] == [(1280, 720), (1280, 720), (2560, 720), (2560, 240)]

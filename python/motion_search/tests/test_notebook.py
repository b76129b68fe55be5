"""The notebook runs, and shows what it says."""

import ast
import json
import os
from pathlib import Path

from conftest import program


def run(path):
    """The names of a notebook whose code was run, and the values of its cells' last lines."""
    names, shown = {}, []
    for cell in json.loads(Path(path).read_text())["cells"]:
        if cell["cell_type"] == "code":
            *body, last = ast.parse("".join(cell["source"])).body
            if isinstance(last, ast.Expr):
                exec(compile(ast.Module(body, []), path, "exec"), names)
                shown.append(eval(compile(ast.Expression(last.value), path, "eval"), names))
            else:
                exec(compile(ast.Module([*body, last], []), path, "exec"), names)
    return names, shown


def test_the_notebook():
    names, shown = run(program("MOTION_NOTEBOOK"))
    psnr, luma = names["psnr"], names["luma"]
    assert psnr(names["predicted"], luma[30]) > psnr(luma[29], luma[30]) + 3
    assert psnr(names["made"][0], luma[29]) > psnr((names["before"][0].astype(float) + names["after"][0]) / 2, luma[29]) + 2
    assert psnr(names["clean"][4], luma[30]) > psnr(names["noisy"][4], luma[30]) + 3
    pictures = [value for value in shown if hasattr(value, "save")]
    assert len(pictures) == 4
    # They can be looked at.
    if folder := os.environ.get("MOTION_PICTURES"):
        for number, picture in enumerate(pictures):
            picture.save(f"{folder}/{number}.png")
        Path(folder, "texts").write_text("\n".join(str(value) for value in shown if value not in pictures))

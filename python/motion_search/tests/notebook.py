"""Runs a notebook as a script. `notebook.py FILE` also writes what its cells show into the file, pictures at half of their size."""

import ast
import base64
import io
import json
import sys
from pathlib import Path


def run(notebook):
    """The names of a notebook whose code was run, and the value of the last line of each cell of code, if it is one."""
    names, shown = {}, []
    for cell in code_of(notebook):
        *body, last = ast.parse("".join(cell["source"])).body
        is_shown = isinstance(last, ast.Expr)
        exec(compile(ast.Module(body if is_shown else [*body, last], []), "notebook", "exec"), names)
        shown.append(eval(compile(ast.Expression(last.value), "notebook", "eval"), names) if is_shown else None)
    return names, shown


def code_of(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def output(value):
    """What a cell shows, as notebooks keep it."""
    data = {"text/plain": [repr(value)]}
    if hasattr(value, "save"):
        file = io.BytesIO()
        value.reduce(2).save(file, "jpeg", quality=85)
        data = {"image/jpeg": base64.b64encode(file.getvalue()).decode(), "text/plain": [f"a picture of {value.width} x {value.height}"]}
    return {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}


if __name__ == "__main__":
    path = Path(sys.argv[1])
    notebook = json.loads(path.read_text())
    for cell, value in zip(code_of(notebook), run(notebook)[1]):
        cell["outputs"] = [] if value is None else [output(value)]
    path.write_text(json.dumps(notebook, indent=1) + "\n")

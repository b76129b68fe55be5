"""What the Rust library and the GStreamer elements make of the same frames."""

import subprocess
from pathlib import Path

import numpy

from conftest import program

#: The caps of frames by their number of planes and bits.
FORMATS = {
    (1, 8): "GRAY8",
    (1, 16): "GRAY16_LE",
    (3, 8): "I420",
    (3, 10): "I420_10LE",
    (2, 8): "NV12",
}


def by_library(current, reference, bits, settings):
    """The bytes of the vectors, the predictors and the costs."""
    height, width = current.shape
    values = {name: ",".join(map(str, value)) if isinstance(value, (tuple, list)) else value for name, value in settings.items()}
    arguments = [str(value) for value in (width, height, bits)] + [f"{name}={value}" for name, value in values.items()]
    frames = current.tobytes() + reference.tobytes()
    return subprocess.run([program("MOTION_FIELDS"), *arguments], input=frames, stdout=subprocess.PIPE, check=True).stdout


def by_elements(folder, frames, launch, bits=None):
    """What elements make of frames, each an array or a tuple of planes of even rows and columns: see `elements.py`."""
    planes = [frame if isinstance(frame, tuple) else (frame,) for frame in frames]
    luma = planes[0][0]
    bits = bits or 8 * luma.itemsize
    height, width = luma.shape
    caps = f"video/x-raw,format={FORMATS[len(planes[0]), bits]},width={width},height={height},framerate=25/1"
    source, target = folder / "in.npz", folder / "out.npz"
    data = [b"".join(padded(plane).tobytes() for plane in frame) for frame in planes]
    data = [numpy.frombuffer(frame, numpy.uint8) for frame in data]
    numpy.savez(source, launch=launch, caps=caps, frames=data)
    script = Path(__file__).parent / "elements.py"
    subprocess.run([program("GST_PYTHON"), script, source, target], check=True)
    return numpy.load(target)


def padded(plane):
    """The plane with rows of a multiple of four bytes, as GStreamer has them."""
    rows = plane.reshape(len(plane), -1)
    return numpy.pad(rows, ((0, 0), (0, -rows.shape[1] % (4 // rows.itemsize))))


def planes_of(data, like):
    """The planes in the bytes of a frame that is like another one."""
    planes, at = [], 0
    for plane in like if isinstance(like, tuple) else (like,):
        rows = padded(plane)
        found = data[at : at + rows.nbytes].view(rows.dtype).reshape(rows.shape)
        planes.append(found[:, : plane[0].size].reshape(plane.shape))
        at += rows.nbytes
    return tuple(planes) if isinstance(like, tuple) else planes[0]

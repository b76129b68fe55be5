"""Block motion search in video frames: numpy arrays in; vectors, frames between frames and clean frames out.

The vectors are near the true motion, in 1/32 sample, and the same on every CPU and OpenCL device, bit for bit.

    import motion_search as ms

    field = ms.search(current, reference)  # two arrays (height, width) of uint8 or uint16
    field.vectors                          # (rows, columns, 2) float32: where each block was, in samples, x right, y down
    for frame, field in ms.video("clip.mp4"):
        ...

Arrays hold luma: uint8 for samples of 8 bits, uint16 for 9 to 16 bits. The rows must lie behind each other and the samples of a
row side by side, as in a plane of a frame or in a part of one; such arrays are read where they are. Nothing may write into them
before the call returns. Other Python threads run meanwhile, and Ctrl-C ends the wait.

Every misuse is an exception that says what would work: `TypeError` for arrays of another kind, `ValueError` for values, `RuntimeError`
for devices that fail.
"""

from motion_search._field import Field
from motion_search._frames import Planes, denoise, interpolate
from motion_search._search import Device, Settings, devices, fields, search
from motion_search._video import video
from motion_search.packed import read_packed

__all__ = [
    "Device",
    "Field",
    "Planes",
    "Settings",
    "denoise",
    "devices",
    "fields",
    "interpolate",
    "read_packed",
    "search",
    "video",
]
__version__ = "0.1.0"

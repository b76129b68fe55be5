"""Reads motion vectors in the packed binary format of `motionserialize` and `motion-vectors`, with numpy alone.

It works without the rest of this package: `examples/read_packed.py` of the repository does that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

import numpy

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from motion_search._field import Field

HEADER = numpy.dtype([("magic", "S8"), ("version", "<u4"), ("record_size", "<u4")])
#: What a record begins with. Times are in nanoseconds, UNKNOWN if they are not known.
RECORD = numpy.dtype(
    [("size", "<u4"), ("metric", "<u4"), ("frame", "<u8"), ("pts", "<u8"), ("duration", "<u8"), ("reference_pts", "<u8")]
    + [(name, "<u4") for name in ("width", "height", "block_width", "block_height", "columns", "rows")]
    + [("reference_offset", "<i4"), ("scale", "<u4")]
)
#: x to the right and y down, in units of 1 / scale sample.
VECTOR = numpy.dtype([("x", "<i2"), ("y", "<i2"), ("cost", "<u4")])
METRICS = "sad", "ssd"
#: The metric of a record that is a note of a program and no frame.
NOTE = 2**32 - 1
UNKNOWN = 2**64 - 1
#: What files of Zstandard begin with.
ZSTD = bytes([0x28, 0xB5, 0x2F, 0xFD])


def read_records(data: bytes | memoryview) -> Iterator[tuple[Any, NDArray[Any], dict[str, NDArray[Any]]]]:
    """The records of a file's bytes: of each its description (RECORD), its vectors as a `rows x columns` array (VECTOR),
    and its further costs by name, as arrays of the same shape.

    A frame with several fields has several records. One without vectors, such as the first, has 0 rows and columns.

    Raises:
        ValueError: if the file is of another format, damaged or cut off.
    """
    if data[:4] == ZSTD:
        raise ValueError("it is packed by --zstd: unpack it with zstd -d, and read what that writes")
    if len(data) < HEADER.itemsize:
        raise ValueError("it is too short for packed motion vectors")
    header = numpy.frombuffer(data, HEADER, 1)[0]
    if header["magic"] != b"GSTMVECS" or header["version"] != 1:
        raise ValueError("it is no file of packed motion vectors")
    at = HEADER.itemsize
    while at < len(data):
        if len(data) - at < RECORD.itemsize:
            raise ValueError(f"it is cut off at byte {at}")
        record = numpy.frombuffer(data, RECORD, 1, at)[0]
        body, end = at + int(header["record_size"]), at + int(record["size"])
        if not body <= end <= len(data):
            raise ValueError(f"it is damaged or cut off at byte {at}")
        if record["metric"] != NOTE:
            shape = int(record["rows"]), int(record["columns"])
            blocks = shape[0] * shape[1]
            vectors = numpy.frombuffer(data[:end], VECTOR, blocks, body).reshape(shape)
            yield record, vectors, read_costs(data[body + vectors.nbytes : end], shape)
        at = end


def read_costs(data: bytes | memoryview, shape: tuple[int, int]) -> dict[str, NDArray[Any]]:
    """The costs behind the vectors of a record, by name."""
    if not data:
        return {}
    count = int(numpy.frombuffer(data, "<u4", 1)[0])
    names = numpy.frombuffer(data, "S16", count, 4)
    costs = numpy.frombuffer(data, "<u4", count * shape[0] * shape[1], 4 + names.nbytes).reshape(*shape, count)
    return {name.decode(): costs[:, :, index] for index, name in enumerate(names)}


def read_packed(file: str | os.PathLike[str]) -> Iterator[Field]:
    """The fields of a file in the packed binary format, which `motionserialize ! application/x-motion-vectors` and `motion-vectors` write.
    Frames without vectors, such as the first one, are left out.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is of another format, damaged or cut off.
    """
    from motion_search._field import Field

    with open(file, "rb") as opened:
        data = memoryview(opened.read())
    for record, vectors, costs in read_records(data):
        if vectors.size:
            yield Field(
                shape=(int(record["height"]), int(record["width"])),
                block_size=int(record["block_width"]),
                scale=int(record["scale"]),
                records=vectors,
                frame=int(record["frame"]),
                offset=int(record["reference_offset"]),
                pts=None if record["pts"] == UNKNOWN else int(record["pts"]),
                further_costs=costs,
            )

#!/usr/bin/env python3
"""Reads motion vectors from an appsink with gi and numpy.

    read_vectors.py [PIPELINE]

PIPELINE is a gst-launch description of everything before the appsink and must contain
`motionestimate`. Prints one line per frame. Needs python3-gi, python3-numpy and
gir1.2-gst-plugins-base-1.0.
"""

import sys

import gi
import numpy

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: E402, F401 (GstApp gives appsink its methods)

RECORD = [("x", "i2"), ("y", "i2"), ("cost", "u4")]
DEFAULT = "videotestsrc num-buffers=30 pattern=ball ! video/x-raw,width=320,height=240 ! motionestimate"


def read_field(buffer):
    """The motion field of a buffer as a `rows x columns` array of records, and the meta's structure.

    None and None if the buffer has no field, for example in the first frame of a stream.
    """
    meta = buffer.get_custom_meta("MotionVectorMeta")
    if meta is None:
        return None, None
    structure = meta.get_structure()
    shape = structure.get_value("rows"), structure.get_value("columns")
    data = structure.get_value("vectors").get_data()
    return numpy.frombuffer(data, RECORD).reshape(shape), structure


def main():
    Gst.init(None)
    description = " ".join(sys.argv[1:]) or DEFAULT
    pipeline = Gst.parse_launch(f"{description} ! appsink name=sink sync=false")
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    while (sample := sink.pull_sample()) is not None:
        buffer = sample.get_buffer()
        field, structure = read_field(buffer)
        if field is None:
            print(f"{buffer.pts} no vectors")
            continue
        scale = structure.get_value("scale")
        length = numpy.hypot(field["x"].astype(float), field["y"]) / scale
        print(
            f"{buffer.pts} {field.shape[1]} x {field.shape[0]} blocks, "
            f"length mean {length.mean():.2f} max {length.max():.2f} samples, "
            f"mean {structure.get_value('metric')} {field['cost'].mean():.1f}"
            # Costs are of samples of eight bits, or of as many as the field says.
            + (f" of {structure.get_value('bit-depth')} bits" if structure.has_field("bit-depth") else "")
        )
    message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if message is not None:
        sys.exit(str(message.parse_error().gerror.message))


if __name__ == "__main__":
    main()

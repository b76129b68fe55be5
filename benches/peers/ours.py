"""`motionestimate`, driven as an application does it: frames enter through appsrc, vectors leave through
appsink."""

import gi
import numpy

from common import Measured, NotHere, PeersError, Stopwatch, repeat
from prediction import grid, score_blocks

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: E402, F401 (GstApp gives appsrc and appsink their methods)

Gst.init(None)

RECORD = [("x", "i2"), ("y", "i2"), ("cost", "u4")]
STAGES = ("upload", "search", "download")


def make_element():
    """A `motionestimate`."""
    element = Gst.ElementFactory.make("motionestimate")
    if element is None:
        raise PeersError("GStreamer finds no motionestimate: set GST_PLUGIN_PATH to the plugin's folder")
    return element


def kernels():
    """The values of the property `kernel` in this build."""
    values = make_element().find_property("kernel").enum_class.__enum_values__.values()
    return [value.value_nick for value in values]


class Session:
    """A playing pipeline that returns each frame of an array with its vectors."""

    def __init__(self, frames, settings):
        self.pipeline = Gst.Pipeline()
        self.source = Gst.ElementFactory.make("appsrc")
        self.element = make_element()
        self.sink = Gst.ElementFactory.make("appsink")
        for name, value in settings.items():
            Gst.util_set_object_arg(self.element, name, str(value))
        height, width = frames.shape[1:]
        caps = f"video/x-raw,format=GRAY8,width={width},height={height},framerate=25/1"
        self.source.set_property("caps", Gst.Caps.from_string(caps))
        self.source.set_property("format", Gst.Format.TIME)
        self.sink.set_property("sync", False)
        for element in (self.source, self.element, self.sink):
            self.pipeline.add(element)
        self.source.link(self.element)
        self.element.link(self.sink)
        self.buffers = [self.buffer(index, frame) for index, frame in enumerate(frames)]

    @staticmethod
    def buffer(index, frame):
        # GStreamer pads GRAY8 rows to multiples of four bytes.
        padding = -frame.shape[1] % 4
        data = numpy.pad(frame, ((0, 0), (0, padding)))
        buffer = Gst.Buffer.new_wrapped(data.tobytes())
        buffer.pts = index * Gst.SECOND // 25
        if index == 0:
            # Each pass is a sequence of its own: its first frame has no reference.
            buffer.set_flags(Gst.BufferFlags.DISCONT)
        return buffer

    def __enter__(self):
        self.pipeline.set_state(Gst.State.PLAYING)
        return self

    def __exit__(self, *_):
        self.pipeline.set_state(Gst.State.NULL)

    def fail(self, message):
        error = message.parse_error()[0]
        if error.matches(Gst.ResourceError.quark(), Gst.ResourceError.NOT_FOUND):
            raise NotHere(error.message)
        raise PeersError(f"motionestimate: {error.message}")

    def one_pass(self):
        """Searches all frames in order. Returns the buffers that came out."""
        found = []
        bus = self.pipeline.get_bus()
        for buffer in self.buffers:
            self.source.push_buffer(buffer)
            while (sample := self.sink.try_pull_sample(Gst.SECOND // 10)) is None:
                if message := bus.pop_filtered(Gst.MessageType.ERROR):
                    self.fail(message)
                if self.sink.get_property("eos"):
                    raise PeersError("motionestimate ended the stream early")
            found.append(sample.get_buffer())
        return found

    def totals(self):
        """Total seconds per stage, from the element's statistics."""
        stats = self.element.get_property("stats")
        counts = {
            "upload": stats.get_value("frames"),
            "search": stats.get_value("frames-with-vectors"),
            "download": stats.get_value("frames-with-vectors"),
        }
        return {stage: stats.get_value(f"{stage}-time") * counts[stage] * 1e-9 for stage in STAGES}

    def device(self):
        """The device, and the kernel if it has another name."""
        stats = self.element.get_property("stats")
        device, kernel = stats.get_value("device"), stats.get_value("kernel")
        return device if device == kernel else f"{device}, {kernel}"


def read_records(buffer):
    """The records of all blocks, and the units of their vectors per sample."""
    meta = buffer.get_custom_meta("MotionVectorMeta")
    if meta is None:
        raise PeersError("motionestimate returned a frame without vectors")
    structure = meta.get_structure()
    shape = structure.get_value("rows"), structure.get_value("columns")
    records = numpy.frombuffer(structure.get_value("vectors").get_data(), RECORD).reshape(shape)
    return records, structure.get_value("scale")


def read_field(buffer, rows, columns):
    """The vectors of the first `rows x columns` blocks in whole samples, and their costs."""
    records, scale = read_records(buffer)
    records = records[:rows, :columns]
    vectors = numpy.stack([records["x"], records["y"]], axis=-1).astype(int)
    if (vectors % scale).any():
        raise PeersError("motionestimate returned sub-sample vectors, which this comparison does not support")
    return vectors // scale, records["cost"].astype(int)


def vectors_of_pair(reference, current, settings):
    """The vectors of all blocks of `current`, in samples."""
    with Session(numpy.stack([reference, current]), settings) as session:
        records, scale = read_records(session.one_pass()[1])
    return numpy.stack([records["x"], records["y"]], axis=-1) / scale


def search(frames, settings, block_size):
    """The fields of all frames except the first, and their costs. For the self-test."""
    with Session(frames, settings) as session:
        buffers = session.one_pass()[1:]
    rows, columns = grid(frames[0], block_size)
    return zip(*(read_field(buffer, rows, columns) for buffer in buffers))


def measure(frames, settings, block_size, least_seconds):
    """The time of the element's stages per frame and the score of its vectors."""
    rows, columns = grid(frames[0], block_size)
    with Session(frames, settings) as session:
        # The first pass warms up; its vectors are scored.
        fields = [read_field(buffer, rows, columns)[0] for buffer in session.one_pass()[1:]]
        before = session.totals()
        stopwatch = Stopwatch()
        with stopwatch:
            _, passes = repeat(session.one_pass, least_seconds)
        after = session.totals()
        device = session.device()
    # Every frame is uploaded; the first of a pass is not searched.
    counts = {"upload": len(frames), "search": len(fields), "download": len(fields)}
    stages = {stage: (after[stage] - before[stage]) / passes / counts[stage] for stage in STAGES}
    blocks = score_blocks(frames, fields, block_size)
    return Measured(sum(stages.values()), blocks, stopwatch.share, stages=stages, device=device)

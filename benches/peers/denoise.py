"""What encoders gain from a denoiser: bits for equal quality, with x264 or x265 behind `motiondenoise` and FFmpeg's filters.

The BD-rate is the mean change of the bit rate over the qualities that both encodes reach, PSNR and SSIM of luma; less
than zero is a gain. Quality is that of the decoded frames beside the *unfiltered* frames that went into the filter.
`--noise` adds white noise of that standard deviation to all planes first.
"""

import time
from fractions import Fraction

import av
import numpy

import ffmpeg
import ours
from common import PeersError
from ours import Gst
from report import markdown
from smooth import RATE, Clip, ours_layout, psnr, ssim

# Constant rate factors.
FACTORS = (20, 25, 30, 35)
PRESETS = {
    "veryfast, zerolatency": {"preset": "veryfast", "tune": "zerolatency"},
    "medium": {"preset": "medium"},
}
# Decoders, and options for one thread.
ENCODERS = {
    "x264": ("h264", {"threads": "1"}),
    "x265": ("hevc", {"x265-params": "pools=none:frame-threads=1:log-level=error"}),
}


def by_element(clip, settings):
    """The frames that `motiondenoise` makes in one thread, and its time."""
    line = (
        f"appsrc name=source format=time caps=video/x-raw,format=I420,width={clip.width},height={clip.height},"
        f"framerate={RATE}/1 ! motiondenoise name=element device=native threads=1 {settings} ! "
        "appsink name=sink sync=false"
    )
    pipeline = Gst.parse_launch(line)
    source, sink = pipeline.get_by_name("source"), pipeline.get_by_name("sink")
    for index, samples in enumerate(clip.frames):
        buffer = Gst.Buffer.new_wrapped(ours_layout(clip, samples))
        buffer.pts, buffer.duration = index * Gst.SECOND // RATE, Gst.SECOND // RATE
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    pipeline.set_state(Gst.State.PLAYING)
    made = []
    while sample := sink.emit("pull-sample"):
        data = sample.get_buffer().extract_dup(0, sample.get_buffer().get_size())
        made.append(without_padding(clip, data))
    stats = pipeline.get_by_name("element").get_property("stats")
    error = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if error:
        raise PeersError(f"motiondenoise: {error.parse_error()[0].message}")
    value = stats.get_value
    spent = value("load-time") * value("frames-in") + value("denoise-time") * len(made)
    return made, spent / 1e9


def without_padding(clip, data):
    """The planes of an I420 buffer without what pads its rows, as one array."""
    flat, planes, at = numpy.frombuffer(data, numpy.uint8), [], 0
    for width, height in ((clip.width, clip.height),) + ((clip.width // 2, clip.height // 2),) * 2:
        stride = (width + 3) // 4 * 4
        planes.append(flat[at : at + stride * height].reshape(height, stride)[:, :width].reshape(-1))
        at += stride * height
    return numpy.concatenate(planes).reshape(clip.height * 3 // 2, clip.width)


def by_filter(clip, filter_and_settings):
    """The frames that a filter of FFmpeg's makes in one thread, and its time."""
    name, _, settings = filter_and_settings.partition("=")
    source = (
        f"video_size={clip.width}x{clip.height}:pix_fmt=yuv420p:time_base=1/{RATE}:pixel_aspect=1/1:frame_rate={RATE}"
    )
    graph = ffmpeg.filter_graph(source, name, settings)
    made, spent = [], 0
    for frame in [*as_frames(clip.frames), None]:
        began = time.thread_time()
        graph.push(frame)
        pulled = []
        while (out := ffmpeg.pull(graph)) is not None:
            pulled.append(out)
        spent += time.thread_time() - began
        made += [out.to_ndarray() for out in pulled]
    return made, spent


def as_frames(arrays):
    for index, samples in enumerate(arrays):
        frame = av.VideoFrame.from_ndarray(numpy.ascontiguousarray(samples), format="yuv420p")
        frame.pts, frame.time_base = index, Fraction(1, RATE)
        yield frame


def encoded(frames, name, options, factor):
    """The bits of `frames` and the frames that are decoded of them."""
    codec, one_thread = ENCODERS[name]
    encoder = av.CodecContext.create(f"lib{name}", "w")
    encoder.height, encoder.width = frames[0].shape[0] * 2 // 3, frames[0].shape[1]
    encoder.pix_fmt, encoder.framerate, encoder.time_base = "yuv420p", Fraction(RATE), Fraction(1, RATE)
    encoder.options = options | one_thread | {"crf": str(factor)}
    packets = [packet for frame in [*as_frames(frames), None] for packet in encoder.encode(frame)]
    decoder = av.CodecContext.create(codec, "r")
    decoded = [frame for packet in [*packets, None] for frame in decoder.decode(packet)]
    return 8 * sum(packet.size for packet in packets), [frame.to_ndarray(format="yuv420p") for frame in decoded]


def curve(frames, originals, luma, encoder, options):
    """Bits, PSNR and SSIM in dB for each factor."""
    points = []
    for factor in FACTORS:
        bits, decoded = encoded(frames, encoder, options, factor)
        if len(decoded) != len(originals):
            raise PeersError(f"{encoder}: {len(decoded)} of {len(originals)} frames came back")
        pairs = [(luma(made), luma(original)) for made, original in zip(decoded, originals)]
        structure = numpy.mean([ssim(*pair) for pair in pairs])
        points.append((bits, numpy.mean([psnr(*pair) for pair in pairs]), -10 * numpy.log10(1 - structure)))
    return numpy.array(points)


def monotone_cubic(x, y):
    """The interpolation of Fritsch and Butland through points with rising `x`."""
    step = numpy.diff(x)
    rise = numpy.diff(y) / step
    slope = numpy.zeros(len(x))
    for at in range(1, len(x) - 1):
        if rise[at - 1] * rise[at] > 0:
            before, after = 2 * step[at] + step[at - 1], step[at] + 2 * step[at - 1]
            slope[at] = (before + after) / (before / rise[at - 1] + after / rise[at])
    slope[0], slope[-1] = rise[0], rise[-1]

    def value(at):
        index = numpy.clip(numpy.searchsorted(x, at) - 1, 0, len(x) - 2)
        part = (at - x[index]) / step[index]
        return (
            (1 + 2 * part) * (1 - part) ** 2 * y[index]
            + part * (1 - part) ** 2 * step[index] * slope[index]
            + part**2 * (3 - 2 * part) * y[index + 1]
            + part**2 * (part - 1) * step[index] * slope[index + 1]
        )

    return value


def bd_rate(anchor, other, score):
    """The change of the bit rate in percent at equal quality (Bjøntegaard 2001); None if no quality is common."""
    curves, low, high = [], -numpy.inf, numpy.inf
    for points in (anchor, other):
        order = numpy.argsort(points[:, score])
        quality, bits = points[order, score], numpy.log(points[order, 0])
        curves.append(monotone_cubic(quality, bits))
        low, high = max(low, quality[0]), min(high, quality[-1])
    if low >= high:
        return None
    at = numpy.linspace(low, high, 500)
    return 100 * (numpy.exp(numpy.mean(curves[1](at) - curves[0](at))) - 1)


FILTERS = {
    "motiondenoise": (by_element, ""),
    "motiondenoise future=0": (by_element, "future=0"),
    "hqdn3d=1.5": (by_filter, "hqdn3d=1.5"),
    "atadenoise": (by_filter, "atadenoise"),
    "nlmeans=1.5": (by_filter, "nlmeans=1.5"),
}


def cell(rates):
    return " / ".join("none" if rate is None else f"{rate:+.1f}" for rate in rates)


def compare(paths, skip, count, noise, encoder, quick, progress):
    """Measures all filters on the clips and prints the tables."""
    ours.make_element()
    filters = dict(list(FILTERS.items())[: 3 if quick else None])
    presets = dict(list(PRESETS.items())[: 1 if quick else None])
    rates = {preset: {name: [] for name in filters} for preset in presets}
    times, names = {name: [] for name in filters}, []
    for path in paths:
        clip = Clip(path, skip, count)
        if noise:
            random = numpy.random.default_rng(1)
            clip.frames = [
                numpy.clip(numpy.round(random.normal(samples, noise)), 0, 255).astype(numpy.uint8)
                for samples in clip.frames
            ]
        names.append(clip.name)
        measure = lambda frames, options: curve(frames, clip.frames, clip.luma, encoder, options)
        anchors = {preset: measure(clip.frames, options) for preset, options in presets.items()}
        for name, (make, settings) in filters.items():
            progress(f"{clip.name}: {name}")
            made, spent = make(clip, settings)
            times[name].append(1e3 * spent / len(made))
            for preset, options in presets.items():
                points = measure(made, options)
                rates[preset][name].append([bd_rate(anchors[preset], points, score) for score in (1, 2)])
        progress("")
    added = f", with noise of {noise:g} added" if noise else ""
    for preset, found in rates.items():
        rows = [[name, *(cell(found[of][at]) for of in filters)] for at, name in enumerate(names)]
        if len(names) > 1:
            of_all = lambda of, score: [rate[score] for rate in found[of] if rate[score] is not None]
            rows.append(["mean", *(cell([numpy.mean(of_all(of, score)) for score in (0, 1)]) for of in filters)])
        head = [f"BD-rate, PSNR / SSIM, % ({encoder}, {preset}{added})", *filters]
        print(f"\n{markdown(head, rows)}", flush=True)
    rows = [[name, *(f"{times[of][at]:.1f}" for of in filters)] for at, name in enumerate(names)]
    print(f"\n{markdown(['ms a frame, one thread', *filters], rows)}")

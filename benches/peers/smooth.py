"""Frames between frames: every second frame of a clip is left out, made again from the others and compared.

Made by `motioninterpolate`, the mean of both neighbours, FFmpeg's `minterpolate`, and warping along OpenCV's DIS flow.
PSNR and SSIM are those of luma, and the mean over the frames that all of them made. The time is that of a made frame in
one thread, all planes and the search included; DIS warps luma only.
"""

import time
from fractions import Fraction

import av
import cv2
import numpy

import ffmpeg
import ours
from common import PeersError
from frames import decoded
from ours import Gst
from report import markdown

RATE = 25
MINTERPOLATE = {
    "minterpolate": "",
    "minterpolate bidir": ":me_mode=bidir",
    "minterpolate aobmc": ":mc_mode=aobmc",
    "minterpolate bidir, aobmc": ":me_mode=bidir:mc_mode=aobmc",
    "minterpolate bidir, aobmc, vsbmc": ":me_mode=bidir:mc_mode=aobmc:vsbmc=1",
}
# PSNR of a frame that equals the original.
MOST_PSNR = 60


class Clip:
    """Frames of a clip as 4:2:0 planes in one array each, and their size, which is even."""

    # How PyAV and GStreamer name the planes, and how often `minterpolate` gets the first and the last frame once more.
    pixels, caps_format, padding = "yuv420p", "I420", 0

    def __init__(self, path, skip, count):
        self.name, self.frames = path.name, []
        for index, frame in enumerate(decoded(path)):
            if index >= skip and len(self.frames) < count:
                self.width, self.height = frame.width // 2 * 2, frame.height // 2 * 2
                frame = frame.reformat(format=self.pixels)
                samples = frame.to_ndarray()
                if samples.shape != (self.height * 3 // 2, self.width):
                    raise PeersError(f"{path}: frames of odd size are not compared")
                self.frames.append(samples)
        if len(self.frames) < 5:
            raise PeersError(f"{path} has {len(self.frames)} frames after the first {skip}; five are needed")

    def planes(self, samples):
        """The planes of a frame."""
        flat, planes, at = samples.reshape(-1), [], 0
        for height, width in ((self.height, self.width),) + ((self.height // 2, self.width // 2),) * 2:
            planes.append(flat[at : at + width * height].reshape(height, width))
            at += width * height
        return planes

    def luma(self, samples):
        return samples[: self.height]

    def original(self, index):
        """What a made frame is compared with."""
        return self.luma(self.frames[index])

    def compared(self, planes):
        """What is compared of a made frame."""
        return planes[0]


def by_element(clip, settings):
    """The frames that `motioninterpolate` makes."""
    line = (
        f"appsrc name=source format=time caps=video/x-raw,format={clip.caps_format},width={clip.width},height={clip.height},"
        f"framerate={RATE}/1 ! motioninterpolate name=element device=native threads=1 {settings} ! "
        f"video/x-raw,framerate={2 * RATE}/1 ! appsink name=sink sync=false"
    )
    pipeline = Gst.parse_launch(line)
    source, sink = pipeline.get_by_name("source"), pipeline.get_by_name("sink")
    for index, samples in enumerate(clip.frames[::2]):
        buffer = Gst.Buffer.new_wrapped(ours_layout(clip, samples))
        buffer.pts, buffer.duration = index * Gst.SECOND // RATE, Gst.SECOND // RATE
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    pipeline.set_state(Gst.State.PLAYING)
    made = {}
    while sample := sink.emit("pull-sample"):
        index = round(sample.get_buffer().pts * 2 * RATE / Gst.SECOND)
        if index % 2 == 1 and index < len(clip.frames):
            data = sample.get_buffer().extract_dup(0, sample.get_buffer().get_size())
            made[index] = clip.compared(planes_of(clip, numpy.frombuffer(data, numpy.uint8)))
    stats = pipeline.get_by_name("element").get_property("stats")
    error = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if error:
        raise PeersError(f"motioninterpolate: {error.parse_error()[0].message}")
    value = stats.get_value
    spent = value("load-time") * value("frames-in") + value("make-time") * value("made")
    return made, spent / 1e9


def ours_layout(clip, samples):
    """The bytes of a buffer: GStreamer pads rows to multiples of four bytes."""
    return b"".join(numpy.pad(plane, ((0, 0), (0, -plane.shape[1] % 4))).tobytes() for plane in clip.planes(samples))


def planes_of(clip, data):
    """The planes in the bytes of a buffer."""
    planes, at = [], 0
    for height, width in (plane.shape for plane in clip.planes(clip.frames[0])):
        stride = width + -width % 4
        planes.append(data[at : at + stride * height].reshape(height, stride)[:, :width])
        at += stride * height
    return planes


def av_frame(clip, samples):
    """A frame in FFmpeg's own memory."""
    frame = av.VideoFrame(clip.width, clip.height, clip.pixels)
    for to, plane in zip(frame.planes, clip.planes(samples)):
        to.update(numpy.pad(plane, ((0, 0), (0, to.line_size - plane.shape[1]))))
    return frame


def av_planes(frame):
    return [
        numpy.frombuffer(plane, numpy.uint8).reshape(-1, plane.line_size)[: plane.height, : plane.width]
        for plane in frame.planes
    ]


def by_minterpolate(clip, settings):
    """The frames that FFmpeg's filter makes."""
    source = (
        f"video_size={clip.width}x{clip.height}:pix_fmt={clip.pixels}:time_base=1/{RATE}:pixel_aspect=1/1:frame_rate={RATE}"
    )
    graph = ffmpeg.filter_graph(source, "minterpolate", f"fps={2 * RATE}{settings}")
    sources = clip.frames[::2]
    padded = [sources[0]] * clip.padding + sources + [sources[-1]] * clip.padding
    frames = []
    for index, samples in enumerate(padded):
        frame = av_frame(clip, samples)
        frame.pts, frame.time_base = index, Fraction(1, RATE)
        frames.append(frame)
    made, spent = {}, 0
    for frame in [*frames, None]:
        began = time.thread_time()
        graph.push(frame)
        pulled = []
        while (out := ffmpeg.pull(graph)) is not None:
            pulled.append(out)
        spent += time.thread_time() - began
        for out in pulled:
            index = round(out.pts * out.time_base * 2 * RATE) - 2 * clip.padding
            if index % 2 == 1 and 0 < index < len(clip.frames):
                made[index] = clip.compared(av_planes(out)).copy()
    return made, spent


def by_flow(clip, _):
    """Both neighbours warped to the middle along OpenCV's DIS flow, and their mean."""
    dis = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    y, x = numpy.mgrid[0 : clip.height, 0 : clip.width].astype(numpy.float32)
    made, began = {}, time.thread_time()
    for index in range(1, len(clip.frames) - 1, 2):
        before, after = (clip.luma(clip.frames[at]) for at in (index - 1, index + 1))
        flows = dis.calc(before, after, None), dis.calc(after, before, None)
        halves = [
            cv2.remap(frame, x - flow[..., 0] / 2, y - flow[..., 1] / 2, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
            for frame, flow in zip((clip.original(index - 1), clip.original(index + 1)), flows)
        ]
        made[index] = cv2.addWeighted(halves[0], 0.5, halves[1], 0.5, 0)
    return made, time.thread_time() - began


CONTESTANTS = {
    "motioninterpolate": (by_element, "quality=fast"),
    "motioninterpolate balanced": (by_element, "quality=balanced"),
    "motioninterpolate high": (by_element, "quality=high"),
    "mean of both": (by_element, "mode=blend"),
    "DIS medium, warped": (by_flow, ""),
} | {name: (by_minterpolate, settings) for name, settings in MINTERPOLATE.items()}


def contestants(quick):
    """What makes frames, by name: a function and its settings."""
    ours.make_element()
    return dict(list(CONTESTANTS.items())[: 6 if quick else None])


def psnr(a, b):
    error = numpy.mean((a.astype(numpy.float32) - b) ** 2)
    return min(MOST_PSNR, 10 * numpy.log10(65025 / error)) if error else MOST_PSNR


def ssim(a, b):
    """Structural similarity (Wang 2004): Gaussian windows of 11 x 11."""
    blur = lambda samples: cv2.GaussianBlur(samples, (11, 11), 1.5)[5:-5, 5:-5]
    a, b = a.astype(numpy.float32), b.astype(numpy.float32)
    mean_a, mean_b = blur(a), blur(b)
    var_a, var_b, both = blur(a * a) - mean_a**2, blur(b * b) - mean_b**2, blur(a * b) - mean_a * mean_b
    c1, c2 = 6.5025, 58.5225
    return numpy.mean((2 * mean_a * mean_b + c1) * (2 * both + c2) / ((mean_a**2 + mean_b**2 + c1) * (var_a + var_b + c2)))


def compare(paths, skip, count, quick, progress):
    """Measures all contestants on the clips and prints the tables."""
    cv2.setNumThreads(1)
    makers = contestants(quick)
    totals = {name: [] for name in makers}
    rows = []
    for path in paths:
        clip = Clip(path, skip, count)
        results = {}
        for name, (make, settings) in makers.items():
            progress(f"{clip.name}: {name}")
            results[name] = make(clip, settings)
        progress("")
        common = set.intersection(*(set(made) for made, _ in results.values()))
        if not common:
            raise PeersError(f"{clip.name} is too short: minterpolate made nothing")
        for name, (made, spent) in results.items():
            pairs = [(made[index], clip.original(index)) for index in sorted(common)]
            found = [numpy.mean([score(*pair) for pair in pairs]) for score in (psnr, ssim)]
            totals[name].append((*found, 1e3 * spent / len(made)))
        rows.append([clip.name, *(f"{totals[name][-1][0]:.2f} / {totals[name][-1][1]:.3f}" for name in makers)])
    if len(paths) > 1:
        means = {name: numpy.mean([scores[:2] for scores in found], axis=0) for name, found in totals.items()}
        rows.append(["mean", *(f"{means[name][0]:.2f} / {means[name][1]:.3f}" for name in makers)])
    print(f"\nPSNR of luma in dB / SSIM of the made frames:\n\n{markdown(['clip', *makers], rows)}")
    times = [
        [path.name, *(f"{totals[name][at][2]:.1f}" for name in makers)] for at, path in enumerate(paths)
    ]
    print(f"\nTime of a made frame in one thread, ms:\n\n{markdown(['clip', *makers], times)}")

"""FFmpeg's filter `mestimate`, driven through PyAV on frames in memory.

Its vectors are frame side data (libavutil/motion_vector.h): a block's centre in the frame (`dst`) and
in the reference (`src`); `source` is negative if the reference is the previous frame. `src - dst` is
therefore a vector as defined in prediction.py. What the measurement has to allow for:

- It searches both the previous and the next frame: half of its time is counted.
- A frame comes out when the next one has gone in, and the last frame never comes out: it is given one
  frame more than is measured.
- The first frame comes out with vectors to a previous frame that does not exist (itself, all zero):
  neither these vectors nor their time is counted.
- Its time depends on the content: unchanged blocks are not searched, and flat frames take a fifth of the
  time of noise. Clips are measured where they move, and the share of unchanged blocks is printed.
- Partial blocks at the edges have no vectors, and no vector points outside the whole blocks: every
  contestant is measured over whole blocks only.
"""

from fractions import Fraction

import av
import numpy

from common import Measured, PeersError, Stopwatch, repeat
from prediction import grid, score_blocks

METHODS = ("esa", "tss", "ds", "hexbs", "epzs", "umh")
TIME_BASE = Fraction(1, 25)


def make_frames(frames):
    """The frames as PyAV frames, in FFmpeg's own memory."""
    av_frames = []
    for index, frame in enumerate(frames):
        av_frame = av.VideoFrame.from_ndarray(numpy.ascontiguousarray(frame), format="gray")
        av_frame.pts, av_frame.time_base = index, TIME_BASE
        av_frames.append(av_frame)
    return av_frames


def filter_graph(source, name, settings):
    """A filter graph that holds only the filter `name`, behind a `buffer` as `source` says."""
    graph = av.filter.Graph()
    chain = [graph.add("buffer", source), graph.add(name, settings), graph.add("buffersink")]
    for before, after in zip(chain, chain[1:]):
        before.link_to(after)
    graph.configure()
    return graph


def make_graph(frames, method, search_range, block_size):
    """A filter graph that holds only `mestimate`."""
    height, width = frames.shape[1:]
    source = f"video_size={width}x{height}:pix_fmt=gray:time_base={TIME_BASE}:pixel_aspect=1/1"
    settings = f"method={method}:mb_size={block_size}:search_param={search_range}"
    return filter_graph(source, "mestimate", settings)


def pull(graph):
    """The next frame, or None if none is ready."""
    try:
        return graph.pull()
    except (av.error.BlockingIOError, av.error.EOFError):
        return None


def one_pass(graph, av_frames, stopwatch):
    """Searches all frames except the first and the last while the stopwatch runs. Returns the frames
    that came out."""
    graph.push(av_frames[0])
    graph.push(av_frames[1])
    fake = pull(graph)
    if fake is None or fake.pts != 0:
        raise PeersError("mestimate no longer returns the first frame after the second was pushed")
    found = []
    with stopwatch:
        for frame in av_frames[2:]:
            graph.push(frame)
            found.append(pull(graph))
    if [frame and frame.pts for frame in found] != [frame.pts for frame in av_frames[1:-1]]:
        raise PeersError("mestimate did not return one frame for each frame pushed")
    return found


def read_field(frame, shape, block_size):
    """The vectors to the previous frame, `rows x columns x 2`, in samples."""
    data = frame.side_data.get("MOTION_VECTORS")
    if data is None:
        raise PeersError("mestimate returned a frame without vectors")
    records = data.to_ndarray()
    past = records[records["source"] < 0]
    field = numpy.full((*shape, 2), numpy.iinfo(int).min)
    column = (past["dst_x"].astype(int) - block_size // 2) // block_size
    row = (past["dst_y"].astype(int) - block_size // 2) // block_size
    field[row, column, 0] = past["src_x"].astype(int) - past["dst_x"]
    field[row, column, 1] = past["src_y"].astype(int) - past["dst_y"]
    if (field == numpy.iinfo(int).min).any():
        raise PeersError("mestimate left a whole block without a vector")
    return field


def search(frames, method, search_range, block_size):
    """The fields of all frames except the first and the last. For the self-test."""
    graph = make_graph(frames, method, search_range, block_size)
    found = one_pass(graph, make_frames(frames), Stopwatch())
    return [read_field(frame, grid(frames[0], block_size), block_size) for frame in found]


def measure(frames, method, search_range, block_size, least_seconds):
    """The time of a search in one direction and the score of its vectors. The last frame is needed
    for the other direction only."""
    av_frames, stopwatch = make_frames(frames), Stopwatch()
    found, passes = repeat(
        lambda: one_pass(make_graph(frames, method, search_range, block_size), av_frames, stopwatch),
        least_seconds,
    )
    shape = grid(frames[0], block_size)
    fields = [read_field(frame, shape, block_size) for frame in found]
    searches = 2 * len(fields) * passes
    blocks = score_blocks(frames, fields, block_size)
    return Measured(stopwatch.seconds / searches, blocks, stopwatch.share)

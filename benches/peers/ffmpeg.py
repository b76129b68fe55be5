"""FFmpeg's filter `mestimate`, driven through PyAV on frames in memory.

Its vectors are frame side data (libavutil/motion_vector.h): a block's centre in the frame (`dst`) and
in the reference (`src`), and `source` negative where the reference is the frame before. `src - dst` is
therefore a vector as prediction.py has it. What has to be worked around:

- It searches both the frame before and the one after: half of its time is counted.
- A frame comes out when the one after it has gone in, and the last never does: the last frame given
  to it is one more than is measured.
- The first frame comes out with vectors to a frame before it that does not exist (itself, all zero):
  they are not counted, nor is their time.
- Its time depends on the frames: a block that has not changed is not searched, and of what is, flat
  frames take a fifth of the time of noise. Clips are measured where they move, and the share of
  unchanged blocks is told.
- Blocks that do not fit whole into the frame have no vectors, and no vector points at samples outside
  the whole blocks: everybody is measured over whole blocks alone.
"""

from fractions import Fraction

import av
import numpy

from common import Measured, PeersError, Stopwatch, repeat
from prediction import grid, score_blocks

METHODS = ("esa", "tss", "ds", "hexbs", "epzs", "umh")
TIME_BASE = Fraction(1, 25)


def make_frames(frames):
    """The frames as FFmpeg has them, in memory of its own."""
    frames = []
    for index, frame in enumerate(frames):
        frame = av.VideoFrame.from_ndarray(numpy.ascontiguousarray(frame), format="gray")
        frame.pts, frame.time_base = index, TIME_BASE
        frames.append(frame)
    return frames


def make_graph(frames, method, search_range, block_size):
    """A filter graph of `mestimate` alone."""
    height, width = frames.shape[1:]
    graph = av.filter.Graph()
    source = graph.add(
        "buffer", f"video_size={width}x{height}:pix_fmt=gray:time_base={TIME_BASE}:pixel_aspect=1/1"
    )
    search = graph.add("mestimate", f"method={method}:mb_size={block_size}:search_param={search_range}")
    sink = graph.add("buffersink")
    source.link_to(search)
    search.link_to(sink)
    graph.configure()
    return graph


def pull(graph):
    """The frame that is ready, or None."""
    try:
        return graph.pull()
    except (av.error.BlockingIOError, av.error.EOFError):
        return None


def one_pass(graph, frames, stopwatch):
    """Searches all frames but the first and the last, with the stopwatch running; the frames that came out."""
    graph.push(frames[0])
    graph.push(frames[1])
    fake = pull(graph)
    if fake is None or fake.pts != 0:
        raise PeersError("mestimate no longer gives the first frame when the second has come")
    found = []
    with stopwatch:
        for frame in frames[2:]:
            graph.push(frame)
            found.append(pull(graph))
    if [frame and frame.pts for frame in found] != [frame.pts for frame in frames[1:-1]]:
        raise PeersError("mestimate did not give one frame for each that went in")
    return found


def read_field(frame, shape, block_size):
    """The vectors to the frame before, `rows x columns x 2` in samples."""
    data = frame.side_data.get("MOTION_VECTORS")
    if data is None:
        raise PeersError("mestimate gave a frame no vectors")
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
    """The fields of all frames but the first and the last. For tests."""
    graph = make_graph(frames, method, search_range, block_size)
    found = one_pass(graph, make_frames(frames), Stopwatch())
    return [read_field(frame, grid(frames[0], block_size), block_size) for frame in found]


def measure(frames, method, search_range, block_size, least_seconds):
    """The time of a search in one direction and the score of its vectors. The last frame serves
    the other direction alone."""
    frames, stopwatch = make_frames(frames), Stopwatch()
    found, passes = repeat(
        lambda: one_pass(make_graph(frames, method, search_range, block_size), frames, stopwatch),
        least_seconds,
    )
    shape = grid(frames[0], block_size)
    fields = [read_field(frame, shape, block_size) for frame in found]
    searches = 2 * len(fields) * passes
    blocks = score_blocks(frames, fields, block_size)
    return Measured(stopwatch.seconds / searches, blocks, stopwatch.share)

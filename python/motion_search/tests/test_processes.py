"""Threads, forks, interpreters and signals."""

import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import motion_search as ms
from conftest import moving

#: How long a process may take that must not hang, in seconds.
PATIENCE = 120

FRAMES = moving(4, 70, 90)


def found(index=1, **settings):
    return ms.search(FRAMES[index], FRAMES[index - 1], **settings).records.tobytes()


def all_found(index):
    """What a child finds: pairs, streams, made frames and clean ones."""
    fields = b"".join(field.records.tobytes() for field in ms.fields(FRAMES))
    frames = [*ms.interpolate(FRAMES[0], FRAMES[1]), *ms.denoise(FRAMES)]
    return found(index), fields, [frame.tobytes() for frame in frames]


def test_a_pool_that_is_forked_after_a_search_finds_the_same():
    # Large enough for copies that threads share.
    large = moving(2, 1080, 1920)
    for frames in ((FRAMES[1], FRAMES[0]), large):
        ms.search(*frames)
    list(ms.denoise(large))
    expected = [all_found(index) for index in (1, 2, 3)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(all_found, (1, 2, 3)).get(PATIENCE) == expected
        assert pool.apply_async(len, (list(ms.denoise(large)),)).get(PATIENCE) == 2
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map_async(all_found, (1, 2, 3)).get(PATIENCE) == expected


def in_fork(work):
    """What `work` returns in a forked process."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=lambda: sender.send(work()))
    process.start()
    assert receiver.poll(PATIENCE), "the forked process hangs"
    result = receiver.recv()
    process.join(PATIENCE)
    assert process.exitcode == 0
    return result


def test_what_was_begun_before_a_fork_says_so_and_does_not_hang():
    fields, frames = ms.fields(FRAMES), ms.denoise(iter(FRAMES), future=0)
    next(fields), next(frames)

    def tell():
        told = []
        for stream in (fields, frames):
            with pytest.raises(RuntimeError, match="made before the process was forked.*make a new one in this process") as error:
                next(stream)
            told.append(str(error.value))
        return told

    assert len(in_fork(tell)) == 2
    # Here they go on.
    assert len(list(fields)) == 2 and len(list(frames)) == 3


def test_a_fork_after_opencl_has_the_cpu_alone():
    devices = ms.devices()
    assert len(devices) > 1, "no OpenCL device: install the package pocl-opencl-icd"
    expected = found(device=devices[1].device)

    def tell():
        with pytest.raises(RuntimeError, match='cannot be used in a process that was forked after OpenCL was used.*"spawn"'):
            found(device=devices[1].device)
        return found(), found(device="native"), ms.devices()

    assert in_fork(tell) == (expected, expected, devices[:1])


def test_threads_search_at_the_same_time():
    expected = [found(index) for index in (1, 2, 3)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(found, [1, 2, 3] * 20)) == expected * 20


def test_an_iterator_is_of_one_thread():
    def frames():
        yield FRAMES[0]
        # While the iterator waits for a frame, it can be closed, not continued.
        with pytest.raises(ValueError, match="already executing"):
            next(fields)
        yield FRAMES[1]

    fields = ms.fields(frames())
    assert len(list(fields)) == 1


def test_other_threads_run_while_one_searches():
    # Noise, of which no candidate is excluded early.
    first, second = numpy.random.default_rng(1).integers(0, 255, (2, 1080, 1920)).astype(numpy.uint8)
    beats, is_over = [], threading.Event()

    def beat():
        while not is_over.wait(0.002):
            beats.append(time.monotonic())

    thread = threading.Thread(target=beat)
    thread.start()
    seconds, search_range = 0.0, 16
    # It takes long enough for a hundred beats, on any machine.
    while seconds < 0.3:
        search_range *= 2
        began = time.monotonic()
        ms.search(first, second, algorithm="full", search_range=search_range, device="native")
        seconds = time.monotonic() - began
    is_over.set()
    thread.join()
    assert sum(began < beat < began + seconds for beat in beats) > 20


INTERRUPTED = """
import sys, time
import numpy, motion_search as ms
work, block_size = sys.argv[1], int(sys.argv[2])
frame = numpy.random.default_rng(1).integers(0, 255, (1080, 1920)).astype(numpy.uint8)
frames = frame, frame[::-1].copy()
small = frame[:64, :64]
ms.search(small, small)
# It takes hours.
settings = dict(algorithm="full", search_range=1000, sub_sample="quarter", device="native", block_size=block_size)
print("ready", flush=True)
try:
    if work == "pair":
        ms.search(*frames, **settings)
    else:
        list(ms.fields(frames, **settings))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    # The library still works.
    print(ms.search(small, small).costs.sum(), flush=True)
"""


# Small blocks are compared with all candidates, larger ones with those that bounds do not exclude.
@pytest.mark.parametrize("work, block_size", [("pair", 4), ("pair", 16), ("stream", 8)])
def test_ctrl_c_ends_the_wait(work, block_size):
    arguments = [sys.executable, "-c", INTERRUPTED, work, str(block_size)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.stdout.readline() == "0\n"
        # At its end a process does not wait for what it no longer wants.
        assert process.wait(PATIENCE) == 0
        watch.cancel()


SUBINTERPRETER = """
import sys
import numpy, motion_search as ms
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
one = interpreters.create()
told = interpreters.run_string(one, '''
try:
    import motion_search
except ImportError as error:
    print("ImportError:", error, flush=True)
else:
    print("no error", flush=True)
''')
print("then", ms.search(numpy.zeros((8, 8), numpy.uint8), numpy.zeros((8, 8), numpy.uint8)).costs.sum(), flush=True)
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before Python 3.12 interpreters share what refuses them")
def test_another_interpreter_is_refused():
    done = subprocess.run([sys.executable, "-c", SUBINTERPRETER], capture_output=True, text=True, timeout=PATIENCE)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[-1] == "then 0", done
    # numpy may be the first to refuse.
    assert lines[0].startswith("ImportError:"), done


def test_nothing_is_kept_of_arrays():
    frame = FRAMES[0].copy()
    before = sys.getrefcount(frame)
    ms.search(frame, frame)
    for wrong in ({"block_size": 5}, {"device": "no such"}):
        with pytest.raises(ValueError):
            ms.search(frame, frame, **wrong)
    list(ms.fields([frame] * 3))
    frame.flags.writeable = False
    list(ms.fields([frame] * 3))
    assert [numpy.array_equal(one, frame) for one in ms.denoise([frame] * 3)] == [True] * 3
    # References that other threads let go are counted at the next call.
    ms.devices()
    assert sys.getrefcount(frame) == before

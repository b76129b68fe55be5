"""Every misuse is an exception that says what would work."""

import numpy
import pytest

import motion_search as ms

A = numpy.zeros((40, 48), numpy.uint8)
DEEP = A.astype(numpy.uint16)


@pytest.mark.parametrize(
    "arrays, error, text",
    [
        (([[1, 2]], A), TypeError, r"current is a list, not a numpy.ndarray: convert it with numpy.asarray"),
        ((A, None), TypeError, "reference is a NoneType, not a numpy.ndarray"),
        ((A.astype(float), A), TypeError, "current is an array of float64: samples are uint8 or uint16"),
        ((DEEP.astype(">u2"), DEEP), TypeError, "current is an array of >u2: samples are uint8 or uint16 in the byte order"),
        ((A.astype(numpy.int8), A), TypeError, "current is an array of int8"),
        ((A.T, A.T), TypeError, r"strides \[1, 48\].*copy it with numpy.ascontiguousarray"),
        ((A[::-1], A), TypeError, r"copy it with numpy.ascontiguousarray"),
        ((A[:, ::2], A[:, ::2]), TypeError, r"copy it with numpy.ascontiguousarray"),
        ((numpy.broadcast_to(A[:1], A.shape), A), TypeError, r"copy it with numpy.ascontiguousarray"),
        ((A[0], A[0]), TypeError, r"current has 1 axes: a plane of samples has two, \(height, width\)"),
        ((numpy.dstack([A] * 3), A), TypeError, "current has 3 channels: give its luma"),
        ((numpy.dstack([A] * 2), A), TypeError, "current has 3 axes"),
        ((A[:0], A[:0]), ValueError, "there is no sample in it"),
        ((A, A[:30]), ValueError, "current has 48 x 40 samples of 8 bits, reference has 48 x 30"),
        ((A, DEEP), ValueError, "samples of 8 bits, reference has 48 x 40 samples of 16 bits: both need the same size and type"),
    ],
)
def test_arrays(arrays, error, text):
    with pytest.raises(error, match=text):
        ms.search(*arrays)


@pytest.mark.parametrize(
    "settings, error, text",
    [
        ({"blocksize": 8}, TypeError, "'blocksize' is no setting of a search: use algorithm, bit_depth, block_size"),
        ({"earlier": 2}, TypeError, "'earlier' is no setting"),
        ({"block_size": 6}, ValueError, "block size 6 is not supported by algorithm hierarchical: use 4, 8, 16, 32 or 64"),
        ({"block_size": -8}, ValueError, "block_size has -8: use 0 to"),
        ({"block_size": "8"}, TypeError, "block_size is a str: give a whole number"),
        ({"block_size": 8.0}, TypeError, "block_size is a float: give a whole number"),
        ({"algorithm": "best"}, ValueError, 'algorithm="best" is not known: use "hierarchical", "full", "three-step"'),
        ({"quality": "best"}, ValueError, 'quality="best" is not known: use "fast", "balanced", "high"'),
        ({"search_range": 8}, ValueError, 'search_range does not apply to algorithm="hierarchical": leave it out, or use'),
        ({"metric": "ssd"}, ValueError, "metric does not apply"),
        ({"border": "extend"}, ValueError, "border does not apply"),
        ({"algorithm": "full", "quality": "high"}, ValueError, 'quality does not apply to algorithm="full"'),
        ({"algorithm": "full", "search_range": 9000}, ValueError, "stay within ±8191 samples"),
        ({"algorithm": "full", "search_range": -3}, ValueError, "search_range has -3: use 0 to"),
        ({"algorithm": "full", "search_range": 2**40}, ValueError, "search_range has 1099511627776"),
        ({"algorithm": "full", "search_range": (3, "x")}, TypeError, r"search_range has a str: give a whole number or \(x, y\)"),
        ({"algorithm": "full", "search_range": (3, 4, 5)}, ValueError, r"search_range has 3 parts: give a whole number or \(x, y\)"),
        ({"algorithm": "full", "search_window": (1, 2, 3, 4)}, ValueError, r"must hold \(0, 0\)"),
        ({"algorithm": "full", "search_window": (-1, 1, -1, 1), "search_range": 3}, ValueError, "give one of them"),
        ({"sub_sample": "half"}, ValueError, "leave it out, or use algorithm full or three-step"),
        ({"costs": ("second",)}, ValueError, "which algorithm hierarchical does not have"),
        ({"costs": ("worth",)}, ValueError, 'costs="worth" is not known: use "zero", "intra"'),
        ({"costs": "zero"}, TypeError, r"costs is a str: give a sequence of names, such as \(.confidence.,\)"),
        ({"bit_depth": 10}, ValueError, "current is an array of uint8 and bit_depth is 10"),
        ({"bit_depth": 7}, ValueError, "bit_depth is 7: use 8 to 16"),
        ({"threads": 5000}, ValueError, "threads: 5000 is not usable: use 0 to 1024"),
        ({"in_flight": 17}, ValueError, "in_flight: 17 is not usable: use 1 to 16"),
        ({"device": "no such"}, ValueError, 'no device matches "no such". Available: native'),
        ({"device": "99:0"}, ValueError, 'no device matches "99:0"'),
        ({"device": 1}, TypeError, "device is a int: give a text"),
    ],
)
def test_settings(settings, error, text):
    with pytest.raises(error, match=text):
        ms.search(A, A, **settings)


def test_deep_samples():
    with pytest.raises(ValueError, match=r"array of uint16 and bit_depth is 8: convert it with astype\(numpy.uint8\)"):
        ms.search(DEEP, DEEP, bit_depth=8)
    with pytest.raises(ValueError, match="use metric sad, or samples of at most 10 bits"):
        ms.search(DEEP, DEEP, algorithm="full", metric="ssd")


def test_streams():
    with pytest.raises(ValueError, match="references is 5: use 1 to 4"):
        ms.fields([A], references=5)
    with pytest.raises(ValueError, match='direction=\'up\' is not known: use "backward", "forward", "both"'):
        ms.fields([A], direction="up")
    with pytest.raises(TypeError, match="'size' is no setting"):
        ms.fields([A], size=5)
    with pytest.raises(ValueError, match="frame 2: .*all frames of a stream have 48 x 40 samples of 8 bits, as its first one"):
        list(ms.fields([A, A, A[:30]]))
    with pytest.raises(TypeError, match="frame 1 is a int, not a numpy.ndarray"):
        list(ms.fields([A, 5]))
    with pytest.raises(ZeroDivisionError):
        list(ms.fields(1 // n * A for n in (1, 0)))


def test_a_cost_that_was_not_asked_for():
    with pytest.raises(KeyError, match=r"has no cost .*zero.*but .*satd.*ask for it by costs="):
        ms.search(A, A, costs=("satd",)).cost("zero")


def test_frames():
    half = A[:20, :24].copy()
    for at in (0, 1, -0.5, 2, [0.5, 1.0], float("nan")):
        with pytest.raises(ValueError, match="at has .*: a moment between two frames is above 0 and below 1"):
            ms.interpolate(A, A, at)
    with pytest.raises(ValueError, match="nearer to a frame than 1/1024"):
        ms.interpolate(A, A, 1e-6)
    with pytest.raises(ValueError, match="a has 48 x 40 samples of 8 bits, b has|b has 24 x 20 samples of 8 bits, a has 48 x 40"):
        ms.interpolate(A, half)
    with pytest.raises(ValueError, match="b has 48 x 40 samples of 8 bits, a has 48 x 40, 24 x 20, 24 x 20"):
        ms.interpolate((A, half, half), A)
    with pytest.raises(ValueError, match=r"a\[1\] has 24 x 10 samples beside 48 x 40 of luma"):
        ms.interpolate((A, half[:10], half[:10]), A)
    with pytest.raises(TypeError, match=r"a\[1\] has two axes: of two planes the second one is"):
        ms.interpolate((A, half), (A, half))
    with pytest.raises(ValueError, match="a has 4 planes: give luma alone"):
        ms.interpolate((A, half, half, A), A)
    with pytest.raises(TypeError, match="the planes of a have different types"):
        ms.interpolate((A, half.astype(numpy.uint16), half), A)
    with pytest.raises(ValueError, match="before and after count together"):
        ms.interpolate(A, A, quality="high", before=A)
    with pytest.raises(ValueError, match='use quality="high", or leave them out'):
        ms.interpolate(A, A, before=A, after=A)
    with pytest.raises(ValueError, match="scene_cut is 101: use 0 to 100 percent"):
        ms.interpolate(A, A, scene_cut=101)
    with pytest.raises(ValueError, match='quality="best" is not known'):
        ms.interpolate(A, A, quality="best")
    with pytest.raises(ValueError, match="strength is -1: use 0 to 16"):
        ms.denoise([A], strength=-1)
    with pytest.raises(ValueError, match="the noise level is 65: it must be a standard deviation from 0 to 64"):
        ms.denoise([A], noise_level=65)
    with pytest.raises(ValueError, match="past is 0 and future is 0: use 0 to 4 each, and one frame at least"):
        ms.denoise([A], past=0, future=0)
    with pytest.raises(ValueError, match="frame 1 has 24 x 20 samples of 8 bits, its first frame has 48 x 40"):
        list(ms.denoise([A, half]))


def test_nothing_is_left_behind_by_an_error():
    good = ms.search(A, A)
    with pytest.raises(ValueError):
        ms.search(A, A[:30])
    assert ms.search(A, A).records.tobytes() == good.records.tobytes()

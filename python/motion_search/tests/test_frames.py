"""Made frames and clean frames are those of the GStreamer elements, byte for byte."""

import numpy
import pytest

import motion_search as ms
from compared import by_elements, planes_of
from conftest import moving, texture


def with_chroma(frames, kind):
    """Frames of which luma alone is given: with planes of chroma that move alike."""
    if kind == "luma":
        return frames
    halves = (
        [(255 - frame[::2, ::2]) // 2 + 20 for frame in frames]
        if frames[0].dtype == numpy.uint8
        else [frame[::2, ::2].copy() for frame in frames]
    )
    if kind == "y, uv":
        return [(frame, numpy.stack([half, half[::-1]], -1)) for frame, half in zip(frames, halves)]
    return [(frame, half, half[::-1].copy()) for frame, half in zip(frames, halves)]


def equal(one, other):
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(equal, one, other))
    return one.dtype == other.dtype and numpy.array_equal(one, other)


KINDS = [("luma", 8, (96, 128)), ("y, u, v", 8, (96, 128)), ("y, uv", 8, (98, 130)), ("y, u, v", 10, (96, 128)), ("luma", 16, (97, 131))]


@pytest.mark.parametrize("kind, bits, size", KINDS)
@pytest.mark.parametrize("quality", ["fast", "balanced", "high"])
def test_made_frames_are_those_of_the_element(kind, bits, size, quality, tmp_path):
    frames = with_chroma(moving(4, *size, bits, step=(2, -6)), kind)
    launch = f"motioninterpolate device=native quality={quality} ! video/x-raw,framerate=100/1"
    found = by_elements(tmp_path, frames, launch, bits)
    depth = {} if bits in (8, 16) else {"bit_depth": bits}
    beside = {"before": frames[0], "after": frames[3]} if quality == "high" else {}
    for device in ("native", "auto"):
        made = ms.interpolate(frames[1], frames[2], [0.25, 0.5, 0.75], quality=quality, device=device, **beside, **depth)
        for number, frame in enumerate(made):
            assert equal(frame, planes_of(found[f"frame {5 + number}"], frame))
    # Half way the texture has moved by half of its step, but for noise.
    luma, before = [frame[0] if isinstance(frame, tuple) else frame for frame in (made[1], frames[1])]
    half, none = [numpy.roll(before, step, (0, 1)).astype(float) for step in ((1, -3), (0, 0))]
    errors = [numpy.abs(luma - still)[24:-24, 24:-24].mean() for still in (half, none)]
    assert errors[0] < 0.2 * errors[1]


def test_one_moment_and_fractions():
    a, b = moving(2, 64, 80)
    [half] = ms.interpolate(a, b)
    assert equal(half, ms.interpolate(a, b, 0.5)[0]) and half.shape == a.shape
    thirds = ms.interpolate(a, b, numpy.array([1 / 3, 2 / 3]))
    assert len(thirds) == 2 and not equal(*thirds)
    assert ms.interpolate(a, b, []) == []


def test_between_scenes_the_nearer_frame_is_shown():
    a, b = texture(128, 128), texture(128, 128, seed=9)
    assert [equal(frame, near) for frame, near in zip(ms.interpolate(a, b, [0.3, 0.5, 0.8]), (a, b, b))] == [True] * 3
    made = ms.interpolate(a, b, 0.5, scene_cut=100)[0]
    assert not equal(made, a) and not equal(made, b)


@pytest.mark.parametrize("kind, bits, size", KINDS)
@pytest.mark.parametrize(
    "settings",
    [
        {"past": 2, "future": 2},
        {"past": 1, "future": 0, "strength": 2.0},
        {"past": 0, "future": 3, "noise_level": 4.0},
        {"past": 4, "future": 1, "strength": 0.5, "spatial": False},
    ],
)
def test_clean_frames_are_those_of_the_element(kind, bits, size, settings, tmp_path):
    frames = with_chroma(moving(7, *size, bits), kind)
    # Some are repeated, among them the last one.
    frames = [frames[index] for index in (0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 6)]
    properties = {name.replace("_", "-"): value for name, value in settings.items()}
    properties["spatial"] = "auto" if settings.get("spatial", True) else "off"
    launch = " ".join(["motiondenoise device=native", *(f"{name}={value}" for name, value in properties.items())])
    found = by_elements(tmp_path, frames, launch, bits)
    depth = {} if bits in (8, 16) else {"bit_depth": bits}
    # On the CPU, and where there is an OpenCL device, which other tests ask for, on that.
    for device in {"native", ms.devices()[-1].device}:
        clean = list(ms.denoise(iter(frames), device=device, **settings, **depth))
        assert len(clean) == len(frames)
        for number, frame in enumerate(clean):
            assert equal(frame, planes_of(found[f"frame {number}"], frame)), (device, number)


def test_less_noise_is_left():
    random = numpy.random.default_rng(3)
    still = texture(128, 160).astype(float) / 2 + 60
    noisy = [(still + random.normal(0, 5, still.shape)).round().clip(0, 255).astype(numpy.uint8) for _ in range(7)]
    clean = list(ms.denoise(noisy))
    before, after = [numpy.std(frames[3] - still) for frames in (noisy, clean)]
    assert before > 4.8 and after < 0.6 * before
    assert all(equal(frame, noise) for frame, noise in zip(ms.denoise(noisy, strength=0), noisy))
    # A frame without noise, and a single one, come out as they are.
    assert equal(next(ms.denoise([noisy[0]])), noisy[0])
    flat = numpy.full((64, 64), 7, numpy.uint8)
    assert all(equal(frame, flat + index) for index, frame in enumerate(ms.denoise([flat, flat + 1, flat + 2])))


def test_the_arrays_may_be_used_again():
    frames = moving(5, 64, 80)

    def reused():
        room = numpy.empty_like(frames[0])
        for frame in frames:
            room[...] = frame
            yield room

    assert all(map(equal, ms.denoise(reused()), ms.denoise(frames)))


def test_frames_come_as_soon_as_they_can():
    taken = []

    def frames():
        for frame in moving(6, 64, 80):
            taken.append(frame)
            yield frame

    clean = ms.denoise(frames(), future=2)
    assert taken == []
    next(clean)
    assert len(taken) == 3
    next(clean)
    assert len(taken) == 4

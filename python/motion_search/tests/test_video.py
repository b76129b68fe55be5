"""Videos, the command, and files of vectors."""

import subprocess
import sys

import av
import numpy
import pytest

import motion_search as ms
from compared import by_elements
from conftest import moving


def encoded(path, frames, pixels, codec="ffv1"):
    """A video of these frames without loss: arrays of luma, or of three channels."""
    with av.open(str(path), "w") as container:
        height, width = frames[0].shape[:2]
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        for frame in frames:
            picture = av.VideoFrame(width, height, pixels)
            for index, plane in enumerate(picture.planes):
                samples = frame if index == 0 else numpy.full((plane.height, plane.width), 128, frame.dtype)
                rows = numpy.frombuffer(plane, frame.dtype).reshape(plane.height, -1)
                rows[:, : samples.shape[1]] = samples
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return path


def same(fields, others):
    fields, others = list(fields), list(others)
    assert len(fields) == len(others) > 0
    return all(
        one.records.tobytes() == other.records.tobytes() and (one.frame, one.offset) == (other.frame, other.offset)
        for one, other in zip(fields, others)
    )


def test_fields_of_a_clip(clip):
    with av.open(str(clip)) as container:
        luma = [frame.to_ndarray()[: frame.height] for _, frame in zip(range(5), container.decode(video=0))]
    found = [pair for _, pair in zip(range(4), ms.video(clip))]
    assert same([field for _, field in found], ms.fields(luma))
    for number, (frame, field) in enumerate(found, 1):
        assert field.frame == number and (frame.height, frame.width) == field.shape
        assert numpy.array_equal(frame.to_ndarray()[: frame.height], luma[number])
    with av.open(str(clip)) as container:
        total = sum(1 for _ in container.decode(video=0))
    assert sum(1 for _ in ms.video(str(clip), quality="fast", block_size=16)) == total - 1


@pytest.mark.parametrize(
    "pixels, bits", [("yuv420p", 8), ("gray", 8), ("yuv444p", 8), ("yuv420p10le", 10), ("yuv422p12le", 12), ("gray16le", 16)]
)
def test_luma_is_read_where_it_is(pixels, bits, tmp_path):
    frames = moving(5, 90, 118, bits)
    path = encoded(tmp_path / "video.mkv", frames, pixels)
    depth = {} if bits in (8, 16) else {"bit_depth": bits}
    settings = {"references": 2, "direction": "both", "algorithm": "full"}
    pairs = list(ms.video(path, **settings))
    assert same([field for _, field in pairs], ms.fields(frames, **settings, **depth))
    # Each field comes with its own frame, although later ones have been decoded.
    assert [int(frame.time * 25 + 0.5) for frame, _ in pairs] == [field.frame for _, field in pairs]


def test_colours_become_luma(tmp_path):
    frames = moving(3, 64, 80)
    with av.open(str(tmp_path / "video.mkv"), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 80, 64, "bgr0"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame[..., None].repeat(3, -1), format="rgb24").reformat(format="bgr0")))
        container.mux(stream.encode(None))
    fields = [field for _, field in ms.video(tmp_path / "video.mkv")]
    assert len(fields) == 2
    inner = fields[1].vectors[2:6, 2:8]
    assert numpy.allclose(numpy.median(inner, (0, 1)), (3, -1), atol=0.1)


def test_what_is_no_video(tmp_path, clip):
    with pytest.raises(FileNotFoundError):
        ms.video(tmp_path / "missing.mp4")
    with pytest.raises(TypeError, match="bit_depth is what the video has: leave it out"):
        ms.video(clip, bit_depth=10)
    with pytest.raises(TypeError, match="'size' is no setting"):
        ms.video(clip, size=8)
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    with pytest.raises(ValueError):
        list(ms.video(text))
    with av.open(str(tmp_path / "sound.wav"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(numpy.zeros((1, 800), numpy.int16), "s16", "mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(ValueError, match="sound.wav has no video"):
        list(ms.video(tmp_path / "sound.wav"))


def test_without_pyav_it_says_what_to_install():
    script = "import sys; sys.modules['av'] = None; import motion_search as ms; ms.video('clip.mp4')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert 'ImportError: motion_search.video needs PyAV: pip install "motion-search[video]"' in done.stderr


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "motion_search", *map(str, arguments)], capture_output=True, text=True)


def test_the_command_writes_vectors_and_a_video(tmp_path):
    frames = moving(4, 91, 118)
    path = encoded(tmp_path / "video.mkv", frames, "yuv420p")
    vectors, drawn = tmp_path / "vectors.npz", tmp_path / "motion.mp4"
    done = command(path, "--out", vectors, "--draw", drawn, "--block-size", 16, "--costs", "confidence,satd")
    assert done.returncode == 0, done.stderr
    assert "vectors.npz: 3 fields of 6 x 8 blocks" in done.stdout and "motion.mp4: the motion of 4 frames" in done.stdout
    found = numpy.load(vectors)
    expected = list(ms.fields(frames, block_size=16, costs=("confidence", "satd")))
    assert found["vectors"].dtype == numpy.float32 and found["block_size"] == 16 and list(found["shape"]) == [91, 118]
    for name, of in (
        ("vectors", lambda field: field.vectors),
        ("costs", lambda field: field.costs),
        ("confidence", lambda field: field.cost("confidence")),
        ("satd", lambda field: field.cost("satd")),
        ("frame", lambda field: field.frame),
        ("time", lambda field: field.frame / 25),
    ):
        assert numpy.array_equal(found[name], numpy.stack([of(field) for field in expected])), name
    with av.open(str(drawn)) as container:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert [picture.shape for picture in pictures] == [(90, 118, 3)] * 3
    wanted = expected[2].draw(frames[3])[:90].astype(int)
    arrows = (wanted != frames[3][:90, :, None]).all(-1)
    assert arrows.sum() > 500
    assert (
        numpy.abs(pictures[2] - wanted)[arrows].mean() < 0.4 * numpy.abs(pictures[2] - frames[3][:90, :, None].astype(int))[arrows].mean()
    )
    assert command(path, "--draw", drawn, "--color").returncode == 0


@pytest.mark.parametrize(
    "arguments, text",
    [
        ([], "a video is missing"),
        (["video.mp4"], "nothing is to be written: use --out, --draw or both"),
        (["missing.mp4", "--out", "x.npz"], "No such file"),
        (["CLIP", "--out", "x.npz", "--block-size", "5"], "block size 5 is not supported"),
        (["CLIP", "--out", "x.npz", "--device", "none such"], 'no device matches "none such"'),
        (["CLIP", "--out", "/missing/x.npz", "--quality", "fast"], "/missing/x.npz"),
    ],
)
def test_the_command_says_what_is_wrong(arguments, text, clip):
    done = command(*[clip if argument == "CLIP" else argument for argument in arguments])
    assert done.returncode != 0 and text in done.stderr and "Traceback" not in done.stderr


def test_the_command_lists_devices():
    done = command("--devices")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == len(ms.devices()) and done.stdout.startswith("native  native")


def test_packed_vectors_are_read(tmp_path):
    frames = moving(4, 64, 80)
    launch = "motionestimate device=native algorithm=hierarchical block-size=8 references=2 direction=both costs=satd+zero"
    found = by_elements(tmp_path, frames, f"{launch} ! motionserialize ! application/x-motion-vectors")
    data = b"".join(found[f"frame {number}"].tobytes() for number in range(len(found.files)))
    (tmp_path / "vectors.bin").write_bytes(data)
    read = sorted(ms.read_packed(tmp_path / "vectors.bin"), key=lambda field: (field.frame, field.offset))
    settings = {"references": 2, "direction": "both", "costs": ("satd", "zero")}
    expected = sorted(ms.fields(frames, **settings), key=lambda field: (field.frame, field.offset))
    assert same(read, expected)
    assert all(field.pts == field.frame * 40_000_000 and field.shape == (64, 80) for field in read)
    for name in ("satd", "zero"):
        assert all(numpy.array_equal(one.cost(name), other.cost(name)) for one, other in zip(read, expected))
    for wrong, text in ((data[:-1], "cut off"), (b"nothing at all, but long", "no file of packed"), (b"", "too short")):
        (tmp_path / "wrong.bin").write_bytes(wrong)
        with pytest.raises(ValueError, match=text):
            list(ms.read_packed(tmp_path / "wrong.bin"))

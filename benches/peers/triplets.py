"""Frames between the first and the third image of triplets, compared with the second: the protocol of data sets such as
Middlebury (interpolation), Vimeo-90K, SNU-FILM and UCF101.

A triplet is a folder with three `.png` in the order of their names. Red, green and blue are compared, all at once: the
mean absolute difference, which papers call IE, the root of the mean square, which Middlebury calls so, PSNR and SSIM.
`motioninterpolate` and `minterpolate` work on 4:4:4 planes of Y'CbCr, as BT.601 defines them, with all 256 levels.
"""

import cv2
import numpy

import smooth
from common import PeersError
from report import markdown

TO_PLANES = numpy.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
OFFSET = numpy.array([0, 128, 128])


def rounded(values):
    return numpy.clip(numpy.rint(values), 0, 255).astype(numpy.uint8)


class Triplet:
    """Three images as a clip of `smooth`, their planes in one array each."""

    pixels, caps_format, padding = "yuv444p", "Y444", 1

    def __init__(self, folder):
        paths = sorted(folder.glob("*.png"))
        if len(paths) != 3:
            raise PeersError(f"{folder} has {len(paths)} .png; a triplet has three")
        self.name = folder.name
        self.images = [cv2.imread(str(path), cv2.IMREAD_COLOR) for path in paths]
        if any(image is None or image.shape != self.images[0].shape for image in self.images):
            raise PeersError(f"{folder}: the images cannot be read, or differ in size")
        self.height, self.width = self.images[0].shape[:2]
        planes = [rounded(image[..., ::-1] @ TO_PLANES.T + OFFSET) for image in self.images]
        self.frames = [numpy.ascontiguousarray(numpy.moveaxis(each, -1, 0)) for each in planes]

    def planes(self, samples):
        return samples

    def luma(self, samples):
        return samples[0]

    def original(self, index):
        return self.images[index]

    def compared(self, planes):
        """Blue, green and red, of planes."""
        values = numpy.stack(planes, axis=-1).astype(float) - OFFSET
        return rounded(values @ numpy.linalg.inv(TO_PLANES).T)[..., ::-1]


def folders(path):
    """The triplets in a folder: itself, or those of its folders."""
    inner = sorted(each for each in path.iterdir() if each.is_dir()) if path.is_dir() else []
    return inner or [path]


def scores(made, original):
    error = made.astype(float) - original
    return (
        numpy.abs(error).mean(),
        numpy.sqrt(numpy.mean(error**2)),
        smooth.psnr(made, original),
        smooth.ssim(made, original),
    )


def compare(paths, quick, progress):
    """Measures all contestants on the triplets of each folder and prints a table for it."""
    cv2.setNumThreads(1)
    contestants = smooth.contestants(quick)
    for path in paths:
        triplets = [Triplet(folder) for folder in folders(path)]
        rows = []
        for name, (make, settings) in contestants.items():
            progress(f"{path.name}: {name}")
            found = [scores(make(triplet, settings)[0][1], triplet.original(1)) for triplet in triplets]
            absolute, root, psnr, ssim = numpy.mean(found, axis=0)
            rows.append([name, f"{absolute:.2f}", f"{root:.2f}", f"{psnr:.2f}", f"{ssim:.4f}"])
        progress("")
        heads = ["", "mean absolute difference", "root of the mean square", "PSNR, dB", "SSIM"]
        print(f"\n{path.name}, {len(triplets)} triplets:\n\n{markdown(heads, rows)}", flush=True)

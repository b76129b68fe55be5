//! What is made of vectors for people and for other programs: a vector for each sample, colours, arrows.

use motion_search::estimator::motion_color;
use numpy::{PyArray3, PyArrayMethods, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Between which two blocks a sample lies on an axis, and how near it is to the second one, 0 to 1.
#[derive(Clone, Copy)]
struct Between {
    blocks: [usize; 2],
    weight: f32,
}

impl Between {
    /// Of `samples` on an axis with this many `blocks`. Beyond the middles of the outermost blocks it is those.
    fn of_axis(samples: usize, blocks: usize, block_size: usize) -> Vec<Self> {
        let middle = (block_size as f32 - 1.0) / 2.0;
        let of = |sample: usize| {
            let place = ((sample as f32 - middle) / block_size as f32).clamp(0.0, (blocks - 1) as f32);
            let first = place as usize;
            Self { blocks: [first, (first + 1).min(blocks - 1)], weight: place - first as f32 }
        };
        (0..samples).map(of).collect()
    }
}

/// A vector for each sample of a frame of `shape`, between those of the blocks' middles, linearly.
#[pyfunction]
pub fn dense<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray3<'py, f32>,
    shape: (usize, usize),
    block_size: usize,
) -> PyResult<Bound<'py, PyArray3<f32>>> {
    let (height, width) = shape;
    let (rows, columns, parts) = vectors.as_array().dim();
    let is_grid =
        block_size > 0 && (rows, columns) == (height.div_ceil(block_size), width.div_ceil(block_size));
    if !is_grid || parts != 2 || rows * columns == 0 {
        return Err(PyValueError::new_err("the vectors are not those of the blocks of such a frame"));
    }
    let flow = PyArray3::<f32>::zeros(py, [height, width, 2], false);
    let mut write = flow.try_readwrite()?;
    let (from, to) = (vectors.as_slice()?, write.as_slice_mut()?);
    py.detach(|| {
        let across = Between::of_axis(width, columns, block_size);
        let mut between = vec![0.0; 2 * columns];
        for (down, to) in
            Between::of_axis(height, rows, block_size).iter().zip(to.chunks_exact_mut(2 * width))
        {
            let [above, below] = down.blocks.map(|row| &from[2 * columns * row..][..2 * columns]);
            for ((between, above), below) in between.iter_mut().zip(above).zip(below) {
                *between = above + (below - above) * down.weight;
            }
            let vectors = between.as_chunks::<2>().0;
            for (across, to) in across.iter().zip(to.as_chunks_mut::<2>().0) {
                let [left, right] = across.blocks.map(|column| vectors[column]);
                *to = [0, 1].map(|part| left[part] + (right[part] - left[part]) * across.weight);
            }
        }
    });
    drop(write);
    Ok(flow)
}

/// An arrow, in samples of the picture.
struct Arrow {
    tail: (f32, f32),
    head: (f32, f32),
    /// Half the width of its shaft; its head is three times as wide.
    half_width: f32,
}

impl Arrow {
    /// How much of the sample at `(x, y)` the arrow covers, 0 to 1, if it were `grown` samples larger on all sides: by the distance of
    /// the sample's middle from its outline.
    fn coverage(&self, (x, y): (f32, f32), grown: f32) -> f32 {
        let (dx, dy) = (self.head.0 - self.tail.0, self.head.1 - self.tail.1);
        let length = dx.hypot(dy);
        let (ux, uy) = (dx / length, dy / length);
        let (rx, ry) = (x - self.tail.0, y - self.tail.1);
        let (along, aside) = (rx * ux + ry * uy, (rx * uy - ry * ux).abs());
        // The head is an isosceles triangle that ends at `length`; a short arrow is only a head.
        let wing = 3.0 * self.half_width;
        let point = (2.0 * wing).min(length);
        let wing = wing * point / (2.0 * wing);
        let neck = length - point;
        let shaft = (aside - self.half_width).max(-along).max(along - neck - 0.5);
        let side = point.hypot(wing);
        let head = ((aside * point + (along - neck) * wing - point * wing) / side).max(neck - along);
        (0.5 + grown - shaft.min(head)).clamp(0.0, 1.0)
    }
}

/// Draws arrows into a picture of three channels: from the middle of each block, where the vector starts, to its end. White, with a
/// black rim.
#[pyfunction]
pub fn draw_arrows(
    picture: &Bound<'_, PyArray3<u8>>,
    vectors: PyReadonlyArray3<'_, f32>,
    block_size: usize,
    step: usize,
) -> PyResult<()> {
    let vectors = vectors.as_array();
    let (rows, columns, _) = vectors.dim();
    let mut picture = picture.try_readwrite()?;
    let mut picture = picture.as_array_mut();
    let (height, width, channels) = picture.dim();
    if channels != 3 {
        return Err(PyValueError::new_err("a picture has three channels"));
    }
    let side = (block_size * step) as f32;
    let half_width = (side / 16.0).clamp(0.5, 2.0);
    for row in (step / 2..rows).step_by(step) {
        for column in (step / 2..columns).step_by(step) {
            let (right, down) = (vectors[[row, column, 0]], vectors[[row, column, 1]]);
            if right.hypot(down) < 1.0 {
                continue;
            }
            let middle = |index: usize| (index * block_size) as f32 + (block_size as f32 - 1.0) / 2.0;
            let tail = (middle(column), middle(row));
            let arrow = Arrow { tail, head: (tail.0 + right, tail.1 + down), half_width };
            let reach = 3.0 * half_width + 2.0;
            let range = |a: f32, b: f32, end: usize| {
                let least = (a.min(b) - reach).max(0.0) as usize;
                least.min(end)..((a.max(b) + reach).max(0.0) as usize + 1).min(end)
            };
            for y in range(arrow.tail.1, arrow.head.1, height) {
                for x in range(arrow.tail.0, arrow.head.0, width) {
                    let at = (x as f32, y as f32);
                    let (core, rim) = (arrow.coverage(at, 0.0), arrow.coverage(at, 0.9));
                    for channel in 0..3 {
                        let sample = &mut picture[[y, x, channel]];
                        *sample = (f32::from(*sample) * (1.0 - rim) + 255.0 * core).min(255.0).round() as u8;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The colours of motion, one for each vector: red, green and blue.
#[pyfunction]
pub fn motion_colors<'py>(
    py: Python<'py>,
    vectors: PyReadonlyArray3<'_, f32>,
    longest: f32,
) -> PyResult<Bound<'py, PyArray3<u8>>> {
    let vectors = vectors.as_array();
    let (rows, columns, _) = vectors.dim();
    let colors = PyArray3::<u8>::zeros(py, [rows, columns, 3], false);
    let mut write = colors.try_readwrite()?;
    let mut to = write.as_array_mut();
    for row in 0..rows {
        for column in 0..columns {
            let color = motion_color((vectors[[row, column, 0]], vectors[[row, column, 1]]), longest);
            for (channel, part) in color.into_iter().enumerate() {
                to[[row, column, channel]] = (255.0 * part).round() as u8;
            }
        }
    }
    drop(write);
    Ok(colors)
}

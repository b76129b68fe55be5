//! Motion fields of frames that were scaled, cropped, flipped or turned.
//!
//! Where every block becomes one block with whole sides, the field is exact: the same blocks, with scaled vectors and the
//! costs of the frame that was searched. Else it is an approximation: the new frame gets a grid of its own, of the allowed
//! block size that is nearest to that of the scaled blocks. Each block takes the vector and the costs of the old block that
//! holds its centre; vectors are scaled, and costs are multiplied by the ratio of the blocks' areas.

use std::sync::Arc;

use motion_search::estimator::prediction::median_predictors;
use motion_search::estimator::{CostKind, MotionVector, Predictor};

use super::{FieldDescription, MotionVectorMeta};

/// The sides that blocks of an approximated field may have: multiples of this one, up to the other.
const SIDE_STEP: i64 = 4;
const MOST_SIDE: i64 = 64;

/// A rectangle of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rectangle {
    pub x: i64,
    pub y: i64,
    pub width: i64,
    pub height: i64,
}

/// How one frame becomes another: `from`, in the old frame, is transposed, mirrored and scaled to `to`, in the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Placement {
    pub from: Rectangle,
    pub to: Rectangle,
    /// Whether rows become columns, before anything is mirrored.
    pub is_transposed: bool,
    /// Whether left and right, and top and bottom, are exchanged.
    pub is_mirrored: [bool; 2],
    /// Width and height of the new frame.
    pub size: (u32, u32),
}

/// A field of the new frame.
#[derive(Debug)]
pub(super) struct Resampled {
    pub description: FieldDescription,
    pub vectors: Vec<MotionVector>,
    pub predictors: Option<Vec<Predictor>>,
    /// The old block of each new one, row-major; `None` outside the old frame.
    sources: Vec<Option<usize>>,
    cost_ratio: Fraction,
}

/// A fraction.
#[derive(Clone, Copy, Debug)]
struct Fraction(i64, i64);

impl Fraction {
    /// `value` times the fraction, rounded half away from zero.
    fn of(self, value: i64) -> i64 {
        let doubled = 2 * i128::from(value) * i128::from(self.0);
        let parts = i128::from(self.1);
        ((doubled + parts * doubled.signum()) / (2 * parts)) as i64
    }
}

/// An axis of the new frame.
struct Axis {
    /// Where the old frame lies on the new axis: its first sample, and how many samples.
    start: i64,
    length: i64,
    /// The same on the old axis, which may be the other one.
    old_start: i64,
    old_length: i64,
    is_mirrored: bool,
    /// The new frame's samples.
    frame: i64,
    /// The sides of old and of new blocks.
    old_side: i64,
    side: i64,
    /// Old blocks.
    old_count: i64,
}

impl Axis {
    /// The side of a new block if old blocks become blocks.
    fn whole_side(&self) -> Option<i64> {
        let scaled = self.old_side * self.length;
        let whole = scaled > 0 && scaled % self.old_length == 0;
        whole.then(|| scaled / self.old_length).filter(|side| blocks(self.frame, *side) == self.old_count)
    }

    /// The allowed side that is nearest to that of the scaled blocks, the larger one of two.
    fn nearest_side(&self) -> i64 {
        let step = SIDE_STEP * self.old_length;
        let steps = (2 * self.old_side * self.length + step) / (2 * step);
        (steps * SIDE_STEP).clamp(SIDE_STEP, MOST_SIDE)
    }

    /// New blocks.
    fn count(&self) -> i64 {
        blocks(self.frame, self.side)
    }

    /// The old block that holds the centre of the new block `index`; `None` outside the old frame.
    fn source(&self, index: i64) -> Option<i64> {
        let (first, end) = (index * self.side, ((index + 1) * self.side).min(self.frame));
        // In half samples.
        let centre = first + end - 2 * self.start;
        if !(0..2 * self.length).contains(&centre) {
            return None;
        }
        let centre = if self.is_mirrored { 2 * self.length - centre } else { centre };
        let sample = self.old_start + centre * self.old_length / (2 * self.length);
        Some((sample / self.old_side).clamp(0, self.old_count - 1))
    }

    /// A component of a vector along the old axis, along the new one.
    fn component(&self, component: i16) -> Option<i16> {
        let scaled = Fraction(self.length, self.old_length).of(component.into());
        i16::try_from(if self.is_mirrored { -scaled } else { scaled }).ok()
    }
}

/// How many blocks of `side` samples cover `samples`.
fn blocks(samples: i64, side: i64) -> i64 {
    (samples + side - 1) / side
}

impl Placement {
    /// A frame of `from`, width and height, scaled to one of `to`.
    pub fn scaling(from: (u32, u32), to: (u32, u32)) -> Self {
        let whole = |(width, height): (u32, u32)| Rectangle {
            x: 0,
            y: 0,
            width: width.into(),
            height: height.into(),
        };
        Self { from: whole(from), to: whole(to), is_transposed: false, is_mirrored: [false; 2], size: to }
    }

    /// Whether the new frame shows the old one as it is.
    pub fn is_identity(&self) -> bool {
        self.from == self.to && self.is_whole() && !self.is_transposed && self.is_mirrored == [false; 2]
    }

    /// Whether the old frame fills the new one.
    fn is_whole(&self) -> bool {
        let Rectangle { x, y, width, height } = self.to;
        (x, y, width, height) == (0, 0, self.size.0.into(), self.size.1.into())
    }

    /// The axes of the new frame, with the sides of its blocks; and whether every old block is a block.
    fn axes(&self, field: &FieldDescription) -> ([Axis; 2], bool) {
        let old = [
            (self.from.x, self.from.width, field.block_width, field.columns),
            (self.from.y, self.from.height, field.block_height, field.rows),
        ];
        let of_new = [
            (self.to.x, self.to.width, self.size.0, self.is_mirrored[0]),
            (self.to.y, self.to.height, self.size.1, self.is_mirrored[1]),
        ];
        let mut axes = [0, 1].map(|axis| {
            let (old_start, old_length, old_side, old_count) = old[axis ^ usize::from(self.is_transposed)];
            let (start, length, frame, is_mirrored) = of_new[axis];
            let (old_side, old_count, frame) = (old_side.into(), old_count.into(), frame.into());
            Axis { start, length, old_start, old_length, is_mirrored, frame, old_side, side: 0, old_count }
        });
        let is_scaled_alone = self.is_whole()
            && (self.from.x, self.from.y) == (0, 0)
            && (self.from.width, self.from.height) == (field.width.into(), field.height.into())
            && !self.is_transposed
            && self.is_mirrored == [false; 2];
        let whole = axes.each_ref().map(|axis| if is_scaled_alone { axis.whole_side() } else { None });
        let is_exact = whole.iter().all(Option::is_some);
        for (axis, whole) in axes.iter_mut().zip(whole) {
            axis.side = whole.filter(|_| is_exact).unwrap_or_else(|| axis.nearest_side());
        }
        (axes, is_exact)
    }

    /// The field of the new frame; `None` if a vector would not fit its type.
    pub fn resample(&self, meta: &MotionVectorMeta) -> Option<Resampled> {
        let old = meta.description();
        let ([horizontal, vertical], is_exact) = self.axes(old);
        let sources = (0..vertical.count()).flat_map(|row| {
            let across = |column| {
                let (a, b) = (horizontal.source(column)?, vertical.source(row)?);
                let (old_column, old_row) = if self.is_transposed { (b, a) } else { (a, b) };
                Some((old_row * i64::from(old.columns) + old_column) as usize)
            };
            (0..horizontal.count()).map(across).collect::<Vec<_>>()
        });
        let sources: Vec<Option<usize>> = sources.collect();
        let old_area = i64::from(old.block_width) * i64::from(old.block_height);
        let cost_ratio =
            if is_exact { Fraction(1, 1) } else { Fraction(horizontal.side * vertical.side, old_area) };
        let vectors = meta.vectors();
        let vector = |source: &Option<usize>| {
            let Some(MotionVector { x, y, cost }) = source.map(|block| vectors[block]) else {
                return Some(MotionVector::default());
            };
            let (x, y) = if self.is_transposed { (y, x) } else { (x, y) };
            let (x, y) = (horizontal.component(x)?, vertical.component(y)?);
            Some(MotionVector { x, y, cost: scaled_cost(cost, cost_ratio) })
        };
        let vectors: Vec<MotionVector> = sources.iter().map(vector).collect::<Option<_>>()?;
        let description = FieldDescription {
            width: self.size.0,
            height: self.size.1,
            block_width: horizontal.side as u32,
            block_height: vertical.side as u32,
            columns: horizontal.count() as u32,
            rows: vertical.count() as u32,
            ..old.clone()
        };
        let predictors = meta.predictors().map(|_| median_predictors(description.grid(), &vectors));
        Some(Resampled { description, vectors, predictors, sources, cost_ratio })
    }
}

/// `cost` times `ratio`, at most the largest number.
fn scaled_cost(cost: u32, ratio: Fraction) -> u32 {
    u32::try_from(ratio.of(cost.into())).unwrap_or(u32::MAX)
}

impl Resampled {
    /// `values`, a number for each of `names` of each old block, of the new blocks; zero outside the old frame.
    pub fn costs(&self, values: &[u32], names: &[Arc<str>]) -> Vec<u32> {
        let of_block = |source: &Option<usize>| {
            let old = source.map(|block| &values[block * names.len()..]);
            let scaled = |(at, name): (usize, &Arc<str>)| match old {
                None => 0,
                Some(old) if **name == *CostKind::Confidence.name() => old[at],
                Some(old) => scaled_cost(old[at], self.cost_ratio),
            };
            names.iter().enumerate().map(scaled).collect::<Vec<_>>()
        };
        self.sources.iter().flat_map(of_block).collect()
    }

    /// The old row of blocks of each new one; `None` if a row has blocks of several, or of none.
    pub fn rows(&self, old_columns: u32) -> Option<Vec<usize>> {
        let row = |sources: &[Option<usize>]| {
            let mut rows = sources.iter().map(|source| source.map(|block| block / old_columns as usize));
            let first = rows.next()??;
            rows.all(|row| row == Some(first)).then_some(first)
        };
        self.sources.chunks(self.description.columns as usize).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use motion_search::estimator::Metric;

    use super::*;
    use crate::meta::{Extras, FieldCosts, attach};

    /// A field of `size` in blocks of `side`, whose block (column, row) has the vector (10 column + row, -row), the cost
    /// 100 column + row and twice that as a cost named `zero`.
    fn field((width, height): (u32, u32), side: u32) -> MotionVectorMeta {
        let (columns, rows) = (width.div_ceil(side), height.div_ceil(side));
        let of_block = |block: u32| {
            let (column, row) = (block % columns, block / columns);
            MotionVector { x: (10 * column + row) as i16, y: -(row as i16), cost: 100 * column + row }
        };
        let vectors: Vec<_> = (0..columns * rows).map(of_block).collect();
        let zero: Vec<u32> = vectors.iter().map(|vector| 2 * vector.cost).collect();
        let description = FieldDescription {
            width,
            height,
            block_width: side,
            block_height: side,
            columns,
            rows,
            scale: 4,
            reference_offset: -1,
            reference_pts: None,
            metric: Metric::Sad,
            bit_depth: 8,
        };
        let bytes = |bytes: &[u8]| glib::Bytes::from(bytes);
        let costs = FieldCosts::new(vec!["zero".into()], bytes(bytemuck::cast_slice(&zero))).unwrap();
        let extras = Extras { costs: Some(costs), ..Extras::default() };
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        attach(buffer.make_mut(), &description, bytes(bytemuck::cast_slice(&vectors)), extras).unwrap();
        MotionVectorMeta::of(&buffer).unwrap().unwrap()
    }

    fn sizes(resampled: &Resampled) -> [u32; 4] {
        let FieldDescription { block_width, block_height, columns, rows, .. } = resampled.description;
        [block_width, block_height, columns, rows]
    }

    #[test]
    fn whole_blocks_are_exact() {
        let meta = field((320, 192), 16);
        for (to, expected) in
            [((160, 96), [8, 8, 20, 12]), ((100, 60), [5, 5, 20, 12]), ((640, 192), [32, 16, 20, 12])]
        {
            let scaled = Placement::scaling((320, 192), to).resample(&meta).unwrap();
            assert_eq!(sizes(&scaled), expected);
            for (new, old) in scaled.vectors.iter().zip(meta.vectors()) {
                let component = |component: i16, to: u32, from: u32| {
                    (f64::from(component) * f64::from(to) / f64::from(from)).round() as i16
                };
                let expected = (component(old.x, to.0, 320), component(old.y, to.1, 192), old.cost);
                assert_eq!((new.x, new.y, new.cost), expected);
            }
            assert_eq!(
                scaled.costs(meta.costs().unwrap().values(), &["zero".into()]),
                meta.costs().unwrap().values()
            );
            assert_eq!(scaled.rows(20).unwrap(), (0..12).collect::<Vec<_>>());
        }
    }

    #[test]
    fn other_blocks_are_the_nearest_allowed() {
        // The usual ladder. 10.67, 5.33 and 10.65 samples.
        for (from, to, expected) in [
            ((1920, 1080), (1280, 720), [12, 12, 107, 60]),
            ((1920, 1080), (640, 360), [4, 4, 160, 90]),
            ((640, 360), (426, 240), [12, 12, 36, 20]),
            ((640, 360), (3830, 2154), [64, 64, 60, 34]),
            ((640, 360), (50, 28), [4, 4, 13, 7]),
        ] {
            let meta = field(from, 16);
            let scaled = Placement::scaling(from, to).resample(&meta).unwrap();
            assert_eq!(sizes(&scaled), expected, "{from:?} to {to:?}");
            let description = &scaled.description;
            for (index, vector) in scaled.vectors.iter().enumerate() {
                let (column, row) = (index as u32 % description.columns, index as u32 / description.columns);
                // The centre of the visible part of the block, in the old frame.
                let centre = |index: u32, side: u32, frame: u32, old: u32| {
                    let (first, end) = (index * side, ((index + 1) * side).min(frame));
                    f64::from(first + end) / 2.0 * f64::from(old) / f64::from(frame)
                };
                let x = centre(column, description.block_width, to.0, from.0);
                let y = centre(row, description.block_height, to.1, from.1);
                let (old_column, old_row) = ((x / 16.0) as i32, (y / 16.0) as i32);
                let expected = f64::from(10 * old_column + old_row) * f64::from(to.0) / f64::from(from.0);
                assert_eq!(vector.x, expected.round() as i16, "block {index}, {from:?} to {to:?}");
                let area = f64::from(description.block_width * description.block_height) / 256.0;
                let cost = f64::from(100 * old_column + old_row) * area;
                assert!((f64::from(vector.cost) - cost).abs() <= 0.5, "{} {cost}", vector.cost);
            }
        }
    }

    #[test]
    fn crops_cut_and_borders_stand_still() {
        let meta = field((320, 192), 16);
        let whole = Placement::scaling((320, 192), (320, 192));
        assert!(whole.is_identity());
        // Two columns and a row fewer.
        let from = Rectangle { x: 32, y: 16, width: 288, height: 176 };
        let to = Rectangle { x: 0, y: 0, ..from };
        let cropped = Placement { from, to, size: (288, 176), ..whole };
        let cropped = cropped.resample(&meta).unwrap();
        assert_eq!(sizes(&cropped), [16, 16, 18, 11]);
        for (index, vector) in cropped.vectors.iter().enumerate() {
            assert_eq!(*vector, meta.vectors()[(index / 18 + 1) * 20 + index % 18 + 2]);
        }
        // Borders of 16 rows above and below.
        let to = Rectangle { x: 0, y: 16, width: 320, height: 192 };
        let padded = Placement { from: whole.from, to, size: (320, 224), ..whole };
        let padded = padded.resample(&meta).unwrap();
        assert_eq!(sizes(&padded), [16, 16, 20, 14]);
        assert_eq!(padded.vectors[20..260], *meta.vectors());
        let still =
            |vectors: &[MotionVector]| vectors.iter().all(|vector| *vector == MotionVector::default());
        assert!(still(&padded.vectors[..20]) && still(&padded.vectors[260..]));
        assert!(padded.rows(20).is_none());
        let costs = |name: &str| padded.costs(meta.costs().unwrap().values(), &[name.into()]);
        assert_eq!(costs("zero")[..20], [0; 20]);
    }

    #[test]
    fn flips_and_turns_turn_vectors_and_grid() {
        let meta = field((320, 192), 16);
        let whole = Placement::scaling((320, 192), (320, 192));
        let mirrored = Placement { is_mirrored: [true, false], ..whole }.resample(&meta).unwrap();
        for (index, vector) in mirrored.vectors.iter().enumerate() {
            let old = meta.vectors()[index / 20 * 20 + 19 - index % 20];
            assert_eq!(*vector, MotionVector { x: -old.x, ..old });
        }
        // A quarter turn clockwise: the left column, from below, becomes the first row.
        let turned = Placement {
            to: Rectangle { x: 0, y: 0, width: 192, height: 320 },
            is_transposed: true,
            is_mirrored: [true, false],
            size: (192, 320),
            ..whole
        };
        let turned = turned.resample(&meta).unwrap();
        assert_eq!(sizes(&turned), [16, 16, 12, 20]);
        for (index, vector) in turned.vectors.iter().enumerate() {
            let (column, row) = (index % 12, index / 12);
            let old = meta.vectors()[(11 - column) * 20 + row];
            // What moved down moves left now, and what moved right moves down.
            assert_eq!(*vector, MotionVector { x: -old.y, y: old.x, cost: old.cost });
        }
        assert!(turned.rows(20).is_none());
    }

    #[test]
    fn a_vector_that_does_not_fit_drops_the_field() {
        let meta = field((320, 16), 16);
        assert!(Placement::scaling((320, 16), (320 * 200, 16 * 200)).resample(&meta).is_none());
    }
}

//! The costs of blocks besides those of their vectors, one sample at a time.

use std::array::from_fn;

use super::interpolation::{half_sample, quarter_sample};
use crate::estimator::{Algorithm, CostKind, FrameView, Metric, MotionVector, Parameters};

/// The 4 x 4 Hadamard matrix, whose rows are in no particular order: sums of absolute values do not depend on it.
const HADAMARD: [[i32; 4]; 4] = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]];

/// A number of a block for each of [`Parameters::costs`], in their order, block after block, row-major.
///
/// # Panics
/// If the block size is 0, or a frame does not have the size in `parameters`, or `vectors` not one vector a block.
pub fn costs(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &FrameView<'_>,
    vectors: &[MotionVector],
) -> Vec<u32> {
    current.check(parameters).expect("current frame");
    reference.check(parameters).expect("reference frame");
    let grid = parameters.grid();
    grid.check(vectors).expect("a vector a block");
    let frames = [current, reference].map(|frame| SearchedSamples::new(parameters, frame));
    let blocks = vectors.iter().enumerate().map(|(index, &vector)| CostedBlock {
        parameters,
        current: &frames[0],
        reference: &frames[1],
        column: index % grid.columns,
        row: index / grid.columns,
        vector,
    });
    blocks.flat_map(|block| parameters.costs.iter().map(move |kind| block.cost(kind))).collect()
}

/// The samples that are searched, row by row. Outside the frame, its edge samples repeat.
struct SearchedSamples {
    samples: Vec<u16>,
    size: [i32; 2],
    peak: i32,
}

impl SearchedSamples {
    fn new(parameters: &Parameters, frame: &FrameView<'_>) -> Self {
        let format = frame.format();
        let size @ [width, height] = [frame.width(), frame.height()].map(|side| side as i32);
        let seen = |sample: u16| match format.depth() == parameters.bit_depth {
            true => sample,
            // Hierarchical search sees eight bits of deeper samples.
            false => format.eight_bits(sample).into(),
        };
        let samples = (0..height).flat_map(|y| (0..width).map(move |x| seen(frame.sample(x, y)))).collect();
        Self { samples, size, peak: (1 << parameters.bit_depth) - 1 }
    }

    fn at(&self, x: i32, y: i32) -> i32 {
        let [width, height] = self.size;
        self.samples[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize].into()
    }

    /// The sample at `(x, y)` quarter samples.
    fn between(&self, x: i32, y: i32) -> i32 {
        quarter_sample(|x, y| half_sample(self.peak, |x, y| self.at(x, y), x, y), x, y)
    }
}

/// The most of 0 to 255 at which a match that costs `cost` leaves no more of the cost of another explanation than that asks.
fn confidence(parameters: &Parameters, cost: u32, other: u32) -> u32 {
    // What remains of the other cost at 64, of 40 times the side.
    let most = 40 * parameters.block_size as i64;
    let noise = if parameters.algorithm == Algorithm::Hierarchical { 64 } else { 96 };
    let rest = most - noise.max(most / 8);
    let (rest, most) = match parameters.metric_of_costs() {
        Metric::Sad => (rest, most),
        Metric::Ssd => (rest * rest, most * most),
    };
    let is_reached = |confidence: &i64| {
        // What remains at `confidence`, and the whole of it.
        let (remaining, whole) = match confidence {
            ..=64 => (64 * most - confidence * (most - rest), 64 * most),
            _ => ((255 - confidence) * rest, 191 * most),
        };
        i128::from(cost) * i128::from(whole) <= i128::from(other) * i128::from(remaining)
    };
    let is_known = other != u32::MAX && cost < other;
    let reached = (0..=255).rev().find(is_reached).filter(|_| is_known);
    reached.unwrap_or(0) as u32
}

#[derive(Clone, Copy)]
struct CostedBlock<'a> {
    parameters: &'a Parameters,
    current: &'a SearchedSamples,
    reference: &'a SearchedSamples,
    column: usize,
    row: usize,
    vector: MotionVector,
}

impl CostedBlock<'_> {
    fn side(&self) -> i32 {
        self.parameters.block_size as i32
    }

    fn origin(&self) -> (i32, i32) {
        (self.column as i32 * self.side(), self.row as i32 * self.side())
    }

    fn cost(&self, kind: CostKind) -> u32 {
        match kind {
            CostKind::Zero => self.satd(|x, y| self.reference.at(x, y)),
            CostKind::Intra => self.intra(),
            CostKind::Satd => {
                let (right, down) = (self.quarters(self.vector.x), self.quarters(self.vector.y));
                self.satd(|x, y| self.reference.between(4 * x + right, 4 * y + down))
            }
            CostKind::Second => self.least_cost(|is_near| !is_near),
            CostKind::Variance => self.variance(),
            CostKind::Confidence => {
                let (cost, other) = match self.parameters.algorithm {
                    Algorithm::Hierarchical => (self.cost(CostKind::Satd), self.cost(CostKind::Intra)),
                    Algorithm::Full | Algorithm::ThreeStep => {
                        (self.least_cost(|is_near| is_near), self.cost(CostKind::Second))
                    }
                };
                confidence(self.parameters, cost, other)
            }
        }
    }

    /// `units` of the vector in quarter samples, rounded to the nearest, halves away from zero.
    fn quarters(&self, units: i16) -> i32 {
        let (scale, units) = (self.parameters.algorithm.scale(), i32::from(units));
        (2 * 4 * units.abs() + scale) / (2 * scale) * units.signum()
    }

    /// The SATD between the block and the samples `predicted(x, y)` at places in the frame.
    fn satd(&self, predicted: impl Fn(i32, i32) -> i32) -> u32 {
        let ((left, top), side) = (self.origin(), self.side() as usize);
        let mut sum = 0;
        for y in (top..).step_by(4).take(side / 4) {
            for x in (left..).step_by(4).take(side / 4) {
                let difference = |i: usize, j: usize| {
                    let (x, y) = (x + j as i32, y + i as i32);
                    self.current.at(x, y) - predicted(x, y)
                };
                let differences: [[i32; 4]; 4] = from_fn(|i| from_fn(|j| difference(i, j)));
                for (u, v) in (0..4).flat_map(|u| (0..4).map(move |v| (u, v))) {
                    let terms = (0..4).flat_map(|i| (0..4).map(move |j| (i, j)));
                    let coefficient: i32 =
                        terms.map(|(i, j)| HADAMARD[u][i] * HADAMARD[v][j] * differences[i][j]).sum();
                    sum += coefficient.unsigned_abs();
                }
            }
        }
        // The 16 coefficients of a tile are all even or all odd, so their sum is even.
        sum / 2
    }

    fn intra(&self) -> u32 {
        let ((left, top), side) = (self.origin(), self.side());
        let above = |x: i32| self.current.at(left + x, top - 1);
        let beside = |y: i32| self.current.at(left - 1, top + y);
        let sum: i32 = (0..side).map(|i| above(i) + beside(i)).sum();
        let mean = (sum + side) / (2 * side);
        let corner = above(-1);
        let slope = |rise: i32, at: i32| {
            let step = (64 * rise + side).div_euclid(2 * side);
            (step * (2 * at + 1 - side) + 32) >> 6
        };
        let (right, down) = (above(side - 1) - corner, beside(side - 1) - corner);
        let predictions: [&dyn Fn(i32, i32) -> i32; 4] =
            [&|_, _| mean, &|_, y| beside(y), &|x, _| above(x), &|x, y| {
                mean + slope(right, x) + slope(down, y)
            }];
        let costs = predictions.map(|predicted| self.satd(|x, y| predicted(x - left, y - top)));
        costs.into_iter().min().expect("there are four")
    }

    /// The least cost of the candidates that are near, less than two samples away from the vector on both axes, or of the
    /// others, as `counts` says.
    fn least_cost(&self, counts: impl Fn(bool) -> bool) -> u32 {
        let ((left, top), side) = (self.origin(), self.side());
        let is_counted = |&(x, y): &(i32, i32)| {
            let (right, down) = (4 * x - i32::from(self.vector.x), 4 * y - i32::from(self.vector.y));
            counts(right.abs().max(down.abs()) < 2 * 4)
        };
        let cost = |(right, down): (i32, i32)| -> u32 {
            let places = (top..top + side).flat_map(|y| (left..left + side).map(move |x| (x, y)));
            let difference = |(x, y): (i32, i32)| {
                self.current.at(x, y).abs_diff(self.reference.at(x + right, y + down)) as u16
            };
            places.map(|place| self.parameters.metric.term(difference(place))).sum()
        };
        let candidates = self.parameters.window_of_block(self.column, self.row).iter();
        candidates.filter(is_counted).map(cost).min().unwrap_or(u32::MAX)
    }

    fn variance(&self) -> u32 {
        let ((left, top), side) = (self.origin(), self.side());
        let places = (top..top + side).flat_map(|y| (left..left + side).map(move |x| (x, y)));
        let samples: Vec<u64> = places.map(|(x, y)| self.current.at(x, y) as u64).collect();
        let (count, sum) = (samples.len() as u64, samples.iter().sum::<u64>());
        let squares: u64 = samples.iter().map(|sample| sample * sample).sum();
        let variance =
            ((count * squares - sum * sum) / count) >> CostKind::variance_shift(self.parameters.bit_depth);
        u32::try_from(variance).expect("the largest block of the deepest samples fits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Border, Doubt, Frame, SubSample, Window};

    /// The costs of the first block of 4 of `width` x 4 samples, whose vector is `(x, y)` units.
    fn costs_of(
        kind: CostKind,
        change: impl Fn(Parameters) -> Parameters,
        [current, reference]: [&Frame; 2],
        block: usize,
        (x, y): (i16, i16),
    ) -> u32 {
        let (width, height) = current.view().size();
        let parameters = Parameters::new(width, height, 4, Window::symmetric(3, 3).unwrap());
        let parameters = change(Parameters { costs: [kind].into_iter().collect(), ..parameters });
        let mut vectors = vec![MotionVector::default(); parameters.grid().blocks()];
        vectors[block] = MotionVector { x, y, cost: 0 };
        costs(&parameters, &current.view(), &reference.view(), &vectors)[block]
    }

    fn flat(sample: u8) -> Frame {
        Frame::from_fn(4, 4, |_, _| sample)
    }

    #[test]
    fn a_transform_by_hand() {
        let zero = |current: &Frame| costs_of(CostKind::Zero, |p| p, [current, &flat(10)], 0, (0, 0));
        // All 16 differences are 3: one coefficient of 48.
        assert_eq!(zero(&flat(13)), 24);
        // One difference of 2: 16 coefficients of 2.
        assert_eq!(zero(&Frame::from_fn(4, 4, |x, y| 10 + 2 * u8::from((x, y) == (1, 2)))), 16);
        // Columns by turns 5 more and 5 less: one coefficient of 80.
        assert_eq!(zero(&Frame::from_fn(4, 4, |x, _| [15, 5][x % 2])), 40);
        // Two tiles of a block of 8, of which the second repeats the last column.
        let wide = |first: u8, last: u8| Frame::from_fn(5, 4, |x, _| [first, last][x / 4]);
        let p = |p| Parameters { block_size: 8, ..p };
        // Both rows of tiles: (16 * 1 + 16 * 7) * 2 / 2.
        assert_eq!(costs_of(CostKind::Zero, p, [&wide(11, 17), &wide(10, 10)], 0, (0, 0)), 128);
    }

    #[test]
    fn the_best_prediction_from_the_frame_itself_wins() {
        let intra = |sample: fn(usize, usize) -> u8| {
            let frame = Frame::from_fn(8, 8, sample);
            costs_of(CostKind::Intra, |p| p, [&frame, &flat_8(0)], 3, (0, 0))
        };
        // The mean of what is around.
        assert_eq!(intra(|_, _| 77), 0);
        // SearchedSamples above, and beside.
        assert_eq!(intra(|x, _| [9, 200, 30, 4, 250, 7, 99, 1][x]), 0);
        assert_eq!(intra(|_, y| [9, 200, 30, 4, 250, 7, 99, 1][y]), 0);
        // A plane of 8 a sample on both axes. The corner is 48: the mean of 56 to 80 is 68, and the slopes from -12
        // to 12 meet each sample but for the mean, which is that of what lies before the block: 8 * 2.5 too low.
        assert_eq!(intra(|x, y| (8 * (x + y)) as u8), 16 * 20 / 2);
        // One sample differs from flat surroundings by 6, by all predictions.
        assert_eq!(intra(|x, y| 50 + 6 * u8::from((x, y) == (5, 6))), 48);
    }

    fn flat_8(sample: u8) -> Frame {
        Frame::from_fn(8, 8, |_, _| sample)
    }

    /// Beyond the edge of the frame, predictions are from samples of the block itself.
    #[test]
    fn the_first_block_is_predicted_from_its_own_edge() {
        let frame = Frame::from_fn(8, 8, |x, _| 3 * x as u8);
        assert_eq!(costs_of(CostKind::Intra, |p| p, [&frame, &frame], 0, (0, 0)), 0);
        // Neither rows nor columns are alike: above and beside are (100, 0, 0, 0) each. The mean, 25, misses the first
        // sample by 75 and the others by -25: a coefficient of 100 - 400, and fifteen of 100.
        let frame = Frame::from_fn(4, 4, |x, y| 100 * u8::from((x, y) == (0, 0)));
        assert_eq!(costs_of(CostKind::Intra, |p| p, [&frame, &frame], 0, (0, 0)), (300 + 15 * 100) / 2);
    }

    #[test]
    fn vectors_lead_between_samples() {
        let slope = |shift: i32| Frame::from_fn(24, 24, move |x, _| (20 + 8 * x as i32 + shift) as u8);
        // The middle block of 8: a quarter sample is 2.
        let middle = |algorithm, units| {
            let change = |p| Parameters { block_size: 8, algorithm, sub_sample: SubSample::None, ..p };
            costs_of(CostKind::Satd, change, [&slope(6), &slope(0)], 4, (units, 0))
        };
        assert_eq!(middle(Algorithm::Full, 3), 0);
        assert_eq!(middle(Algorithm::Full, 2), 4 * 16 * 2 / 2);
        // 20 and 28 units of 1/32 sample are rounded to 3/4 and to a whole sample.
        assert_eq!(middle(Algorithm::Hierarchical, 20), 0);
        assert_eq!(middle(Algorithm::Hierarchical, 27), 0);
        assert_eq!(middle(Algorithm::Hierarchical, 28), 4 * 16 * 2 / 2);
    }

    #[test]
    fn the_second_best_is_two_samples_away() {
        // Columns 10 apart: d samples to the side cost 160 d, and nothing does up and down.
        let slope = Frame::from_fn(12, 4, |x, _| 10 * x as u8);
        let second = |change: fn(Parameters) -> Parameters, vector| {
            costs_of(CostKind::Second, change, [&slope, &slope], 1, vector)
        };
        assert_eq!(second(|p| p, (0, 0)), 0);
        fn row(p: Parameters) -> Parameters {
            Parameters { window: Window::symmetric(3, 0).unwrap(), ..p }
        }
        assert_eq!(second(row, (0, 0)), 320);
        assert_eq!(second(row, (4, 0)), 160);
        // 1.25 samples to the right: 0 is nearer than two samples, -1 is not.
        assert_eq!(second(row, (5, 0)), 160);
        assert_eq!(second(row, (8, 0)), 0);
        assert_eq!(second(|p| Parameters { metric: Metric::Ssd, ..row(p) }, (0, 0)), 16 * 400);
        // No candidate is far enough.
        let near = |p| Parameters { window: Window::symmetric(1, 1).unwrap(), ..p };
        assert_eq!(second(near, (0, 0)), u32::MAX);
        // Nor is one inside the frame, for the first block, but to the right.
        let inside = |p| Parameters { border: Border::Restrict, ..row(p) };
        assert_eq!(costs_of(CostKind::Second, inside, [&slope, &slope], 0, (0, 0)), 320);
    }

    #[test]
    fn a_variance_by_hand() {
        let variance = |frame: &Frame| costs_of(CostKind::Variance, |p| p, [frame, frame], 0, (0, 0));
        assert_eq!(variance(&flat(200)), 0);
        // Half of the samples 5 above their mean, half below.
        assert_eq!(variance(&Frame::from_fn(4, 4, |x, _| [15, 5][x % 2])), 16 * 25);
        // 16 * 1 - 1 in sixteenths, rounded down.
        assert_eq!(variance(&Frame::from_fn(4, 4, |x, y| u8::from((x, y) == (0, 0)))), 0);
        // The most that there is, in units of ten bits.
        let deep = Frame::deep_from_fn(64, 64, 16, |x, _| if x < 32 { 0 } else { 65535 });
        let change = |p| Parameters { bit_depth: 16, block_size: 64, ..p };
        assert_eq!(
            costs_of(CostKind::Variance, change, [&deep, &deep], 0, (0, 0)),
            (65535u64 * 65535 / 4) as u32
        );
    }

    #[test]
    fn a_confidence_by_hand() {
        let of = |algorithm, side| {
            let doubt = Doubt::new(algorithm, Metric::Sad, side);
            move |cost, other| doubt.confidence(cost, other)
        };
        let full = |side| of(Algorithm::Full, side);
        let hierarchical = |side| of(Algorithm::Hierarchical, side);
        // Noise gains 12/20 of blocks of 4, 12/40 of 8 and 12/80 of 16; at least an eighth.
        assert_eq!([400, 401].map(|cost| full(4)(cost, 1000)), [64, 63]);
        assert_eq!([700, 701].map(|cost| full(8)(cost, 1000)), [64, 63]);
        assert_eq!([850, 851].map(|cost| full(16)(cost, 1000)), [64, 63]);
        assert_eq!([32, 64].map(|side| full(side)(875, 1000)), [64, 64]);
        assert_eq!([32, 64].map(|side| full(side)(876, 1000)), [63, 63]);
        // And 8/20, 8/40 and an eighth.
        assert_eq!([600, 601].map(|cost| hierarchical(4)(cost, 1000)), [64, 63]);
        assert_eq!([800, 801].map(|cost| hierarchical(8)(cost, 1000)), [64, 63]);
        assert_eq!([875, 876].map(|cost| hierarchical(16)(cost, 1000)), [64, 63]);
        // Linear below and above: half of what noise gains, and half of the rest.
        assert_eq!([850, 350, 0].map(|cost| full(8)(cost, 1000)), [32, 159, 255]);
        // Of squares 49/100 remain where 7/10 do of differences.
        let squares = Doubt::new(Algorithm::ThreeStep, Metric::Ssd, 8);
        assert_eq!([490, 491].map(|cost| squares.confidence(cost, 1000)), [64, 63]);
        // Where nothing costs more, and where nothing else was compared.
        for doubt in [full(4), full(64), hierarchical(4)] {
            assert_eq!(
                [(0, 0), (7, 7), (8, 7), (0, u32::MAX)].map(|(cost, other)| doubt(cost, other)),
                [0; 4]
            );
            assert_eq!([(0, 1), (0, u32::MAX - 1)].map(|(cost, other)| doubt(cost, other)), [255; 2]);
        }

        let found = |algorithm, frames, vector| {
            let change = |p| Parameters { algorithm, ..p };
            costs_of(CostKind::Confidence, change, frames, 4, vector)
        };
        // The frame itself costs nothing, and every other match costs something.
        let slope = Frame::from_fn(12, 12, |x, y| (5 * x + 7 * y) as u8);
        assert_eq!(found(Algorithm::Full, [&slope, &slope], (0, 0)), 255);
        // Between samples too: the whole samples around the vector count.
        assert_eq!(found(Algorithm::Full, [&slope, &slope], (3, -2)), 255);
        // A vector to another match than the best one.
        assert_eq!(found(Algorithm::Full, [&slope, &slope], (8, 0)), 0);
        // All that is around is the same sample: the block needs no motion.
        let flat = Frame::from_fn(12, 12, |_, _| 90);
        assert_eq!(found(Algorithm::Full, [&flat, &flat], (0, 0)), 0);
        assert_eq!(found(Algorithm::Hierarchical, [&flat, &flat], (0, 0)), 0);
        // One sample differs by 6 from flat surroundings, and the match by 2 less: of 48 it costs 16. Two thirds are
        // gained where noise gains 8/20.
        let dot = |rise| Frame::from_fn(12, 12, move |x, y| 50 + rise * u8::from((x, y) == (5, 6)));
        assert_eq!(found(Algorithm::Hierarchical, [&dot(6), &dot(4)], (0, 0)), 64 + 191 * 4 / 9);
    }

    /// Both definitions give the same numbers.
    #[test]
    fn confidences_are_those_of_the_definition() {
        const OTHERS: [u32; 7] = [1, 2, 97, 1000, 65_521, 4_294_967, u32::MAX - 1];
        for algorithm in [Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical] {
            for metric in [Metric::Sad, Metric::Ssd] {
                for side in (4..=64).step_by(4) {
                    let parameters = Parameters::new(side, side, side, Window::symmetric(3, 3).unwrap());
                    let parameters = Parameters { algorithm, metric, ..parameters };
                    for other in OTHERS {
                        let costs = (0..=300).map(|part| (u64::from(other) * part / 299) as u32);
                        for cost in costs {
                            let expected = confidence(&parameters, cost, other);
                            let found = Doubt::of(&parameters).confidence(cost, other);
                            assert_eq!(found, expected, "{cost} of {other}: {parameters:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_kind_in_its_order() {
        let (current, reference) = (Frame::from_fn(9, 5, |x, y| (x * y * 7) as u8), flat_sized(9, 5));
        let all = |kinds: &[CostKind]| {
            let costs_wanted = kinds.iter().copied().collect();
            let parameters = Parameters::new(9, 5, 4, Window::symmetric(3, 3).unwrap());
            let parameters = Parameters { costs: costs_wanted, ..parameters };
            costs(&parameters, &current.view(), &reference.view(), &[MotionVector::default(); 6])
        };
        let together = all(&CostKind::ALL);
        assert_eq!(together.len(), 6 * 6);
        for (index, kind) in CostKind::ALL.into_iter().enumerate() {
            let alone: Vec<u32> = together.iter().skip(index).step_by(6).copied().collect();
            assert_eq!(all(&[kind]), alone);
        }
    }

    fn flat_sized(width: usize, height: usize) -> Frame {
        Frame::from_fn(width, height, |_, _| 40)
    }
}

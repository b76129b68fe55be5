//! The definitions of the algorithms, one sample and one candidate at a time.
//!
//! Every device is compared with them, whole fields, bit for bit. They are not meant to be fast.

mod costs;
mod hierarchical;
pub mod interpolation;
mod refinement;

pub use costs::costs;
pub use hierarchical::eight_bits;
pub use hierarchical::hierarchical;

use super::{Algorithm, Displacement, FrameView, MotionField, OrderKey, Parameters, SubSample, Window};

/// The field that `parameters.algorithm` and `parameters.sub_sample` define.
///
/// # Panics
/// If the block size is 0, or a frame does not have the size in `parameters`.
pub fn search(parameters: &Parameters, current: &FrameView<'_>, reference: &FrameView<'_>) -> MotionField {
    let mut field = match parameters.algorithm {
        Algorithm::Full => full_search(parameters, current, reference),
        Algorithm::ThreeStep => three_step(parameters, current, reference),
        Algorithm::Hierarchical => hierarchical(parameters, current, reference),
    };
    if parameters.sub_sample != SubSample::None {
        refinement::refine(parameters, current, reference, &mut field);
    }
    field
}

/// The field of full search, in whole samples.
///
/// # Panics
/// If the block size is 0, or a frame does not have the size in `parameters`.
pub fn full_search(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &FrameView<'_>,
) -> MotionField {
    field_of(parameters, current, reference, |window, key| {
        window.iter().map(key).min().expect("every window holds (0, 0)")
    })
}

/// The field of three-step search in whole samples, as [`Algorithm::ThreeStep`] defines it.
///
/// # Panics
/// If the block size is 0, or a frame does not have the size in `parameters`.
pub fn three_step(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &FrameView<'_>,
) -> MotionField {
    field_of(parameters, current, reference, |window, key| {
        let mut centre = key((0, 0));
        // The steps are those of the whole window, also for a block whose window the border reduces.
        for step in parameters.window.steps() {
            let (x, y) = centre.displacement();
            let nine =
                [y - step, y, y + step].into_iter().flat_map(|y| [x - step, x, x + step].map(|x| (x, y)));
            let counting = nine.filter(|&displacement| window.contains(displacement));
            centre = counting.map(&key).min().expect("the centre counts");
        }
        centre
    })
}

/// The field with what `best` returns for each block, given the admissible displacements and the key of each.
fn field_of(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &FrameView<'_>,
    best: impl Fn(Window, &dyn Fn(Displacement) -> OrderKey) -> OrderKey,
) -> MotionField {
    current.check(parameters).expect("current frame");
    reference.check(parameters).expect("reference frame");
    let mut field = MotionField::new(parameters);
    let columns = field.grid.columns;
    for (index, vector) in field.vectors.iter_mut().enumerate() {
        let (column, row) = (index % columns, index / columns);
        let origin = ((column * parameters.block_size) as i32, (row * parameters.block_size) as i32);
        let key = |(x, y)| OrderKey::new(cost_of_block(parameters, current, reference, origin, (x, y)), x, y);
        *vector = best(parameters.window_of_block(column, row), &key).vector();
    }
    field
}

/// The cost of the block whose first sample is `origin` and the block at `displacement` from it in the reference frame.
/// Outside the frames, their edge samples repeat.
///
/// # Panics
/// If a frame does not have the size in `parameters`.
pub fn cost(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &FrameView<'_>,
    origin: (i32, i32),
    displacement: Displacement,
) -> u32 {
    current.check(parameters).expect("current frame");
    reference.check(parameters).expect("reference frame");
    cost_of_block(parameters, current, reference, origin, displacement)
}

/// The same of frames that have been checked.
fn cost_of_block(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &FrameView<'_>,
    origin: (i32, i32),
    displacement: Displacement,
) -> u32 {
    let side = parameters.block_size as i32;
    let mut sum = 0_u32;
    for down in 0..side {
        for right in 0..side {
            let (x, y) = (origin.0.saturating_add(right), origin.1.saturating_add(down));
            let c = current.sample(x, y);
            let r = reference.sample(x.saturating_add(displacement.0), y.saturating_add(displacement.1));
            sum = sum.saturating_add(parameters.metric.term(c.abs_diff(r)));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Border, Frame, MotionVector, Window};

    fn parameters(width: usize, height: usize, block_size: usize, range: i32) -> Parameters {
        let window = Window::symmetric(range, range).unwrap();
        Parameters::new(width, height, block_size, window)
    }

    /// Samples whose every 4 x 4 block is unlike every other.
    fn texture(x: usize, y: usize) -> u8 {
        ((x * x * 7 + y * y * 13 + x * y * 3) % 251) as u8
    }

    #[test]
    fn vector_points_to_where_the_block_was() {
        let reference = Frame::from_fn(32, 32, texture);
        // What is seen at (x, y) now was 3 to the right of it and 2 above it in the reference.
        let current = Frame::from_fn(32, 32, |x, y| texture(x + 3, y.wrapping_sub(2).min(31)));
        let field = full_search(&parameters(32, 32, 8, 4), &current.view(), &reference.view());
        let inner = field.vectors[2 * field.grid.columns + 1];
        assert_eq!(inner, MotionVector { x: 3 * 4, y: -2 * 4, cost: 0 });
    }

    #[test]
    fn costs_by_hand() {
        // Every difference is 10; the 5 x 3 frame is one 8 x 8 block by its repeated edges.
        let reference = Frame::from_fn(5, 3, |_, _| 20);
        let current = Frame::from_fn(5, 3, |_, _| 30);
        let mut parameters = parameters(5, 3, 8, 2);
        let sad = full_search(&parameters, &current.view(), &reference.view());
        assert_eq!(sad.vectors, [MotionVector { x: 0, y: 0, cost: 640 }]);
        parameters.metric = crate::estimator::Metric::Ssd;
        let ssd = full_search(&parameters, &current.view(), &reference.view());
        assert_eq!(ssd.vectors, [MotionVector { x: 0, y: 0, cost: 6400 }]);
    }

    #[test]
    fn ties_go_to_the_shortest_then_the_upper_then_the_left() {
        // Only odd columns match, so (-1, 0) and (1, 0) tie and the left one wins.
        let reference = Frame::from_fn(12, 4, |x, _| if x % 2 == 1 { 200 } else { 0 });
        let current = Frame::from_fn(12, 4, |x, _| if x % 2 == 1 { 0 } else { 200 });
        let field = full_search(&parameters(12, 4, 4, 3), &current.view(), &reference.view());
        assert_eq!(field.vectors[1], MotionVector { x: -4, y: 0, cost: 0 });
    }

    #[test]
    fn restricted_candidates_stay_inside() {
        let reference = Frame::from_fn(16, 8, texture);
        let current = Frame::from_fn(16, 8, |x, _| if x < 8 { 255 } else { 0 });
        let mut parameters = parameters(16, 8, 8, 8);
        parameters.border = Border::Restrict;
        let field = full_search(&parameters, &current.view(), &reference.view());
        assert!(field.vectors[0].x >= 0 && field.vectors[1].x <= 0);
        assert!(field.vectors.iter().all(|vector| vector.y == 0));
    }

    /// Three-step search of one row of 4 x 4 blocks, in frames that differ from left to right
    /// alone, so that vectors have no reason to leave the row.
    fn in_a_row(range: i32, current: impl Fn(usize) -> u8, reference: impl Fn(usize) -> u8) -> MotionField {
        let parameters = parameters(40, 4, 4, range);
        let current = Frame::from_fn(40, 4, |x, _| current(x));
        let reference = Frame::from_fn(40, 4, |x, _| reference(x));
        three_step(&parameters, &current.view(), &reference.view())
    }

    /// The steps of range 7 are 4, 2 and 1, which add up to 7. Those of 6 are 3, 2 and 1.
    #[test]
    fn three_steps_reach_the_longest_vector() {
        let slope = |x: usize| 4 * x as u8;
        let vector = in_a_row(7, |x| slope(x + 7), slope).vectors[4];
        assert_eq!(vector, MotionVector { x: 7 * 4, y: 0, cost: 0 });
        let vector = in_a_row(6, |x| slope(x + 7), slope).vectors[4];
        assert_eq!(vector, MotionVector { x: 6 * 4, y: 0, cost: 16 * 4 });
    }

    /// A row of the block at 8 costs 200 where it is; 400 at -4 and 700 at 4; 200 at -2, which is
    /// longer, and 600 at 2; 700 at -1 and 400 at 1. It matches at 3, which is never tried.
    #[test]
    fn three_steps_do_not_see_everything() {
        let current = |x| if (8..12).contains(&x) { [0, 200, 0, 200][x - 8] } else { 50 };
        let reference = |x| if (8..15).contains(&x) { [0, 200, 0, 0, 200, 0, 200][x - 8] } else { 100 };
        assert_eq!(in_a_row(7, current, reference).vectors[2], MotionVector { x: 0, y: 0, cost: 4 * 200 });
        let current = Frame::from_fn(40, 4, |x, _| current(x));
        let reference = Frame::from_fn(40, 4, |x, _| reference(x));
        let full = full_search(&parameters(40, 4, 4, 7), &current.view(), &reference.view());
        assert_eq!(full.vectors[2], MotionVector { x: 3 * 4, y: 0, cost: 0 });
    }

    /// The bright block is at 8 now and was at 11. Step 4 goes to 4, one column wrong; step 2 finds
    /// one column wrong at 2 too, which is the shorter vector, and step 1 the match.
    #[test]
    fn ties_of_a_step_are_decided_by_the_whole_displacement() {
        let bright = |from: usize| move |x| if (from..from + 4).contains(&x) { 200 } else { 0 };
        let vector = in_a_row(7, bright(8), bright(11)).vectors[2];
        assert_eq!(vector, MotionVector { x: 3 * 4, y: 0, cost: 0 });
    }

    /// Four squares around the block match alike: the upper one wins, and without it the left one.
    #[test]
    fn ties_of_a_step_go_up_and_left() {
        let square = |x: usize, y: usize| if (x / 4 + y / 4) % 2 == 1 { 200 } else { 0 };
        let reference = Frame::from_fn(20, 20, square);
        let current = Frame::from_fn(20, 20, |x, y| 200 - square(x, y));
        let mut parameters = parameters(20, 20, 4, 7);
        let field = three_step(&parameters, &current.view(), &reference.view());
        assert_eq!(field.vectors[2 * 5 + 2], MotionVector { x: 0, y: -4 * 4, cost: 0 });
        parameters.window = Window::symmetric(7, 3).unwrap();
        let field = three_step(&parameters, &current.view(), &reference.view());
        assert_eq!(field.vectors[2 * 5 + 2], MotionVector { x: -4 * 4, y: 0, cost: 0 });
    }

    /// The first block looks like the outermost column, and less so like the block at 8. Step 8 tries
    /// -8 and 8: all samples at -8 are those of the edge, as they are nearer by at -3. Were -8 left
    /// out for that, the way would lead to 8 and not come back.
    #[test]
    fn a_step_far_outside_the_frame_counts() {
        let reference = |x| match x {
            0 => 90,
            8..12 => 80,
            _ => 0,
        };
        assert_eq!(in_a_row(16, |_| 90, reference).vectors[0], MotionVector { x: -3 * 4, y: 0, cost: 0 });
    }

    /// Steps 5, 3, 2, 1 in a window from 0 to 9: 5, 8, not 10 but 8, 9. Nothing to the left.
    #[test]
    fn three_steps_stay_in_the_window_and_inside_the_frame() {
        let slope = |x: usize| 3 * x as u8 + 40;
        let frame = |shift: usize| Frame::from_fn(40, 4, move |x, _| slope(x + shift));
        let (early, late) = (frame(0), frame(10));
        let window = Window::new(0, 9, 0, 0).unwrap();
        let mut parameters = Parameters { window, ..parameters(40, 4, 4, 9) };
        let field = three_step(&parameters, &late.view(), &early.view());
        assert_eq!(field.vectors[3], MotionVector { x: 9 * 4, y: 0, cost: 16 * 3 });
        let field = three_step(&parameters, &early.view(), &late.view());
        assert_eq!(field.vectors[3], MotionVector { x: 0, y: 0, cost: 16 * 30 });
        // The last block but one has room for 4: neither 5 nor 3 + 2 is inside.
        parameters.border = Border::Restrict;
        let field = three_step(&parameters, &late.view(), &early.view());
        assert_eq!(field.vectors[8], MotionVector { x: 4 * 4, y: 0, cost: 16 * 3 * 6 });
        assert_eq!(field.vectors[9], MotionVector { x: 0, y: 0, cost: 16 * 30 });
    }

    #[test]
    fn search_follows_the_algorithm() {
        let mut parameters = parameters(40, 4, 4, 7);
        let frame = Frame::from_fn(40, 4, |x, y| texture(x * x, y));
        let reference = Frame::from_fn(40, 4, texture);
        let full = full_search(&parameters, &frame.view(), &reference.view());
        let three = three_step(&parameters, &frame.view(), &reference.view());
        assert_ne!(full, three);
        assert_eq!(search(&parameters, &frame.view(), &reference.view()), full);
        parameters.algorithm = Algorithm::ThreeStep;
        assert_eq!(search(&parameters, &frame.view(), &reference.view()), three);
    }
}

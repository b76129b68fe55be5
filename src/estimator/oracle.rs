//! Full search as a definition: one sample at a time, one candidate after the other.
//!
//! Every backend is compared with it, whole fields, bit for bit. It is not meant to be fast.

use super::{Displacement, Metric, MotionField, OrderKey, Parameters, Picture};

/// The field of full search.
///
/// # Panics
/// Where a picture is not of the size in `parameters`.
pub fn full_search(parameters: &Parameters, current: &Picture<'_>, reference: &Picture<'_>) -> MotionField {
    current.check_size(parameters).expect("current picture");
    reference.check_size(parameters).expect("reference picture");
    let mut field = MotionField::new(parameters);
    let columns = field.grid.columns;
    for (index, vector) in field.vectors.iter_mut().enumerate() {
        let (column, row) = (index % columns, index / columns);
        let origin = ((column * parameters.block_size) as i32, (row * parameters.block_size) as i32);
        let best = parameters
            .window_of_block(column, row)
            .iter()
            .map(|(x, y)| OrderKey::new(cost(parameters, current, reference, origin, (x, y)), x, y))
            .min()
            .expect("every window holds (0, 0)");
        *vector = best.vector();
    }
    field
}

/// The cost of matching the block whose first sample is `origin` by the one displaced by
/// `displacement`.
pub fn cost(
    parameters: &Parameters,
    current: &Picture<'_>,
    reference: &Picture<'_>,
    origin: (i32, i32),
    displacement: Displacement,
) -> u32 {
    let side = parameters.block_size as i32;
    let mut sum = 0;
    for y in origin.1..origin.1 + side {
        for x in origin.0..origin.0 + side {
            let c = current.extended(x, y);
            let r = reference.extended(x + displacement.0, y + displacement.1);
            let difference = u32::from(c.abs_diff(r));
            sum += match parameters.metric {
                Metric::Sad => difference,
                Metric::Ssd => difference * difference,
            };
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Border, MotionVector, PictureBuf, Window};

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
        let reference = PictureBuf::from_fn(32, 32, texture);
        // What is seen at (x, y) now was 3 to the right of it and 2 above it in the reference.
        let current = PictureBuf::from_fn(32, 32, |x, y| texture(x + 3, y.wrapping_sub(2).min(31)));
        let field = full_search(&parameters(32, 32, 8, 4), &current.view(), &reference.view());
        let inner = field.vectors[2 * field.grid.columns + 1];
        assert_eq!(inner, MotionVector { x: 3 * 4, y: -2 * 4, cost: 0 });
    }

    #[test]
    fn costs_by_hand() {
        // Every difference is 10; the 5 x 3 picture is one 8 x 8 block by its repeated edges.
        let reference = PictureBuf::from_fn(5, 3, |_, _| 20);
        let current = PictureBuf::from_fn(5, 3, |_, _| 30);
        let mut parameters = parameters(5, 3, 8, 2);
        let sad = full_search(&parameters, &current.view(), &reference.view());
        assert_eq!(sad.vectors, [MotionVector { x: 0, y: 0, cost: 640 }]);
        parameters.metric = Metric::Ssd;
        let ssd = full_search(&parameters, &current.view(), &reference.view());
        assert_eq!(ssd.vectors, [MotionVector { x: 0, y: 0, cost: 6400 }]);
    }

    #[test]
    fn ties_go_to_the_shortest_then_the_upper_then_the_left() {
        // Only odd columns match, so (-1, 0) and (1, 0) tie and the left one wins.
        let reference = PictureBuf::from_fn(12, 4, |x, _| if x % 2 == 1 { 200 } else { 0 });
        let current = PictureBuf::from_fn(12, 4, |x, _| if x % 2 == 1 { 0 } else { 200 });
        let field = full_search(&parameters(12, 4, 4, 3), &current.view(), &reference.view());
        assert_eq!(field.vectors[1], MotionVector { x: -4, y: 0, cost: 0 });
    }

    #[test]
    fn restricted_candidates_stay_inside() {
        let reference = PictureBuf::from_fn(16, 8, texture);
        let current = PictureBuf::from_fn(16, 8, |x, _| if x < 8 { 255 } else { 0 });
        let mut parameters = parameters(16, 8, 8, 8);
        parameters.border = Border::Restrict;
        let field = full_search(&parameters, &current.view(), &reference.view());
        assert!(field.vectors[0].x >= 0 && field.vectors[1].x <= 0);
        assert!(field.vectors.iter().all(|vector| vector.y == 0));
    }
}

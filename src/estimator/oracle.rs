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

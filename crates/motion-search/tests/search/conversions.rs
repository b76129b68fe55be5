//! Frames and fields as types of other crates. Each of the features has tests of its own here.

use motion_search::estimator::{MotionField, Parameters, Prediction, Window};
use motion_search::{CostKind, FieldError, Frame, MotionSearch};

fn picture(x: u32, y: u32) -> u8 {
    (x.wrapping_mul(2_654_435_761).wrapping_add(y.wrapping_mul(2_246_822_519)) >> 9) as u8
}

/// A field with all that a field can have, of a texture that moves by two samples to the right and one down.
fn field() -> MotionField {
    let frame = |moved: u32| {
        Frame::from_fn(45, 30, move |x, y| picture(x as u32 + 100 - 2 * moved, y as u32 + 50 - moved))
    };
    let costs = [CostKind::Zero, CostKind::Confidence];
    let builder = MotionSearch::builder(45, 30).device("native").block_size(8).search_range(4, 4);
    let builder = builder.prediction(Prediction::Median).scene_cut(true).costs(costs);
    builder.build().unwrap().search(&frame(1), &frame(0)).unwrap()
}

/// Fields that no search finds, and what is wrong with each.
fn wrong() -> Vec<(MotionField, FieldError)> {
    let change = |change: fn(&mut MotionField), error| {
        let mut field = field();
        change(&mut field);
        (field, error)
    };
    let of_grid = |width, height, block_size, columns, rows| FieldError::Grid {
        width,
        height,
        block_size,
        columns,
        rows,
    };
    let of_records = |what, present, expected| FieldError::Records { what, present, expected };
    vec![
        (MotionField::default(), FieldError::Units { block_size: 0, scale: 0 }),
        change(|field| field.scale = 0, FieldError::Units { block_size: 8, scale: 0 }),
        change(|field| field.size.0 = 49, of_grid(49, 30, 8, 6, 4)),
        change(|field| field.grid.rows = usize::MAX, of_grid(45, 30, 8, 6, usize::MAX)),
        change(|field| field.vectors.truncate(23), of_records("vectors", 23, 24)),
        change(|field| field.predictors.truncate(1), of_records("predictors", 1, 24)),
        change(|field| field.costs.push(0), of_records("costs", 49, 48)),
    ]
}

#[test]
fn a_field_that_does_not_fit_is_told_apart() {
    assert_eq!(field().check(), Ok(()));
    let p = Parameters::new(45, 30, 8, Window::symmetric(4, 4).unwrap());
    assert_eq!(MotionField::new(&p).check(), Ok(()));
    for (field, error) in wrong() {
        assert_eq!(field.check(), Err(error));
        // Nothing is read past the end.
        for (column, row) in [(0, 0), (5, 3), (usize::MAX, usize::MAX), (3, usize::MAX / 2)] {
            let _ = (field.vector(column, row), field.predictor(column, row));
            let _ = (field.cost(CostKind::Zero, column, row), field.motion_at(column, row));
        }
    }
}

#[cfg(feature = "image")]
mod images {
    use motion_search::estimator::motion_color;
    use motion_search::image::GrayImage;
    use motion_search::{Frame, FrameError};

    use super::{field, picture, wrong};

    #[test]
    fn a_gray_image_is_a_frame() {
        let image = GrayImage::from_fn(13, 7, |x, y| [picture(x, y)].into());
        let expected = Frame::from_fn(13, 7, |x, y| picture(x as u32, y as u32));
        assert_eq!(Frame::try_from(&image), Ok(expected.clone()));
        assert_eq!(Frame::try_from(image), Ok(expected));
        for (width, height) in [(0, 7), (13, 0), (0, 0)] {
            let empty = GrayImage::new(width, height);
            let error = Err(FrameError::Empty(width as usize, height as usize));
            assert_eq!(Frame::try_from(&empty), error);
            assert_eq!(Frame::try_from(empty), error);
        }
    }

    #[test]
    fn a_field_is_drawn_for_each_sample_of_its_frame() {
        let mut field = field();
        (field.vectors[0].x, field.vectors[0].y) = (32, 0);
        (field.vectors[7].x, field.vectors[7].y) = (0, -8);
        let image = field.to_image().unwrap();
        assert_eq!(image.dimensions(), (45, 30));
        // Eight samples to the right is the longest motion.
        assert_eq!(image.get_pixel(7, 7).0, [255, 0, 0]);
        for (x, y, pixel) in image.enumerate_pixels() {
            let motion = field.motion_at(x as usize, y as usize).unwrap();
            assert_eq!(
                pixel.0,
                motion_color(motion, 8.0).map(|part| (255.0 * part).round() as u8),
                "{x} {y}"
            );
        }
        // Up by two of eight samples: violet of half brightness.
        assert_eq!(image.get_pixel(8, 8).0, [64, 0, 128]);
        field.vectors.fill(Default::default());
        assert!(field.to_image().unwrap().pixels().all(|pixel| pixel.0 == [0; 3]));
        for (field, error) in wrong() {
            assert_eq!(field.to_image().unwrap_err(), error);
        }
    }
}

#[cfg(feature = "ndarray")]
mod arrays {
    use motion_search::CostKind;

    use super::{field, wrong};

    #[test]
    fn a_field_is_arrays_of_rows_and_columns() {
        let field = field();
        let (vectors, motion) = (field.vector_array().unwrap(), field.motion_array().unwrap());
        let costs = field.cost_array().unwrap();
        assert_eq!((vectors.dim(), motion.dim(), costs.dim()), ((4, 6), (4, 6, 2), (4, 6, 2)));
        for (row, column) in (0..4).flat_map(|row| (0..6).map(move |column| (row, column))) {
            assert_eq!(Some(vectors[[row, column]]), field.vector(column, row));
            let (x, y) = (motion[[row, column, 0]], motion[[row, column, 1]]);
            assert_eq!(Some((x, y)), field.motion_at(8 * column, 8 * row));
            for (kind, place) in [(CostKind::Zero, 0), (CostKind::Confidence, 1)] {
                assert_eq!(Some(costs[[row, column, place]]), field.cost(kind, column, row));
            }
        }
        assert_eq!((motion[[2, 2, 0]], motion[[2, 2, 1]]), (-2.0, -1.0));
        // Without such costs the array is empty.
        let mut without = field.clone();
        (without.cost_kinds, without.costs) = Default::default();
        assert_eq!(without.cost_array().unwrap().dim(), (4, 6, 0));
        for (field, error) in wrong() {
            assert_eq!(field.vector_array().unwrap_err(), error);
            assert_eq!(field.motion_array().unwrap_err(), error);
            assert_eq!(field.cost_array().unwrap_err(), error);
        }
    }
}

#[cfg(feature = "serde")]
mod stored {
    use motion_search::estimator::MotionField;

    use super::{field, wrong};

    #[test]
    fn a_field_is_read_as_it_was_written() {
        let field = field();
        let text = serde_json::to_string(&field).unwrap();
        assert_eq!(serde_json::from_str::<MotionField>(&text).unwrap(), field);
        // The names are those that others read.
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["grid"], serde_json::json!({ "columns": 6, "rows": 4 }));
        assert_eq!(value["cost_kinds"], serde_json::json!(["zero", "confidence"]));
        let (x, y) = (field.vectors[14].x, field.vectors[14].y);
        assert_eq!(
            value["vectors"][14],
            serde_json::json!({ "x": x, "y": y, "cost": field.vectors[14].cost })
        );
    }

    #[test]
    fn a_field_that_does_not_fit_is_not_read() {
        for (field, error) in wrong() {
            let text = serde_json::to_string(&field).unwrap();
            let refused = serde_json::from_str::<MotionField>(&text).unwrap_err().to_string();
            assert!(refused.starts_with(&error.to_string()), "{refused}");
        }
    }
}

//! The searches that are measured to tune a device: one for each class of searches in a tuning table.

use std::error::Error;

use motion_search::backend::Entry;
use motion_search::estimator::{Algorithm, Metric, Parameters, Window};
use test_support::Scene;

/// A search that is measured, and the class of searches to which its result applies.
pub struct Case {
    pub name: String,
    pub parameters: Parameters,
    /// The conditions of its table entry, without device and kernel.
    pub class: Entry,
}

/// The cases, narrow classes first, because the first matching entry of a table is used. The last case
/// of each algorithm applies to all remaining searches.
pub fn cases(scene: &Scene) -> Result<Vec<Case>, Box<dyn Error>> {
    let any = Entry::default();
    let classes = [
        (Algorithm::Full, Metric::Sad, 4, 8, Entry { block_size: Some([4, 4]), ..any.clone() }),
        (Algorithm::Full, Metric::Sad, 8, 8, Entry { block_size: Some([8, 12]), ..any.clone() }),
        (Algorithm::Full, Metric::Ssd, 16, 16, Entry { metric: Some(Metric::Ssd), ..any.clone() }),
        (Algorithm::Full, Metric::Sad, 16, 32, Entry { candidates: Some([2500, 1 << 28]), ..any.clone() }),
        (Algorithm::Full, Metric::Sad, 16, 16, any.clone()),
        (Algorithm::ThreeStep, Metric::Sad, 16, 16, any),
    ];
    let (width, height) = scene.size();
    let case = |(algorithm, metric, block_size, range, class): (Algorithm, Metric, usize, i32, Entry)| {
        let window = Window::symmetric(range, range)?;
        let (a, m) = (algorithm.name(), metric.name());
        let name = format!("{a}, {m}, {block_size} x {block_size}, ±{range}, {width} x {height}");
        let plain = Parameters::new(width, height, block_size, window);
        Ok(Case { name, parameters: Parameters { algorithm, metric, ..plain }, class })
    };
    classes.into_iter().map(case).collect()
}

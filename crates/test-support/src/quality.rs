//! How alike frames are.

use motion_search::estimator::FrameView;

/// Sums over a tile of 4 x 4 samples: of both planes, of their squares together, and of their products.
type Sums = [u32; 4];

/// The structural similarity of two planes of eight bits: the mean over windows of 8 x 8 samples, 4 apart, without weights,
/// as x264 reports it.
///
/// # Panics
/// If the planes have different sizes or no window.
pub fn ssim(one: &FrameView<'_>, other: &FrameView<'_>) -> f64 {
    assert_eq!(one.size(), other.size(), "sizes");
    let (columns, rows) = (one.width() / 4, one.height() / 4);
    assert!(columns > 1 && rows > 1, "planes of at least 8 x 8 samples");
    let tile = |index: usize| -> Sums {
        let (left, top) = (index % columns * 4, index / columns * 4);
        let mut sums = [0; 4];
        for y in top..top + 4 {
            let [a, b] = [one, other].map(|plane| &plane.row(y)[left..left + 4]);
            for (a, b) in a.iter().zip(b) {
                let (a, b) = (u32::from(*a), u32::from(*b));
                sums[0] += a;
                sums[1] += b;
                sums[2] += a * a + b * b;
                sums[3] += a * b;
            }
        }
        sums
    };
    let tiles: Vec<Sums> = (0..columns * rows).map(tile).collect();
    let window = |left: usize, top: usize| {
        let four = [0, 1, columns, columns + 1].map(|beside| tiles[top * columns + left + beside]);
        let sum = |index: usize| f64::from(four.iter().map(|tile| tile[index]).sum::<u32>());
        let (a, b, squares, products) = (sum(0), sum(1), sum(2), sum(3));
        // The constants for sums of 64 samples, of the variances without bias.
        let [c1, c2] = [(0.01, 64.0 * 64.0), (0.03, 64.0 * 63.0)]
            .map(|(part, scale)| (255.0_f64 * part).powi(2) * scale);
        let variances = squares * 64.0 - a * a - b * b;
        let covariance = products * 64.0 - a * b;
        (2.0 * a * b + c1) * (2.0 * covariance + c2) / ((a * a + b * b + c1) * (variances + c2))
    };
    let windows = (0..rows - 1).flat_map(|y| (0..columns - 1).map(move |x| (x, y)));
    windows.map(|(x, y)| window(x, y)).sum::<f64>() / ((columns - 1) * (rows - 1)) as f64
}

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compensated {
    /// The prediction.
    Prediction,
    /// `current - prediction + 128`, clipped to 0 … 255; with d bits a sample `current - prediction + 2^(d - 1)`,
    /// clipped to 0 … 2^d - 1.
    Residual,
}

use super::MAX_FRAME_SIDE;

/// Why a layout cannot hold a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The layout has no blocks of this size.
    #[error("{layout} need blocks with a side of {}, got {width} x {height}", either(sides))]
    #[allow(missing_docs)]
    BlockSize { layout: &'static str, sides: &'static [usize], width: usize, height: usize },
    /// The frame is larger than any that an encoder takes.
    #[error("a frame of {0} x {1} samples is too large: encoders take up to {MAX_FRAME_SIDE} on an axis")]
    FrameSize(usize, usize),
}

fn either(sides: &[usize]) -> String {
    sides.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ")
}

use std::time::Duration;

use super::{MotionVector, PooledRecords, Predictor, RecordPool};

/// What a search returns.
#[derive(Debug)]
pub struct Output {
    /// One vector a block, `rows × columns`, row-major.
    pub vectors: PooledRecords<MotionVector>,
    /// One predictor a block, if [`Parameters::prediction`](super::Parameters::prediction) asks for them.
    pub predictors: Option<PooledRecords<Predictor>>,
    /// The costs that [`Parameters::costs`](super::Parameters::costs) asks for: those of the first block, then those of
    /// the second, and so on.
    pub costs: Option<PooledRecords<u32>>,
    /// Whether the current frame begins another scene than the previous frame shows, if
    /// [`Parameters::scene_cut`](super::Parameters::scene_cut) asks for it and the previous frame was searched.
    pub is_scene_cut: Option<bool>,
    /// The device that searched each row of blocks, as an index into the session's devices; empty if one
    /// device searched all rows, or if several searched the same row.
    pub row_devices: Vec<u8>,
    /// How long the stages took.
    pub times: StageTimes,
}

impl Output {
    /// Room for `blocks` vectors.
    ///
    /// # Panics
    /// If they would have more than `isize::MAX` bytes.
    pub fn new(blocks: usize) -> Self {
        Self::of(vec![MotionVector::default(); blocks].into())
    }

    /// Room for `blocks` vectors in an array of `pool`.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn from_pool(pool: &RecordPool<MotionVector>, blocks: usize) -> Self {
        Self::of(pool.take(blocks))
    }

    fn of(vectors: PooledRecords<MotionVector>) -> Self {
        Self {
            vectors,
            predictors: None,
            costs: None,
            is_scene_cut: None,
            row_devices: Vec::new(),
            times: StageTimes::default(),
        }
    }
}

/// How long the stages of a search took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Loading the current frame: copying and extending it.
    pub upload: Duration,
    /// The search itself.
    pub search: Duration,
    /// Copying the vectors to the host.
    pub download: Duration,
    /// What follows the search on the host: prediction, costs and scene cuts; zero without them.
    pub prediction: Duration,
}

impl StageTimes {
    /// The longer time of each stage.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            upload: self.upload.max(other.upload),
            search: self.search.max(other.search),
            download: self.download.max(other.download),
            prediction: self.prediction.max(other.prediction),
        }
    }
}

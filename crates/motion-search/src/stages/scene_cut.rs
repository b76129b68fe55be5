//! Whether a frame begins another scene than the frame before it shows: the rule of interpolated frames, by the field of
//! any search.

use super::{SearchedFrames, Stage};
use crate::estimator::{EstimateError, Output, Parameters, SetupError};
use crate::scenes::{BlockVectors, FlatFrame, SceneCutThreshold, SceneCuts, SearchFrames, halved, halvings};
use motion_base::simd::{InstructionSetName, Instructions};

/// The offset of the reference frame that is compared.
const PREVIOUS: i64 = -1;

/// The stage that fills [`Output::is_scene_cut`] for searches in the previous frame.
pub struct SceneCut {
    parameters: Parameters,
    instructions: Instructions,
    halvings: u32,
    current: SearchFrames,
    reference: SearchFrames,
    scene_cuts: SceneCuts,
}

impl SceneCut {
    /// For searches as `parameters` say, in the instructions of `instruction_set`.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] if this CPU lacks `instruction_set`; [`SetupError::Memory`] if there is too little.
    pub fn new(parameters: &Parameters, instruction_set: InstructionSetName) -> Result<Self, SetupError> {
        let (width, height) = (parameters.width, parameters.height);
        let halvings = halvings(width, height);
        Ok(Self {
            parameters: parameters.clone(),
            instructions: instruction_set.required()?,
            halvings,
            current: SearchFrames::new((width, height), halvings)?,
            reference: SearchFrames::new((width, height), halvings)?,
            scene_cuts: SceneCuts::new((halved(width, halvings), halved(height, halvings)))?,
        })
    }
}

impl Stage for SceneCut {
    fn reads_frames(&self) -> bool {
        true
    }

    fn apply(
        &mut self,
        frames: Option<SearchedFrames<'_>>,
        output: &mut Output,
    ) -> Result<(), EstimateError> {
        let SearchedFrames { current, reference, offset } = frames.ok_or(EstimateError::NoFrame)?;
        if offset != PREVIOUS {
            return Ok(());
        }
        let Self { parameters, instructions, halvings, .. } = self;
        current.check(parameters)?;
        reference.check(parameters)?;
        let grid = parameters.grid();
        grid.check(&output.vectors)?;
        let current = self.current.make(*instructions, &current);
        let reference = self.reference.make(*instructions, &reference);
        let field = BlockVectors {
            vectors: &output.vectors,
            grid: (grid.columns, grid.rows),
            block_size: parameters.block_size,
            halvings: *halvings,
            unit: parameters.algorithm.scale().ilog2() + *halvings,
        };
        let frames = [&current.view(), &reference.view()];
        // Fades to black begin no scene.
        let rule = (SceneCutThreshold::default(), FlatFrame::PartOfScene);
        let is_cut = self.scene_cuts.is_cut(*instructions, frames, &field, rule);
        output.is_scene_cut = Some(is_cut);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Frame, MotionVector, RecordPool, Window};

    fn found(
        parameters: &Parameters,
        [current, reference]: [&Frame; 2],
        vectors: &[MotionVector],
        offset: i64,
    ) -> Option<bool> {
        let mut output = Output::from_pool(&RecordPool::default(), vectors.len());
        output.vectors.copy_from_slice(vectors);
        let frames = SearchedFrames { current: current.view(), reference: reference.view(), offset };
        SceneCut::new(parameters, InstructionSetName::best())
            .unwrap()
            .apply(Some(frames), &mut output)
            .unwrap();
        output.is_scene_cut
    }

    /// A scene of texture, which is strong in every other square of 16 samples.
    fn scene(seed: usize, (width, height): (usize, usize), shift: usize, light: usize) -> Frame {
        Frame::from_fn(width, height, |x, y| {
            let x = x + shift;
            let is_strong = (x / 16 + y / 16 + seed).is_multiple_of(2);
            let texture = (x * 7 + y * 13 + x * y + seed * 5) % 11;
            (60 + light + if is_strong { 8 * texture } else { texture }) as u8
        })
    }

    #[test]
    fn motion_light_and_black_are_no_cuts() {
        let size = (96, 64);
        let parameters = Parameters::new(size.0, size.1, 16, Window::symmetric(16, 16).unwrap());
        let cut = |current: &Frame, reference: &Frame, x: i16, offset| {
            let vectors = vec![MotionVector { x, y: 0, cost: 0 }; parameters.grid().blocks()];
            found(&parameters, [current, reference], &vectors, offset)
        };
        let (first, other) = (scene(0, size, 0, 0), scene(1, size, 0, 0));
        assert_eq!(cut(&other, &first, 0, -1), Some(true));
        assert_eq!(cut(&first, &other, 0, -1), Some(true));
        // In another frame than the previous one, nothing is said.
        assert_eq!(cut(&other, &first, 0, -2), None);
        assert_eq!(cut(&other, &first, 0, 1), None);
        assert_eq!(cut(&first, &first, 0, -1), Some(false));
        // A flash, and motion with its vectors.
        assert_eq!(cut(&scene(0, size, 0, 110), &first, 0, -1), Some(false));
        assert_eq!(cut(&scene(0, size, 5, 0), &first, 20, -1), Some(false));
        // A strobe.
        let dark = Frame::from_fn(size.0, size.1, |x, y| {
            (u32::from(first.view().sample(x as i32, y as i32)) * 35 / 100) as u8
        });
        assert_eq!([cut(&dark, &first, 0, -1), cut(&first, &dark, 0, -1)], [Some(false); 2]);
        let black = Frame::from_fn(size.0, size.1, |_, _| 16);
        assert_eq!([cut(&first, &black, 0, -1), cut(&black, &first, 0, -1)], [Some(false); 2]);
    }

    #[test]
    fn bars_beside_a_picture_hide_no_cut() {
        let size = (320, 64);
        let parameters = Parameters::new(size.0, size.1, 16, Window::symmetric(16, 16).unwrap());
        let vectors = vec![MotionVector::default(); parameters.grid().blocks()];
        for width in [96, 128, 320] {
            let left = (size.0 - width) / 2;
            let barred = |seed| {
                let picture = scene(seed, size, 0, 0);
                let sample = |x, y| picture.view().sample(x as i32, y as i32);
                Frame::from_fn(size.0, size.1, |x, y| {
                    if (left..left + width).contains(&x) { sample(x, y) as u8 } else { 16 }
                })
            };
            let [first, other] = [0, 1].map(barred);
            let cut = |frames| found(&parameters, frames, &vectors, -1);
            assert_eq!(cut([&other, &first]), Some(true), "{width}");
            assert_eq!(cut([&first, &first]), Some(false), "{width}");
        }
    }
}

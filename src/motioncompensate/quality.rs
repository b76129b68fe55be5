//! How good predictions are, as applications read it.

use crate::compensation::SquaredError;

/// The name of the meta that says how good a frame's prediction is.
pub const NAME: &str = "MotionQualityMeta";

/// The name of the message about one frame.
const MESSAGE: &str = "motion-quality";

/// The name of the message about all.
const TOTAL_MESSAGE: &str = "motion-quality-total";

/// Registers the meta with GStreamer. It has no tags: what was measured stays true of the buffer,
/// whatever becomes of its samples.
pub fn register() {
    // A second copy of this code in the process, plugin and library, must not register again.
    if !gst::meta::CustomMeta::is_registered(NAME) {
        gst::meta::CustomMeta::register(NAME, &[]);
    }
}

/// The squared errors of one frame's prediction, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quality {
    luma: SquaredError,
    all: SquaredError,
}

impl Quality {
    /// Adds the error of plane `index`, of which the first is luma.
    pub fn add(&mut self, index: usize, error: SquaredError) {
        self.all += error;
        if index == 0 {
            self.luma += error;
        }
    }

    fn write_to(&self, structure: &mut gst::StructureRef) {
        structure.set("mse-y", self.luma.mse());
        structure.set("psnr-y", self.luma.psnr());
        structure.set("mse", self.all.mse());
        structure.set("psnr", self.all.psnr());
    }

    /// Puts the figures on `buffer`, in the place of those it may have.
    ///
    /// # Errors
    /// Where GStreamer does not take the meta.
    pub fn attach(&self, buffer: &mut gst::BufferRef) -> Result<(), glib::BoolError> {
        use gst::meta::CustomMeta;
        if let Ok(mut meta) = CustomMeta::from_mut_buffer(buffer, NAME) {
            self.write_to(meta.mut_structure());
            return Ok(());
        }
        let mut meta = CustomMeta::add(buffer, NAME)?;
        self.write_to(meta.mut_structure());
        Ok(())
    }

    /// The message about the frame of that timestamp.
    pub fn message(&self, pts: Option<gst::ClockTime>) -> gst::Structure {
        let pts = pts.map_or(u64::MAX, gst::ClockTime::nseconds);
        let mut structure = gst::Structure::builder(MESSAGE).field("pts", pts).build();
        self.write_to(&mut structure);
        structure
    }
}

/// Sums over the frames since the element was started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    frames: u64,
    predicted: u64,
    quality: Quality,
}

impl Totals {
    /// Counts a frame, with what was measured of it.
    pub fn add(&mut self, quality: Option<Quality>) {
        self.frames += 1;
        if let Some(Quality { luma, all }) = quality {
            self.predicted += 1;
            self.quality.luma += luma;
            self.quality.all += all;
        }
    }

    /// The message about all of them.
    pub fn message(&self) -> gst::Structure {
        let mut structure = gst::Structure::builder(TOTAL_MESSAGE)
            .field("frames", self.frames)
            .field("predicted", self.predicted)
            .build();
        if self.predicted > 0 {
            self.quality.write_to(&mut structure);
        }
        structure
    }
}

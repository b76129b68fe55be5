//! The quality of predictions as a meta and as messages.

use motion_frames::compensation::SquaredError;

/// The name of the meta that holds the quality of a frame's prediction.
pub const NAME: &str = "MotionQualityMeta";

/// The name of the message about one frame.
const MESSAGE: &str = "motion-quality";

/// The name of the message about all frames.
const TOTAL_MESSAGE: &str = "motion-quality-total";

/// Registers the meta with GStreamer. It has no tags, so every element keeps it: the measure
/// describes the frame as it was searched, whatever is done to its samples later.
pub fn register() {
    // The process may hold this code twice, as plugin and as library: register only once.
    if !gst::meta::CustomMeta::is_registered(NAME) {
        gst::meta::CustomMeta::register(NAME, &[]);
    }
}

/// The squared errors of the prediction of one or more frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PredictionQuality {
    luma: SquaredError,
    all: SquaredError,
    /// The largest sample.
    peak: u16,
}

impl PredictionQuality {
    /// Nothing yet, of samples up to `peak`.
    pub fn of_samples_to(peak: u16) -> Self {
        Self { peak, ..Self::default() }
    }

    /// Adds the error of plane `index`; plane 0 is luma.
    pub fn add(&mut self, index: usize, error: SquaredError) {
        self.all += error;
        if index == 0 {
            self.luma += error;
        }
    }

    fn write_to(&self, structure: &mut gst::StructureRef) {
        structure.set("mse-y", self.luma.mse());
        structure.set("psnr-y", self.luma.psnr_of(self.peak));
        structure.set("mse", self.all.mse());
        structure.set("psnr", self.all.psnr_of(self.peak));
    }

    /// Attaches the figures to `buffer`, replacing those of an earlier measurement.
    ///
    /// # Errors
    /// If GStreamer refuses the meta.
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

    /// The message about the frame with this timestamp.
    pub fn message(&self, pts: Option<gst::ClockTime>) -> gst::Structure {
        let pts = pts.map_or(u64::MAX, gst::ClockTime::nseconds);
        let mut structure = gst::Structure::builder(MESSAGE).field("pts", pts).build();
        self.write_to(&mut structure);
        structure
    }
}

/// Sums over all frames since start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    frames: u64,
    predicted: u64,
    quality: PredictionQuality,
}

impl Totals {
    /// Counts a frame and adds its quality, if it was measured.
    pub fn add(&mut self, quality: Option<PredictionQuality>) {
        self.frames += 1;
        if let Some(PredictionQuality { luma, all, peak }) = quality {
            self.predicted += 1;
            // Frames of a stream have one depth; after new caps the last one counts.
            self.quality.peak = peak;
            self.quality.luma += luma;
            self.quality.all += all;
        }
    }

    /// The message about all frames.
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

//! Section 7.2: the prediction in which every block waits for its neighbours, in all its forms.

use std::error::Error;
use std::time::{Duration, Instant};

use gstmotionestimate::backend;
use gstmotionestimate::estimator::{
    Difference, EstimateError, Grid, Kernel, MotionVector, Parameters, Prediction, Predictor, Slot, Tuning,
    Window, recurrence,
};

use super::{Form, write};
use crate::frames::Scene;
use crate::measure::{Session, rate};
use crate::printed::HALLDAL_PREDICTION_CPU;
use crate::report::Report;
use crate::table::Cell;

/// The forms with what was measured of each, and why some were not.
#[derive(Default)]
struct Rows {
    forms: Vec<Form<()>>,
    ours: Vec<Cell>,
    foot: Vec<String>,
}

impl Rows {
    fn push(&mut self, name: &str, printed: [Option<f64>; 3], ours: Cell) {
        self.forms.push(Form { name: name.into(), printed, work: () });
        self.ours.push(ours);
    }
}

pub fn run(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    // Blocks of 4 x 4 in a frame of 1920x1080, or of CIF.
    let grid = if session.quick { Grid { columns: 88, rows: 72 } } else { Grid { columns: 480, rows: 270 } };
    let vectors = vectors(grid);
    let mut rows = Rows::default();

    let mut differences = vec![Difference::default(); grid.blocks()];
    let serial = session.median_of(|| timed(|| recurrence::serial(grid, &vectors, &mut differences)))?;
    rows.push("CPU, serial", [Some(HALLDAL_PREDICTION_CPU), None, None], Cell::Ours(rate(serial)));
    opencl::measure(session, grid, &vectors, &mut rows);
    rows.push("the element's own", [None; 3], Cell::Ours(rate(own(session, grid)?)));

    let Rows { forms, ours, mut foot } = rows;
    let note = "His figures are of the kernel alone. Ours on a device: kernel alone / with transfers; the element's \
                own with the predictors' download, for the vectors are there.";
    foot.insert(0, note.into());
    let title = format!("Halldal, 7.2: MV prediction, {}x{} blocks (FPS)", grid.columns, grid.rows);
    write(session, report, "halldal-7-2", &title, &forms, ours, foot)
}

/// How long the element's own prediction takes: the vectors of all neighbours are known when it
/// begins.
fn own(session: &Session<'_>, grid: Grid) -> Result<Duration, Box<dyn Error>> {
    let (width, height) = (4 * grid.columns, 4 * grid.rows);
    let parameters = Parameters {
        prediction: Prediction::Median,
        ..Parameters::new(width, height, 4, Window::symmetric(2, 2)?)
    };
    let device = &session.device.selector;
    let mut estimator = backend::open(device, Kernel::Auto, &Tuning::default(), &parameters)?.estimator;
    let scene = Scene::moving(width, height);
    estimator.load(Slot::A, &scene.reference.view())?;
    estimator.load(Slot::B, &scene.current.view())?;
    let mut vectors = vec![MotionVector::default(); grid.blocks()];
    let mut predictors = vec![Predictor::default(); grid.blocks()];
    // A device predicts as part of the search; what that took is for the estimator to say.
    Ok(session.median_of(|| {
        estimator.search(Slot::B, &mut vectors)?;
        estimator.predict(&mut predictors)?;
        Ok::<_, EstimateError>(estimator.stage_times().prediction)
    })?)
}

/// Vectors up to 16 samples long that have nothing to do with each other.
fn vectors(grid: Grid) -> Vec<MotionVector> {
    let mut state = 1_u32;
    let mut component = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        4 * ((state >> 16) % 33) as i16 - 64
    };
    (0..grid.blocks()).map(|_| MotionVector { x: component(), y: component(), cost: 0 }).collect()
}

/// How long `work` takes.
fn timed<E>(work: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
    let start = Instant::now();
    work().map(|()| start.elapsed())
}

#[cfg(feature = "opencl")]
mod opencl {
    use gstmotionestimate::backend::DeviceSelector;
    use gstmotionestimate::opencl::{Device, Recurrence, RecurrenceForm, devices};

    use super::*;
    use crate::printed::HALLDAL_PREDICTION;

    /// In the order of [`HALLDAL_PREDICTION`].
    const FORMS: [RecurrenceForm; 4] = [
        RecurrenceForm::OneItem,
        RecurrenceForm::HostManaged,
        RecurrenceForm::DeviceManaged,
        RecurrenceForm::HostManagedGroups,
    ];

    pub(super) fn measure(session: &Session<'_>, grid: Grid, vectors: &[MotionVector], rows: &mut Rows) {
        let is_ours =
            |device: &Device| session.device.selector == DeviceSelector::Index(device.platform, device.index);
        let Some(device) = devices().into_iter().find(is_ours) else { return };
        for ((name, gtx480, gt280), form) in HALLDAL_PREDICTION.into_iter().zip(FORMS) {
            let ours = measure_form(session, &device, grid, vectors, form).unwrap_or_else(|error| {
                rows.foot.push(format!("n/a: {form}: {error}."));
                Cell::Refused
            });
            rows.push(name, [None, Some(gtx480), Some(gt280)], ours);
        }
    }

    fn measure_form(
        session: &Session<'_>,
        device: &Device,
        grid: Grid,
        vectors: &[MotionVector],
        form: RecurrenceForm,
    ) -> Result<Cell, Box<dyn Error>> {
        let mut differences = vec![Difference::default(); grid.blocks()];
        let mut recurrence = Recurrence::new(device, grid, form)?;
        let whole = session.median_of(|| {
            timed(|| {
                recurrence.upload(vectors)?;
                recurrence.compute()?;
                recurrence.download(&mut differences)
            })
        })?;
        let kernel = session.median_of(|| timed(|| recurrence.compute()))?;
        Ok(Cell::Pair(rate(kernel), rate(whole)))
    }
}

/// A build without OpenCL has no such device.
#[cfg(not(feature = "opencl"))]
mod opencl {
    use super::*;

    pub(super) fn measure(_: &Session<'_>, _: Grid, _: &[MotionVector], _: &mut Rows) {}
}

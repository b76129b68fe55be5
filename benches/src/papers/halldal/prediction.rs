//! Section 7.2: prediction in which every block depends on its neighbours, in all forms, and H.264's, in
//! which none does.

use std::error::Error;
use std::time::{Duration, Instant};

use motion_search::estimator::{EstimateError, Grid, MotionVector, Predictor};
use motion_search::stages;

use super::{Form, recurrence, write};
use crate::papers::measure::{RAN, Session, rate};
use crate::papers::printed::HALLDAL_PREDICTION_CPU;
use crate::papers::report::Report;
use crate::papers::table::Cell;

/// The forms with their measured rates, and the reasons for those that were not measured.
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

    let mut differences = vec![[0; 2]; grid.blocks()];
    let serial = session.median_of(|| {
        timed(|| {
            recurrence::serial(grid, &vectors, &mut differences);
            Ok::<_, EstimateError>(())
        })
    })?;
    rows.push("CPU, serial", [Some(HALLDAL_PREDICTION_CPU), None, None], Cell::Ours(rate(serial)));
    opencl::measure(session, grid, &vectors, &mut rows);
    let mut predictors = vec![Predictor::default(); grid.blocks()];
    let own = session.median_of(|| timed(|| stages::median_predictors(grid, &vectors, &mut predictors)))?;
    rows.push("the element's own", [None; 3], Cell::Ours(rate(own)));

    let Rows { forms, ours, mut foot } = rows;
    let note = "His figures are of the kernel alone. Ours on a device: kernel alone / with transfers. Host managed: two \
                blocks a thread and step, and a wait after each step, as he has it, except where plain diagonals or one \
                wait are named. The median is H.264's, of the neighbours' vectors; the element computes it on the CPU.";
    foot.insert(0, note.into());
    foot.insert(
        0,
        format!("{RAN}kernel=the forms of the rows on {}, and on the host. block-size=4.", session.name()),
    );
    let title = format!("Halldal, 7.2: MV prediction, {}x{} blocks (FPS)", grid.columns, grid.rows);
    write(session, report, "halldal-7-2", &title, &forms, ours, foot)
}

/// Vectors of up to 16 samples, independent of each other.
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
    use motion_search::backend::DeviceSelector;
    use motion_search::opencl::{OpenClDevice, devices};

    use super::super::forms::{FieldPredictor, PredictionForm};
    use super::*;
    use crate::papers::printed::HALLDAL_PREDICTION;

    pub(super) fn measure(session: &Session<'_>, grid: Grid, vectors: &[MotionVector], rows: &mut Rows) {
        let is_ours = |device: &OpenClDevice| {
            session.device.selector == DeviceSelector::Index(device.platform, device.index)
        };
        let Some(device) = devices().into_iter().find(is_ours) else { return };
        for form in PredictionForm::RECURRENCE.into_iter().chain([PredictionForm::Median]) {
            let name = form.to_string();
            let his = HALLDAL_PREDICTION.into_iter().find(|(his, ..)| *his == name);
            let printed = his.map_or([None; 3], |(_, gtx480, gt280)| [None, Some(gtx480), Some(gt280)]);
            let ours = measure_form(session, &device, grid, vectors, form).unwrap_or_else(|error| {
                rows.foot.push(format!("n/a: {form}: {error}."));
                Cell::Refused
            });
            rows.push(&name, printed, ours);
        }
    }

    fn measure_form(
        session: &Session<'_>,
        device: &OpenClDevice,
        grid: Grid,
        vectors: &[MotionVector],
        form: PredictionForm,
    ) -> ocl::Result<Cell> {
        let mut results = vec![[0; 2]; grid.blocks()];
        let predictor = FieldPredictor::new(device, grid, form)?;
        let whole = session.median_of(|| timed(|| predictor.run(vectors, &mut results)))?;
        let kernel = session.median_of(|| timed(|| predictor.compute()))?;
        Ok(Cell::Pair(rate(kernel), rate(whole)))
    }
}

/// Without the feature there is no OpenCL device.
#[cfg(not(feature = "opencl"))]
mod opencl {
    use super::*;

    pub(super) fn measure(_: &Session<'_>, _: Grid, _: &[MotionVector], _: &mut Rows) {}
}

//! Which calls are failed, and what must become of the stream.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::worker::{Ended, FRAMES, Outcome, Phase, Run, Worker};

/// What became of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every frame is right. The call was not made, as the number of calls differs a little from run to run.
    NotReached,
    /// Every frame is right, and nobody was told.
    Unnoticed,
    /// Every frame is right, and one warning says what goes on instead.
    Continued,
    /// The frames before the error are right.
    Error,
}

/// A pipeline of the tests.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The element and its settings but for the devices, and what follows it.
    pub element: &'static str,
    pub then: &'static str,
    /// `device` and what else says who does the work.
    pub devices: &'static str,
    /// What may become of it if a call of the phase fails.
    pub allowed: fn(Phase) -> &'static [Verdict],
    /// The most warnings: one for each device that may be lost.
    pub warnings: usize,
    /// Whether the OpenCL device says that it is a GPU.
    pub is_gpu: bool,
    /// The devices of PoCL.
    pub pocl: &'static str,
    /// The index of the device that fails; -1 for any.
    pub faulty: i32,
}

impl Setting {
    fn launch(&self, devices: &str) -> String {
        let Self { element, then, .. } = self;
        let element = element.split_once(' ').map_or((*element, ""), |(name, rest)| (name, rest));
        format!("{} name=element {} {devices} {then}", element.0, element.1)
    }
}

/// Calls `function` number `number` since the start has the fault.
#[derive(Clone, Debug)]
pub struct Case {
    pub function: String,
    pub number: usize,
    pub phase: Phase,
}

/// When the call was made, and what became of the stream or why that is wrong.
pub type Judged = (Option<Phase>, Result<Verdict, String>);

/// The cases of one setting, and a process for them.
pub struct Bench {
    pub setting: Setting,
    worker: Worker,
    /// The frames as the CPU makes them.
    expected: Vec<u64>,
    /// What is called where nothing fails.
    clean: Outcome,
}

/// A run that takes this long hangs, on a busy machine too: PoCL compiles kernels in the first one.
pub const LIMIT: Duration = Duration::from_secs(900);

impl Bench {
    pub fn new(setting: Setting) -> Self {
        let mut worker = Worker::new(&environment(&setting));
        let mut run = |devices: &str| {
            // Only calls on the device that will fail are noted: others have no numbers.
            let fault = format!("none * 0 0 {}", setting.faulty);
            let run = Run { launch: setting.launch(devices), fault };
            match worker.run(&run, LIMIT) {
                Ended::Well(outcome) => *outcome,
                Ended::Hung => panic!("{run:?} hung"),
                Ended::Crashed(how) => panic!("{run:?} crashed: {how}"),
            }
        };
        let expected = run("device=native");
        assert_eq!((expected.is_eos, expected.calls.concat().len()), (true, 0), "{expected:?}");
        assert!(expected.frames.len() >= FRAMES, "{expected:?}");
        let clean = run(setting.devices);
        let sound = (clean.is_eos, clean.objects_left, clean.frames_left, clean.warnings.len());
        assert_eq!((sound, &clean.error), ((true, 0, 0, 0), &None), "{clean:?}");
        assert_eq!(clean.frames, expected.frames, "{setting:?} differs from the CPU");
        Self { setting, worker, expected: expected.frames, clean }
    }

    /// A process like that of this bench, for cases that take long.
    pub fn other_worker(&self) -> Worker {
        Worker::new(&environment(&self.setting))
    }

    /// Every call of a run without a fault; if `only_ends`, the first and the last of each function in each phase.
    pub fn cases(&self, only_ends: bool) -> Vec<Case> {
        let (mut made, mut cases) = (HashMap::new(), Vec::new());
        let phases = [Phase::SetUp, Phase::Stream, Phase::End];
        for (phase, calls) in phases.into_iter().zip(&self.clean.calls) {
            let mut of_function: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
            for function in calls {
                let number = made.entry(function.as_str()).or_insert(0);
                of_function.entry(function).or_default().push(*number);
                *number += 1;
            }
            for (function, numbers) in of_function {
                let chosen = match &numbers[..] {
                    [first, .., last] if only_ends => vec![*first, *last],
                    _ => numbers,
                };
                let case = |number| Case { function: function.to_owned(), number, phase };
                cases.extend(chosen.into_iter().map(case));
            }
        }
        cases
    }

    /// Runs `case` with a fault of this kind and value.
    pub fn run(&mut self, case: &Case, fault: (&str, i32)) -> Judged {
        let run = self.faulty(case, fault);
        let ended = self.worker.run(&run, LIMIT);
        self.judge(&run, ended)
    }

    pub fn faulty(&self, case: &Case, (kind, value): (&str, i32)) -> Run {
        let Case { function, number, .. } = case;
        let fault = format!("{kind} {function} {number} {value} {}", self.setting.faulty);
        Run { launch: self.setting.launch(self.setting.devices), fault }
    }

    /// What became of `run`, or why that is wrong.
    pub fn judge(&self, run: &Run, ended: Ended) -> Judged {
        let outcome = match ended {
            Ended::Well(outcome) => outcome,
            Ended::Hung => return (None, Err(format!("{}: it hangs", run.fault))),
            Ended::Crashed(how) => return (None, Err(format!("{}: the process crashed: {how}", run.fault))),
        };
        let verdict = self.verdict(&outcome, run.is_endless());
        (outcome.fired, verdict.map_err(|why| format!("{}, {:?}: {why}", run.fault, outcome.fired)))
    }

    fn verdict(&self, outcome: &Outcome, is_endless: bool) -> Result<Verdict, String> {
        let Outcome { fired, frames, is_eos, error, warnings, panics, .. } = outcome;
        let told = || format!("{error:?}, {warnings:?}");
        if *panics > 0 {
            return Err(format!("{panics} panics; {}", told()));
        }
        if !self.expected.starts_with(frames) {
            return Err(format!("frames differ; {}", told()));
        }
        if outcome.objects_left > 0 && !is_endless {
            return Err(format!("{} OpenCL objects are left; {}", outcome.objects_left, told()));
        }
        if outcome.frames_left > 0 {
            return Err(format!("{} frames are leaked; {}", outcome.frames_left, told()));
        }
        let is_whole = *is_eos && frames.len() == self.expected.len() && error.is_none();
        let verdict = match (is_whole, fired, warnings.len()) {
            (true, None, 0) => Verdict::NotReached,
            (true, Some(_), 0) => Verdict::Unnoticed,
            (true, Some(_), count) if count <= self.setting.warnings => Verdict::Continued,
            (false, Some(_), 0) if error.is_some() => Verdict::Error,
            _ => return Err(format!("{} of {} frames; {}", frames.len(), self.expected.len(), told())),
        };
        if fired.is_some_and(|phase| !(self.setting.allowed)(phase).contains(&verdict)) {
            return Err(format!("{verdict:?}; {}", told()));
        }
        // What the user reads names the failure.
        let texts = warnings.iter().chain(error);
        let reasons =
            ["(-", "no answer", "no device matches", "no OpenCL device", "cannot hold", "does not build"];
        let names_it = |text: &String| reasons.iter().any(|reason| text.contains(reason));
        if let Some(text) = texts.clone().find(|text| !names_it(text)) {
            return Err(format!("the message does not say what failed: {text}"));
        }
        Ok(verdict)
    }
}

fn environment(setting: &Setting) -> Vec<(&'static str, String)> {
    let mut environment = vec![("POCL_DEVICES", setting.pocl.to_owned())];
    if setting.is_gpu {
        environment.push(("FAULT_GPU", "1".into()));
    }
    environment
}

/// Prints a row of the table: the number of cases, then of each verdict, and of those that are wrong.
///
/// # Panics
/// If a case is wrong, or few of the calls were made.
pub fn report(name: &str, kind: &str, judged: Vec<Judged>) {
    use Verdict::{Continued, Error, NotReached, Unnoticed};
    let count = |wanted| judged.iter().filter(|(_, verdict)| verdict.as_ref() == Ok(&wanted)).count();
    let [unnoticed, continued, error, missed] = [Unnoticed, Continued, Error, NotReached].map(count);
    let wrong: Vec<&String> = judged.iter().filter_map(|(_, verdict)| verdict.as_ref().err()).collect();
    let (all, failed) = (judged.len(), wrong.len());
    println!("row: | {name} | {kind} | {all} | {unnoticed} | {continued} | {error} | {missed} | {failed} |");
    let text = wrong.into_iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(text.is_empty(), "{name}, {kind}: {failed} of {all} cases\n{text}");
    assert!(missed <= all * 3 / 5, "{name}, {kind}: {missed} of {all} calls were not made");
}

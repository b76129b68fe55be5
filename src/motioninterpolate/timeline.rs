//! Which output frames lie between two input frames, and where: exact arithmetic, without types of GStreamer.
//!
//! Output frame k of a segment is at `start + k · d/n`, where `start` is the time at which the segment starts and `n/d`
//! the output frame rate, whatever is missing in the input. Times are whole nanoseconds for everybody else, so a time is
//! rounded down when it leaves; nothing is summed up, so nothing drifts.
//!
//! Where an output frame lies between its two input frames is exact as well. The timestamps of the input are rounded
//! too, to nanoseconds by most elements and to milliseconds by some containers. If the input has a constant frame rate
//! and a timestamp is the time of frame i of that rate, give or take [`TOLERANCE`], its time is i frames exactly. Frames are
//! counted from an *anchor*: the segment's start if the first frame is a whole number of frames after it; otherwise that
//! frame, which then is at the time of the nearest output frame. From 24 to 60 frames a second the phases therefore are 0,
//! 2/5, 4/5, 1/5, 3/5. Between frames of which one has another timestamp, nanoseconds count; an output frame less than one
//! nanosecond beside an input frame is that input frame.

use motion_search::interpolation::Phase;

/// Nanoseconds a second.
const SECOND: u64 = 1_000_000_000;

/// A timestamp this far from the time of its frame number, in nanoseconds, is a rounded one: Matroska and FLV round to
/// milliseconds. At high frame rates it is a quarter of a frame.
const TOLERANCE: u64 = SECOND / 1000;

/// Between two input frames further apart than this, in nanoseconds, and than four frames of the input's rate, nothing is
/// made.
const LONGEST: u64 = SECOND;

/// A longer time before the first frame of a segment, in nanoseconds of the output, is left empty: the source had been playing
/// before it was linked.
const LONGEST_LEAD: u64 = 60 * SECOND;

/// A positive ratio of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    pub numerator: u32,
    pub denominator: u32,
}

impl Ratio {
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// The ratio; `None` if it is not positive.
    pub fn new(numerator: i32, denominator: i32) -> Option<Self> {
        let positive = |value| u32::try_from(value).ok().filter(|&value| value > 0);
        Some(Self { numerator: positive(numerator)?, denominator: positive(denominator)? })
    }

    /// `value` times the ratio, rounded down.
    pub fn of(self, value: u64) -> u64 {
        scaled(value, self.numerator.into(), self.denominator)
    }

    /// `value` divided by the ratio, rounded down.
    pub fn divide(self, value: u64) -> u64 {
        scaled(value, self.denominator.into(), self.numerator)
    }

    /// The time of `count` frames of this rate in nanoseconds, rounded down.
    pub fn frames(self, count: u64) -> u64 {
        scaled(count, u64::from(self.denominator) * SECOND, self.numerator)
    }
}

/// `value · numerator / denominator`, rounded down.
fn scaled(value: u64, numerator: u64, denominator: u32) -> u64 {
    let scaled = u128::from(value) * u128::from(numerator) / u128::from(denominator);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// The greatest common divisor.
fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Maps times of the input to times of the output, which run `speed` times as fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retiming {
    speed: Ratio,
    /// These two times are the same moment.
    input: u64,
    output: u64,
}

impl Retiming {
    /// Time 0 is time 0.
    pub fn new(speed: Ratio) -> Self {
        Self { speed, input: 0, output: 0 }
    }

    pub fn speed(&self) -> Ratio {
        self.speed
    }

    /// Whether times stay as they are.
    pub fn is_identity(&self) -> bool {
        self.speed == Ratio::ONE && self.input == self.output
    }

    /// The same up to the input's time `at`, with `speed` from there on.
    pub fn changed(&self, speed: Ratio, at: u64) -> Self {
        Self { speed, input: at, output: self.output(at) }
    }

    /// The time of the output, in nanoseconds, rounded down; 0 for times before the output begins.
    pub fn output(&self, input: u64) -> u64 {
        if input >= self.input {
            self.output.saturating_add(self.speed.divide(input - self.input))
        } else {
            self.output.saturating_sub(self.speed.divide(self.input - input))
        }
    }
}

/// How far a time is from the previous input frame, in parts of the interval to the next one: `numerator / denominator`,
/// which lies between 0 and 1. What has a larger denominator than [`Phase::FINEST`] when it is reduced is rounded to a
/// multiple of 1 / [`Phase::FINEST`], but neither to 0 nor to 1.
fn phase(numerator: u128, denominator: u128) -> Option<Phase> {
    let reduced = |numerator: u128, denominator: u128| {
        let divisor = gcd(numerator, denominator);
        (numerator / divisor, denominator / divisor)
    };
    let (mut numerator, mut denominator) = reduced(numerator, denominator);
    let most = u128::from(Phase::FINEST);
    if denominator > most {
        // Their product with 1024 must not overflow.
        let excess = 12_u32.saturating_sub(denominator.leading_zeros());
        let (part, whole) = (numerator >> excess, denominator >> excess);
        let rounded = ((part * most + whole / 2) / whole).clamp(1, most - 1);
        (numerator, denominator) = reduced(rounded, most);
    }
    Phase::new(numerator as u32, denominator as u32)
}

/// What an output frame shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePlace {
    /// The previous input frame.
    Previous,
    /// A moment between the two input frames.
    Between(Phase),
    /// The next input frame, which is at this time.
    Next,
    /// The next input frame, which is at another time.
    Repeated,
}

/// An output frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFrame {
    /// In nanoseconds of the output.
    pub time: u64,
    pub duration: u64,
    pub place: FramePlace,
}

/// The time of an input frame since the anchor.
#[derive(Clone, Copy, Debug)]
struct Moment {
    nanoseconds: i128,
    /// The number of the frame, if it is at the time of one.
    number: Option<i128>,
}

/// A moment of the input whose place among the output frames is known.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    /// In nanoseconds of the input.
    input: u64,
    place: AnchorPlace,
}

#[derive(Clone, Copy, Debug)]
enum AnchorPlace {
    /// At the time of the output frame with this number.
    Frame(i128),
    /// So many nanoseconds of the output after output frame 0.
    Nanoseconds(i128),
}

/// Places of output frames as integers: frame k is `(k · frame - offset) · factor / unit` after the anchor, in frames or
/// nanoseconds of the input.
#[derive(Clone, Copy, Debug)]
struct Scale {
    frame: i128,
    offset: i128,
    factor: i128,
    unit: i128,
}

impl Scale {
    /// Frame `anchor` is at the anchor, and frames are `numerator / denominator` apart.
    fn exact(anchor: i128, [numerator, denominator]: [u128; 2]) -> Self {
        let divisor = gcd(numerator, denominator);
        let (frame, unit) = ((numerator / divisor) as i128, (denominator / divisor) as i128);
        Self { frame, offset: anchor.saturating_mul(frame), factor: 1, unit }
    }

    /// The place of frame `number`, times the unit.
    fn at(&self, number: u64) -> i128 {
        (i128::from(number).saturating_mul(self.frame).saturating_sub(self.offset))
            .saturating_mul(self.factor)
    }

    /// How many frames, counted from frame 0, are at `place` or before it, times the unit.
    fn count_to(&self, place: i128) -> u64 {
        let last = place.div_euclid(self.factor).saturating_add(self.offset).div_euclid(self.frame);
        u64::try_from(last.saturating_add(1).max(0)).unwrap_or(u64::MAX)
    }
}

/// What the output frames before an input frame show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    /// The input frame itself, because none is before it.
    Next,
    /// The input frame before, because content is missing between the two.
    Previous,
    /// The moment between the two.
    Between,
}

/// The output frames from one input frame, without it, to the next.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    grid: Grid,
    scale: Scale,
    /// The numbers of the frames.
    number: u64,
    end: u64,
    /// The places of the two input frames on the scale.
    from: i128,
    to: i128,
    /// Frames that are nearer than this to an input frame are at its time.
    slack: i128,
    filling: Filling,
    /// When the last of the frames ends, in nanoseconds of the output, unless the next frame follows.
    cut: Option<u64>,
}

impl Interval {
    fn place(&self) -> Option<FramePlace> {
        if self.number >= self.end {
            return None;
        }
        let at = self.scale.at(self.number);
        Some(if at.saturating_add(self.slack) >= self.to {
            FramePlace::Next
        } else {
            match self.filling {
                Filling::Next => FramePlace::Repeated,
                Filling::Previous => FramePlace::Previous,
                Filling::Between if at <= self.from.saturating_add(self.slack) => FramePlace::Previous,
                Filling::Between => {
                    let [part, whole] = [at, self.to].map(|place| place.abs_diff(self.from));
                    phase(part, whole).map_or(FramePlace::Previous, FramePlace::Between)
                }
            }
        })
    }

    /// The phase of the next frame, if that is between the two input frames.
    pub fn upcoming(&self) -> Option<Phase> {
        match self.place()? {
            FramePlace::Between(phase) => Some(phase),
            _ => None,
        }
    }

    /// The last of the frames between the two input frames.
    pub fn last_between(self) -> Option<OutputFrame> {
        let is_between = |frame: &OutputFrame| matches!(frame.place, FramePlace::Between(_));
        if self.filling == Filling::Between { self.filter(is_between).last() } else { None }
    }

    /// Whether any of the frames is between the two input frames.
    pub fn is_any_between(mut self) -> bool {
        self.filling == Filling::Between && self.any(|frame| matches!(frame.place, FramePlace::Between(_)))
    }
}

impl Iterator for Interval {
    type Item = OutputFrame;

    fn next(&mut self) -> Option<OutputFrame> {
        let place = self.place()?;
        let [time, mut end] = [0, 1].map(|more| self.grid.time(self.number + more));
        self.number += 1;
        if let (Some(cut), true) = (self.cut, self.number == self.end) {
            end = end.min(cut.max(time));
        }
        Some(OutputFrame { time, duration: end - time, place })
    }
}

/// When output frames are.
#[derive(Clone, Copy, Debug)]
struct Grid {
    /// The time of frame 0 in nanoseconds of the output. Where a segment goes on with the grid of the one before, it may
    /// be before time 0.
    origin: i128,
    rate: Ratio,
}

impl Grid {
    /// The time of frame `number` in nanoseconds, rounded down.
    fn time(&self, number: u64) -> u64 {
        let time = self.origin + i128::from(self.rate.frames(number));
        u64::try_from(time.max(0)).unwrap_or(u64::MAX)
    }

    /// The number of the frame nearest to `nanoseconds` after frame 0.
    fn nearest(&self, nanoseconds: i128) -> i128 {
        nearest_frame(self.rate, nanoseconds)
    }
}

/// The number of the frame of `rate` that is nearest to `nanoseconds` after frame 0.
fn nearest_frame(rate: Ratio, nanoseconds: i128) -> i128 {
    let frame = i128::from(rate.denominator) * i128::from(SECOND);
    (nanoseconds.saturating_mul(rate.numerator.into()) + frame / 2).div_euclid(frame)
}

/// The time of frame `number` of `rate` in nanoseconds after frame 0, rounded down.
fn frame_time(rate: Ratio, number: i128) -> i128 {
    let frame = i128::from(rate.denominator) * i128::from(SECOND);
    number.saturating_mul(frame).div_euclid(rate.numerator.into())
}

/// The output frames of a segment.
///
/// Numbers of frames are far below 2^34, and ratios have parts below 2^31: no product here has more than 127 bits. What
/// would overflow all the same saturates.
#[derive(Debug)]
pub struct Timeline {
    input: Option<Ratio>,
    grid: Grid,
    speed: Ratio,
    anchor: Anchor,
    /// The newest input frame.
    newest: Option<Moment>,
    /// Whether the newest input frame is the first one at this speed.
    is_new_speed: bool,
    /// The number of the next output frame.
    number: u64,
}

impl Timeline {
    /// Output frame 0 is at `start`, in nanoseconds of the input, as `retiming` says. `input` is the frame rate of the
    /// input, if that is constant.
    pub fn new(input: Option<Ratio>, output: Ratio, retiming: &Retiming, start: u64) -> Self {
        let origin = i128::from(retiming.output(start));
        Self {
            input,
            grid: Grid { origin, rate: output },
            speed: retiming.speed(),
            anchor: Anchor { input: start, place: AnchorPlace::Frame(0) },
            newest: None,
            is_new_speed: false,
            number: 0,
        }
    }

    /// The same output frames, but for input of the frame rate `input` which begins with its next frame.
    pub fn with_input(self, input: Option<Ratio>) -> Self {
        Self { input, newest: None, ..self }
    }

    /// Output frames of frame rate `output` follow those that there were.
    pub fn with_output(self, output: Ratio) -> Self {
        let until_now = i128::from(self.grid.rate.frames(self.number));
        let grid = Grid { origin: self.grid.origin + until_now, rate: output };
        let place = AnchorPlace::Nanoseconds(self.anchor_output() - until_now);
        Self { grid, anchor: Anchor { place, ..self.anchor }, newest: None, number: 0, ..self }
    }

    /// The output frames go on in another segment, whose times are `shift` nanoseconds larger for the same running time.
    /// It begins at `start` in the input, as `retiming` says.
    pub fn continued(self, shift: i128, retiming: &Retiming, start: u64) -> Self {
        let grid = Grid { origin: self.grid.origin + shift, ..self.grid };
        let place = AnchorPlace::Nanoseconds(i128::from(retiming.output(start)) - grid.origin);
        let anchor = Anchor { input: start, place };
        Self { grid, anchor, speed: retiming.speed(), newest: None, ..self }
    }

    /// The frame rate of the output.
    pub fn output_rate(&self) -> Ratio {
        self.grid.rate
    }

    /// The time of the next output frame, in nanoseconds of the output.
    pub fn next_time(&self) -> u64 {
        self.grid.time(self.number)
    }

    /// The next input frame is the first one.
    pub fn forget(&mut self) {
        self.newest = None;
    }

    /// Lets `speed` hold from the newest input frame on.
    pub fn set_speed(&mut self, speed: Ratio) {
        if let Some(newest) = self.newest {
            let (scale, place, slack) = self.scaled(newest);
            let last = scale.count_to(place.saturating_add(slack)).checked_sub(1);
            let at_frame = last.filter(|&last| scale.at(last).saturating_add(slack) >= place);
            let output = self.output(newest);
            let place =
                at_frame.map_or(AnchorPlace::Nanoseconds(output), |frame| AnchorPlace::Frame(frame.into()));
            self.move_anchor(newest, place);
        }
        self.speed = speed;
        self.is_new_speed = true;
    }

    /// Goes on to the next input frame, at `time` in nanoseconds, which is later than the one before. `is_broken`: content
    /// is missing before it.
    pub fn advance(&mut self, time: u64, is_broken: bool) -> Interval {
        let is_loose = matches!(self.anchor.place, AnchorPlace::Nanoseconds(_));
        let joined = self.newest.filter(|_| !is_broken);
        if let (Some(newest), Some(_), true, false) = (joined, self.input, is_loose, self.is_new_speed) {
            self.move_to_nearest(newest);
        }
        self.is_new_speed = false;
        let mut next = self.moment(time, joined);
        // From here on frames of a constant rate are counted. They are shown at the times of output frames.
        if joined.is_none() && self.input.is_some() && (is_loose || next.number.is_none()) {
            self.move_to_nearest(next);
            next = self.moment(time, None);
        }
        let filling = match (self.newest, is_broken) {
            (None, _) => Filling::Next,
            (Some(_), true) => Filling::Previous,
            (Some(_), false) => Filling::Between,
        };
        let from = self.newest.replace(next).unwrap_or(next);
        let mut interval = self.interval(from, next, filling);
        let last = interval.end.saturating_sub(1);
        if filling == Filling::Next
            && self.grid.rate.frames(last.saturating_sub(interval.number)) > LONGEST_LEAD
        {
            interval.number = last;
        }
        interval
    }

    /// The input goes back, or far ahead, to `time`: so do the output frames, of which none is filled before.
    pub fn jump(&mut self, time: u64) {
        self.forget();
        let output = self.output(self.moment(time, None));
        self.number = u64::try_from(self.grid.nearest(output)).unwrap_or(0);
    }

    /// The output frames before `end`, in nanoseconds of the input, which show the newest input frame. The last one ends
    /// there.
    pub fn fill(&mut self, end: u64) -> Option<Interval> {
        let newest = self.newest?;
        let end = self.moment(end, Some(newest));
        let end = if end.nanoseconds < newest.nanoseconds { newest } else { end };
        let cut = self.grid.origin + self.output(end);
        let mut interval = self.interval(newest, end, Filling::Next);
        // The frame at the end is not one of them.
        let count = interval.scale.count_to(interval.to.saturating_sub(interval.slack).saturating_sub(1));
        interval.cut = u64::try_from(cut).ok().filter(|_| count == interval.end);
        interval.end = count.max(interval.number);
        self.number = interval.end;
        Some(interval)
    }

    /// The output frames up to `next`.
    fn interval(&mut self, from: Moment, next: Moment, filling: Filling) -> Interval {
        let from = if filling == Filling::Between { from } else { next };
        let is_counted = from.number.is_some() && next.number.is_some();
        let without_number =
            |moment: Moment| Moment { number: moment.number.filter(|_| is_counted), ..moment };
        let [(_, from, _), (scale, to, slack)] =
            [from, next].map(|moment| self.scaled(without_number(moment)));
        let number = self.number;
        self.number = scale.count_to(to.saturating_add(slack)).max(number);
        let (grid, end) = (self.grid, self.number);
        Interval { grid, scale, number, end, from, to, slack, filling, cut: None }
    }

    /// A scale of frames if the moment has a number, else of nanoseconds; the place of the moment on it, and the slack.
    fn scaled(&self, moment: Moment) -> (Scale, i128, i128) {
        let (output, speed) = (self.grid.rate, self.speed);
        let seconds = [u128::from(output.denominator), speed.numerator.into()];
        let outputs = u128::from(output.numerator) * u128::from(speed.denominator);
        let step = |numerator: u32, denominator: u32| {
            [seconds[0] * seconds[1] * u128::from(numerator), outputs * u128::from(denominator)]
        };
        let place = |scale: Scale, place: i128| place.saturating_mul(scale.unit);
        match (self.anchor.place, self.input, moment.number) {
            (AnchorPlace::Frame(anchor), Some(input), Some(number)) => {
                let scale = Scale::exact(anchor, step(input.numerator, input.denominator));
                (scale, place(scale, number), 0)
            }
            // Nanoseconds are whole ones only in the input.
            (AnchorPlace::Frame(anchor), ..) => {
                let scale = Scale::exact(anchor, step(SECOND as u32, 1));
                (scale, place(scale, moment.nanoseconds), scale.unit - 1)
            }
            (AnchorPlace::Nanoseconds(anchor), ..) => {
                let scale = Scale {
                    frame: i128::from(output.denominator) * i128::from(SECOND),
                    offset: anchor.saturating_mul(output.numerator.into()),
                    factor: speed.numerator.into(),
                    unit: outputs as i128,
                };
                (scale, place(scale, moment.nanoseconds), scale.unit - 1)
            }
        }
    }

    /// The moment at `time`; `previous` is the frame before it.
    fn moment(&self, time: u64, previous: Option<Moment>) -> Moment {
        let nanoseconds = i128::from(time) - i128::from(self.anchor.input);
        let number = self.input.and_then(|input| {
            let nearest = nearest_frame(input, nanoseconds);
            let beside = nanoseconds.abs_diff(frame_time(input, nearest));
            (beside <= self.tolerance(input, nanoseconds, previous).into()).then_some(nearest)
        });
        Moment { nanoseconds, number }
    }

    /// How far a timestamp may be from the time of its frame number, in nanoseconds.
    fn tolerance(&self, input: Ratio, nanoseconds: i128, previous: Option<Moment>) -> u64 {
        let frame = input.frames(1);
        if self.speed != Ratio::ONE || input != self.grid.rate {
            return TOLERANCE.min(frame / 4);
        }
        // Frames of the rate that is wanted pass, though their source has a jitter or another clock.
        let is_whole = |interval| {
            frame_time(input, nearest_frame(input, interval)).abs_diff(interval) <= u128::from(frame / 4)
        };
        let follows =
            |previous: Moment| previous.number.is_some() && is_whole(nanoseconds - previous.nanoseconds);
        if previous.is_some_and(follows) { frame } else { frame / 4 }
    }

    /// Nanoseconds of the output from output frame 0 to the anchor, rounded down.
    fn anchor_output(&self) -> i128 {
        match self.anchor.place {
            AnchorPlace::Frame(number) => frame_time(self.grid.rate, number),
            AnchorPlace::Nanoseconds(nanoseconds) => nanoseconds,
        }
    }

    /// Nanoseconds of the input from the anchor to `moment`: those of its number, if it has one.
    fn exact(&self, moment: Moment) -> i128 {
        match (self.input, moment.number) {
            (Some(input), Some(number)) => frame_time(input, number),
            _ => moment.nanoseconds,
        }
    }

    /// Nanoseconds of the output from output frame 0 to `moment`, rounded down.
    fn output(&self, moment: Moment) -> i128 {
        let [faster, slower] = [self.speed.numerator, self.speed.denominator].map(i128::from);
        let after = match (self.input, moment.number) {
            (Some(input), Some(number)) => {
                let frame = i128::from(input.denominator) * i128::from(SECOND) * slower;
                number.saturating_mul(frame).div_euclid(i128::from(input.numerator) * faster)
            }
            _ => moment.nanoseconds.saturating_mul(slower).div_euclid(faster),
        };
        self.anchor_output().saturating_add(after)
    }

    /// Makes `moment` the anchor, which is at `place`.
    fn move_anchor(&mut self, moment: Moment, place: AnchorPlace) {
        let by = self.exact(moment);
        let input = u64::try_from(i128::from(self.anchor.input) + by).unwrap_or(self.anchor.input);
        let by = i128::from(input) - i128::from(self.anchor.input);
        self.anchor = Anchor { input, place };
        self.newest = self.newest.map(|newest| {
            let nanoseconds = newest.nanoseconds - by;
            let moved = newest.number.zip(moment.number).map(|(newest, moved)| newest - moved);
            let number = moved.or(self.input.filter(|_| nanoseconds == 0).map(|_| 0));
            Moment { nanoseconds, number }
        });
    }

    /// Lets `moment` be at the time of the nearest output frame.
    fn move_to_nearest(&mut self, moment: Moment) {
        let nearest = self.grid.nearest(self.output(moment));
        self.move_anchor(moment, AnchorPlace::Frame(nearest));
    }

    /// Whether a frame of an input of this frame rate that is `interval` nanoseconds after the one before comes after a pause:
    /// nothing is made between the two.
    pub fn is_pause(input: Option<Ratio>, interval: u64) -> bool {
        interval > LONGEST.max(input.map_or(0, |input| input.frames(4)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(numerator: i32, denominator: i32) -> Ratio {
        Ratio::new(numerator, denominator).unwrap()
    }

    fn made(numerator: u32, denominator: u32) -> FramePlace {
        FramePlace::Between(Phase::new(numerator, denominator).unwrap())
    }

    /// How an element upstream rounds the time of frame `number`.
    fn timestamps(input: Ratio, unit: u64, is_nearest: bool) -> impl Fn(u64) -> u64 {
        move |number| {
            let (n, d) = (u128::from(input.numerator), u128::from(input.denominator));
            let exact = u128::from(number) * d * u128::from(SECOND);
            let unit = u128::from(unit);
            let half = if is_nearest { n * unit / 2 } else { 0 };
            ((exact + half) / (n * unit) * unit) as u64
        }
    }

    /// All output frames of input frames at `times`, of which the last ends at `end`; each with the number of the input
    /// frame that was the newest.
    fn all(timeline: &mut Timeline, times: &[u64], end: u64) -> Vec<(usize, OutputFrame)> {
        let mut found = Vec::new();
        for (index, &time) in times.iter().enumerate() {
            found.extend(timeline.advance(time, false).map(|frame| (index, frame)));
        }
        let last = times.len() - 1;
        found.extend(timeline.fill(end).unwrap().map(|frame| (last, frame)));
        found
    }

    const RATES: [(i32, i32); 14] = [
        (24000, 1001),
        (24, 1),
        (25, 1),
        (30000, 1001),
        (30, 1),
        (48, 1),
        (50, 1),
        (60000, 1001),
        (60, 1),
        (120, 1),
        (15, 2),
        (1, 1),
        (15, 1),
        (144, 1),
    ];

    const SPEEDS: [(i32, i32); 6] = [(1, 1), (1, 2), (1, 3), (3, 10), (2, 1), (7, 5)];

    #[test]
    fn every_ratio_of_rates_gives_the_exact_times_and_phases_of_the_definition() {
        const FRAMES: u64 = 70;
        // 123456789 ns: a first time that no frame rate knows.
        for first in [123_456_789, 1 << 60] {
            for (input, output) in RATES.iter().flat_map(|&i| RATES.iter().map(move |&o| (i, o))) {
                for speed in SPEEDS {
                    for (unit, is_nearest) in [(1, false), (SECOND / 1000, true), (11_111, false)] {
                        let (input, output) = (ratio(input.0, input.1), ratio(output.0, output.1));
                        let speed = ratio(speed.0, speed.1);
                        let stamp = timestamps(input, unit, is_nearest);
                        let times: Vec<_> = (0..FRAMES).map(|number| first + stamp(number)).collect();
                        let retiming = Retiming::new(speed);
                        let mut timeline = Timeline::new(Some(input), output, &retiming, first);
                        let found = all(&mut timeline, &times, first + stamp(FRAMES));
                        check(&found, FRAMES, (input, output, speed), retiming.output(first));
                    }
                }
            }
        }
    }

    /// Compares all output frames of `frames` input frames with the definition.
    fn check(
        found: &[(usize, OutputFrame)],
        frames: u64,
        (input, output, speed): (Ratio, Ratio, Ratio),
        first: u64,
    ) {
        let wide = |ratio: Ratio| (u128::from(ratio.numerator), u128::from(ratio.denominator));
        let (i, o, s) = (wide(input), wide(output), wide(speed));
        // Input frames from one output frame to the next.
        let (a, b) = (o.1 * s.0 * i.0, o.0 * s.1 * i.1);
        let count = (u128::from(frames) * b).div_ceil(a) as usize;
        assert_eq!(found.len(), count, "{input:?} {output:?} {speed:?}");
        for (k, (newest, frame)) in found.iter().enumerate() {
            let k = k as u128;
            let time = |k: u128| first + (k * o.1 * u128::from(SECOND) / o.0) as u64;
            // The last frame that shows the last input frame ends with it.
            let end = u128::from(frames) * u128::from(SECOND) * i.1 * s.1 / (i.0 * s.0);
            let is_repeated =
                (k + 1) as usize == count && k * a / b + 1 == frames.into() && !(k * a).is_multiple_of(b);
            let end = if is_repeated { time(k + 1).min(first + end as u64) } else { time(k + 1) };
            assert_eq!((frame.time, frame.time + frame.duration), (time(k), end));
            let (whole, rest) = (k * a / b, k * a % b);
            let at = || format!("{input:?} {output:?} {speed:?} {k}: {frame:?}");
            if rest == 0 || whole + 1 == u128::from(frames) {
                let place = if rest == 0 { FramePlace::Next } else { FramePlace::Repeated };
                assert_eq!((*newest as u128, frame.place), (whole, place), "{}", at());
                continue;
            }
            assert_eq!(*newest as u128, whole + 1, "{}", at());
            let FramePlace::Between(phase) = frame.place else { panic!("{}", at()) };
            let (n, d) = (u128::from(phase.numerator()), u128::from(phase.denominator()));
            assert!(0 < n && n < d && d <= 1024 && gcd(n, d) == 1, "{}", at());
            if b / gcd(rest, b) <= 1024 {
                assert_eq!(n * b, rest * d, "{}", at());
            } else {
                assert!((n * b).abs_diff(rest * d) * 1024 <= b * d, "{}", at());
            }
        }
    }

    fn places(input: Option<Ratio>, output: Ratio, times: &[u64]) -> Vec<FramePlace> {
        let mut timeline = Timeline::new(input, output, &Retiming::new(Ratio::ONE), times[0]);
        all(&mut timeline, times, 0).into_iter().map(|(_, frame)| frame.place).collect()
    }

    #[test]
    fn twenty_four_to_sixty() {
        let stamp = timestamps(ratio(24, 1), 1, false);
        let times: Vec<_> = (0..5).map(stamp).collect();
        let expected = [
            FramePlace::Next,
            made(2, 5),
            made(4, 5),
            made(1, 5),
            made(3, 5),
            FramePlace::Next,
            made(2, 5),
            made(4, 5),
            made(1, 5),
            made(3, 5),
            FramePlace::Next,
        ];
        assert_eq!(places(Some(ratio(24, 1)), ratio(60, 1), &times), expected);
        // Without a frame rate nanoseconds count: what is rounded is rounded, but input frames still pass.
        let variable = places(None, ratio(60, 1), &times);
        for (found, exact) in variable.iter().zip(expected) {
            match (found, exact) {
                (FramePlace::Between(found), FramePlace::Between(exact)) => {
                    let error = f64::from(found.numerator()) / f64::from(found.denominator())
                        - f64::from(exact.numerator()) / f64::from(exact.denominator());
                    assert!(error.abs() <= 1.0 / 2048.0 + 1e-6);
                }
                (found, exact) => assert_eq!(*found, exact),
            }
        }
        assert_eq!(variable.len(), expected.len());
    }

    #[test]
    fn a_frame_that_is_missing_makes_a_longer_interval() {
        // Frames 0, 1, 3 of 25 a second, to 50.
        let found = places(Some(ratio(25, 1)), ratio(50, 1), &[0, 40_000_000, 120_000_000]);
        let between = [made(1, 4), made(1, 2), made(3, 4)];
        let start = [FramePlace::Next, made(1, 2), FramePlace::Next];
        assert_eq!(found, [&start[..], &between[..], &[FramePlace::Next]].concat());
    }

    #[test]
    fn frames_beside_their_rate_count_by_their_times() {
        // The second frame is 10 ms late.
        let times = [0, 50_000_000, 80_000_000];
        let found = places(Some(ratio(25, 1)), ratio(50, 1), &times);
        assert_eq!(found, [FramePlace::Next, made(2, 5), made(4, 5), made(1, 3), FramePlace::Next]);
    }

    #[test]
    fn less_than_a_nanosecond_beside_an_input_frame_is_that_frame() {
        let thirds = [333_333_333, 333_333_334, 333_333_332, 333_333_335];
        let found = thirds.map(|time| places(None, ratio(3, 1), &[0, time]));
        assert_eq!(found[0], [FramePlace::Next; 2]);
        assert_eq!(found[1], [FramePlace::Next; 2]);
        assert_eq!(found[2], [FramePlace::Next]);
        assert_eq!(found[3], [FramePlace::Next, made(1023, 1024)]);
    }

    #[test]
    fn the_last_frame_is_shown_until_it_ends() {
        let shown = |end| {
            let mut timeline = Timeline::new(None, ratio(50, 1), &Retiming::new(Ratio::ONE), 7);
            let found = all(&mut timeline, &[7], end);
            found.iter().map(|(_, frame)| (frame.time, frame.duration)).collect::<Vec<_>>()
        };
        const FRAME: u64 = 20_000_000;
        assert_eq!(shown(7), [(7, FRAME)]);
        assert_eq!(shown(FRAME + 7), [(7, FRAME)]);
        assert_eq!(shown(FRAME + 9), [(7, FRAME), (FRAME + 7, 2)]);
        assert_eq!(shown(3 * FRAME + 7), [0, 1, 2].map(|k| (k * FRAME + 7, FRAME)));
        // An end that is not behind the frame shows it once all the same.
        assert_eq!((shown(8), shown(3)), (vec![(7, FRAME)], vec![(7, FRAME)]));
    }

    #[test]
    fn far_frames_come_after_a_pause() {
        for (input, longest) in
            [(None, SECOND), (Some(ratio(24, 1)), SECOND), (Some(ratio(1, 3)), 12 * SECOND)]
        {
            assert!(!Timeline::is_pause(input, longest));
            assert!(Timeline::is_pause(input, 1 + longest));
        }
    }

    /// A timeline from `input` to `output` that starts at `start`.
    fn timeline(input: Option<Ratio>, output: Ratio, start: u64) -> Timeline {
        Timeline::new(input, output, &Retiming::new(Ratio::ONE), start)
    }

    /// The times of frames in output frames after `origin`, which must be those of whole numbers, and what they show.
    fn counted(
        frames: impl IntoIterator<Item = OutputFrame>,
        output: Ratio,
        origin: u64,
    ) -> Vec<(u64, FramePlace)> {
        let number = |time| u64::try_from(nearest_frame(output, i128::from(time - origin))).unwrap();
        let counted = |frame: OutputFrame| {
            let number = number(frame.time);
            assert_eq!(frame.time, origin + output.frames(number));
            assert_eq!(frame.time + frame.duration, origin + output.frames(number + 1));
            (number, frame.place)
        };
        frames.into_iter().map(counted).collect()
    }

    #[test]
    fn breaks_leave_the_grid_as_it_is() {
        let (input, output) = (ratio(24, 1), ratio(60, 1));
        let stamp = timestamps(input, 1, false);
        let mut timeline = timeline(Some(input), output, 0);
        let mut found = Vec::new();
        // Frames 3, 4 and 8 are missing.
        for number in [0, 1, 2, 5, 6, 7, 9, 10] {
            let interval = timeline.advance(stamp(number), number == 5 || number == 9);
            assert_eq!(interval.is_any_between(), ![0, 5, 9].contains(&number));
            found.extend(counted(interval, output, 0));
        }
        let (previous, next) = (FramePlace::Previous, FramePlace::Next);
        let places = [
            [next, made(2, 5), made(4, 5), made(1, 5), made(3, 5)],
            // 5 is input frame 2; 12.5 would be input frame 5.
            [next, previous, previous, previous, previous],
            [previous, previous, previous, made(1, 5), made(3, 5)],
            [next, made(2, 5), made(4, 5), previous, previous],
            [previous, previous, previous, made(3, 5), next],
        ];
        let mut expected: Vec<_> = (0..).zip(places.concat()).collect();
        expected.push((25, next));
        expected[24].1 = made(3, 5);
        expected[23].1 = made(1, 5);
        assert_eq!(found, expected);
    }

    #[test]
    fn before_the_first_frame_it_is_repeated() {
        let (input, output) = (ratio(24, 1), ratio(60, 1));
        let stamp = timestamps(input, 1, false);
        const START: u64 = 1_000_000_007;
        // Three input frames after the start: phases are those of a stream that begins there.
        let mut exact = timeline(Some(input), output, START);
        let found = [3, 4].map(|number| counted(exact.advance(START + stamp(number), false), output, START));
        assert_eq!(found[0], (0..8).map(|k| (k, FramePlace::Repeated)).collect::<Vec<_>>());
        assert_eq!(found[1], [(8, made(1, 5)), (9, made(3, 5)), (10, FramePlace::Next)]);
        // 3.1 input frames: 7.75 output frames. It is frame 8, and the others are counted from there.
        let mut loose = timeline(Some(input), output, START);
        let later = stamp(3) + input.frames(1) / 10;
        let found = [0, 1, 2]
            .map(|number| counted(loose.advance(START + later + stamp(number), false), output, START));
        let expected = (0..9).map(|k| (k, if k < 8 { FramePlace::Repeated } else { FramePlace::Next }));
        assert_eq!(found[0], expected.collect::<Vec<_>>());
        assert_eq!(found[1], [(9, made(2, 5)), (10, made(4, 5))]);
        assert_eq!(found[2], [(11, made(1, 5)), (12, made(3, 5)), (13, FramePlace::Next)]);
        // Without a frame rate nanoseconds count.
        let mut variable = timeline(None, ratio(50, 1), 0);
        let found =
            [30_000_000, 60_000_000].map(|time| counted(variable.advance(time, false), ratio(50, 1), 0));
        assert_eq!(found[0], [(0, FramePlace::Repeated), (1, FramePlace::Repeated)]);
        assert_eq!(found[1], [(2, made(1, 3)), (3, FramePlace::Next)]);
    }

    #[test]
    fn a_source_that_has_been_playing_for_long_fills_nothing() {
        let output = ratio(60, 1);
        for (seconds, count) in [(60, 3601), (61, 1), (3600, 1)] {
            let mut timeline = timeline(Some(ratio(24, 1)), output, 0);
            let found = counted(timeline.advance(seconds * SECOND, false), output, 0);
            assert_eq!((found.len(), found.last().copied()), (count, Some((60 * seconds, FramePlace::Next))));
        }
    }

    #[test]
    fn where_frames_are_missing_at_the_rate_that_is_wanted_they_are_made() {
        let rate = ratio(30, 1);
        let stamp = timestamps(rate, 1, false);
        let mut timeline = timeline(Some(rate), rate, 0);
        let mut found = Vec::new();
        for number in [0, 1, 3, 4, 7] {
            found.extend(counted(timeline.advance(stamp(number), false), rate, 0));
        }
        let next = FramePlace::Next;
        let places = [next, next, made(1, 2), next, next, made(1, 3), made(2, 3), next];
        assert_eq!(found, (0..).zip(places).collect::<Vec<_>>());
    }

    #[test]
    fn jitter_makes_no_frame_at_the_rate_that_is_wanted() {
        let rate = ratio(30, 1);
        let stamp = timestamps(rate, 1, false);
        let mut timeline = timeline(Some(rate), rate, 0);
        for number in 0..300 {
            // Up to 7 ms beside, from 0.4 s on.
            let time = 400_000_000 + stamp(number) + (number * 7919 % 15) * 1_000_000 - 7_000_000;
            let found = counted(timeline.advance(time, false), rate, 0);
            assert_eq!(found.last(), Some(&(number + 12, FramePlace::Next)), "{number}");
            assert_eq!(found.len(), if number == 0 { 13 } else { 1 });
        }
    }

    #[test]
    fn the_clock_of_a_camera_that_is_slow_makes_a_frame_when_one_is_missing() {
        let rate = ratio(30, 1);
        // 1 % slow: 101 frames are shown in the time of 102.
        let mut timeline = timeline(Some(rate), rate, 0);
        let found: Vec<_> =
            (0..301).flat_map(|number| timeline.advance(number * 33_666_667, false)).collect();
        let found = counted(found, rate, 0);
        assert_eq!(found.iter().map(|&(number, _)| number).collect::<Vec<_>>(), (0..304).collect::<Vec<_>>());
        let others: Vec<_> = found.iter().filter(|(_, place)| *place != FramePlace::Next).collect();
        assert!(others.len() == 3 && others.iter().all(|(_, place)| *place == made(1, 2)), "{others:?}");
    }

    #[test]
    fn other_input_and_a_segment_that_goes_on_keep_the_grid() {
        let output = ratio(50, 1);
        let mut timeline = timeline(Some(ratio(25, 1)), output, 0);
        for time in [0, 40_000_000] {
            timeline.advance(time, false).for_each(drop);
        }
        assert_eq!(counted(timeline.fill(80_000_000).unwrap(), output, 0), [(3, FramePlace::Repeated)]);
        // 30 frames a second from 80 ms on.
        let mut timeline = timeline.with_input(Some(ratio(30, 1)));
        let found: Vec<_> =
            [80_000_000, 113_333_333].map(|time| counted(timeline.advance(time, false), output, 0)).concat();
        assert_eq!(found, [(4, FramePlace::Next), (5, made(3, 5))]);
        let last: Vec<_> =
            timeline.fill(146_666_666).unwrap().map(|frame| (frame.time, frame.duration)).collect();
        assert_eq!(last, [(120_000_000, 20_000_000), (140_000_000, 6_666_666)]);
        // A segment that starts at 7 s, at the running time 150 ms.
        let shift = 7_000_000_000 - 150_000_000;
        let mut timeline = timeline.continued(shift, &Retiming::new(Ratio::ONE), 7 * SECOND);
        let first = timeline.advance(7 * SECOND, false).map(|frame| frame.time).collect::<Vec<_>>();
        // The next one is at 160 ms. The frame at 150 ms is shown there.
        assert_eq!(first, [7 * SECOND + 10_000_000]);
    }

    #[test]
    fn a_jump_takes_the_output_along() {
        let (input, output) = (ratio(25, 1), ratio(50, 1));
        let mut timeline = timeline(Some(input), output, 0);
        for number in 5..7 {
            timeline.advance(input.frames(number), false).for_each(drop);
        }
        timeline.jump(input.frames(2));
        let found: Vec<_> =
            [2, 3].map(|number| counted(timeline.advance(input.frames(number), false), output, 0)).concat();
        assert_eq!(found, [(4, FramePlace::Next), (5, made(1, 2)), (6, FramePlace::Next)]);
    }

    #[test]
    fn a_speed_holds_from_the_newest_frame_on() {
        let rate = ratio(25, 1);
        let mut timeline = timeline(Some(rate), rate, 0);
        let mut found = Vec::new();
        for (number, speed) in [(0, (1, 1)), (1, (1, 2)), (2, (1, 2)), (3, (4, 1)), (7, (1, 1)), (8, (1, 1))]
        {
            found.extend(counted(timeline.advance(rate.frames(number), false), rate, 0));
            timeline.set_speed(ratio(speed.0, speed.1));
        }
        let next = FramePlace::Next;
        let places = [next, next, made(1, 2), next, made(1, 2), next, next, next];
        assert_eq!(found, (0..).zip(places).collect::<Vec<_>>());
    }

    #[test]
    fn a_speed_that_changes_with_every_frame_makes_frames_at_the_exact_places() {
        let rate = ratio(24, 1);
        let mut timeline = timeline(Some(rate), rate, 0);
        let mut at = vec![0.0];
        let mut found = Vec::new();
        for number in 0..100_u64 {
            found.extend(timeline.advance(rate.frames(number), false).map(|frame| (number, frame)));
            let percent = 100 - number as i32 / 2;
            timeline.set_speed(ratio(percent, 100));
            at.push(at[number as usize] + 100.0 / f64::from(percent));
        }
        for (k, (newest, frame)) in found.iter().enumerate() {
            assert_eq!(frame.time, rate.frames(k as u64));
            let newest = *newest as usize;
            let shown = match frame.place {
                FramePlace::Next | FramePlace::Repeated => at[newest],
                FramePlace::Previous => at[newest - 1],
                FramePlace::Between(phase) => {
                    let phase = f64::from(phase.numerator()) / f64::from(phase.denominator());
                    at[newest - 1] + phase * (at[newest] - at[newest - 1])
                }
            };
            assert!((shown - k as f64).abs() < 2e-3, "{k}: {shown}");
        }
        assert_eq!(found.len(), at[99] as usize + 1);
    }

    #[test]
    fn a_speed_that_stays_shows_input_frames_at_the_times_of_output_frames() {
        let rate = ratio(24, 1);
        let mut timeline = timeline(Some(rate), rate, 0);
        timeline.advance(0, false).for_each(drop);
        timeline.set_speed(ratio(3, 10));
        timeline.advance(rate.frames(1), false).for_each(drop);
        // 3.33 output frames later.
        timeline.set_speed(Ratio::ONE);
        let found: Vec<_> =
            (2..6).map(|number| counted(timeline.advance(rate.frames(number), false), rate, 0)).collect();
        assert_eq!(found[0], [(4, made(683, 1024))]);
        for (frames, number) in found[1..].iter().zip(5..) {
            assert_eq!(frames, &[(number, FramePlace::Next)]);
        }
    }

    #[test]
    fn a_change_of_speed_is_continuous() {
        let slow = Retiming::new(ratio(1, 2));
        assert_eq!((slow.output(0), slow.output(100)), (0, 200));
        let fast = slow.changed(ratio(4, 1), 100);
        assert_eq!((fast.output(100), fast.output(140), fast.output(60)), (200, 210, 190));
        assert_eq!(fast.output(u64::MAX), 200 + (u64::MAX - 100) / 4);
        assert!(Retiming::new(Ratio::ONE).is_identity() && !slow.is_identity());
        assert!(!fast.changed(Ratio::ONE, 140).is_identity());
    }

    #[test]
    fn hostile_rates_and_times_do_not_overflow() {
        const MOST: i32 = i32::MAX;
        let rates = [(1, MOST), (MOST, 1), (MOST, MOST - 1), (24000, 1001), (999_999_937, 999_999_929)];
        for (input, output) in rates.iter().flat_map(|&i| rates.iter().map(move |&o| (i, o))) {
            for speed in [(1, 100), (100, 1), (1 << 24, MOST), (MOST, 1 << 25)] {
                for first in [0, u64::MAX / 2] {
                    let [input, output, speed] = [input, output, speed].map(|(n, d)| ratio(n, d));
                    let retiming = Retiming::new(speed);
                    for input in [None, Some(input)] {
                        let mut timeline = Timeline::new(input, output, &retiming, first);
                        assert_eq!(timeline.advance(first, false).next().unwrap().place, FramePlace::Next);
                        for time in [1, 2, SECOND, 1 << 34, 1 << 50, 1 << 62] {
                            // At such rates an interval may have billions of them.
                            let frames = timeline.advance(first + time, time == 2).take(20);
                            let found: Vec<_> =
                                frames.chain(timeline.fill(u64::MAX).unwrap().take(20)).collect();
                            assert!(found.windows(2).all(|pair| pair[0].time <= pair[1].time));
                            timeline.set_speed(ratio(7, 3));
                            timeline.jump(first + time);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn phases_with_large_denominators_are_rounded_but_stay_between() {
        let new = |n, d| phase(n, d).unwrap();
        let exact = |n, d| Phase::new(n, d).unwrap();
        assert_eq!(new(400, 1001), exact(400, 1001));
        assert_eq!(new(512, 1024), exact(1, 2));
        assert_eq!(new(1, 1025), exact(1, 1024));
        assert_eq!(new(1, u128::MAX >> 1), exact(1, 1024));
        assert_eq!(new((u128::MAX >> 1) - 1, u128::MAX >> 1), exact(1023, 1024));
        assert_eq!(new(u128::MAX >> 2, u128::MAX >> 1), exact(1, 2));
    }
}

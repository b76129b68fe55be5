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

use motion_frames::interpolation::Phase;

use super::ratio::{Ratio, Retiming, SECOND, gcd, phase};

/// A timestamp this far from the time of its frame number, in nanoseconds, is a rounded one: Matroska and FLV round to
/// milliseconds. At high frame rates it is a quarter of a frame.
const TOLERANCE: u64 = SECOND / 1000;

/// Between two input frames further apart than this, in nanoseconds, and than four frames of the input's rate, nothing is
/// made.
const LONGEST: u64 = SECOND;

/// A longer time before the first frame of a segment, in nanoseconds of the output, is left empty: the source had been playing
/// before it was linked.
const LONGEST_LEAD: u64 = 60 * SECOND;

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
        if self.is_between() { self.filter(is_between).last() } else { None }
    }

    /// Whether the frames show what is between the two input frames.
    pub fn is_between(&self) -> bool {
        self.filling == Filling::Between
    }

    /// Whether any of the frames is between the two input frames.
    pub fn is_any_between(mut self) -> bool {
        self.is_between() && self.any(|frame| matches!(frame.place, FramePlace::Between(_)))
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
        let origin = self.grid.origin + i128::from(self.grid.rate.frames(self.number));
        let moved = self.beginning_at(origin);
        Self { grid: Grid { rate: output, ..moved.grid }, ..moved }
    }

    /// Output frames of the same frame rate, of which frame 0 is at `origin` in nanoseconds of the output, and the next one.
    pub fn beginning_at(self, origin: i128) -> Self {
        let place = AnchorPlace::Nanoseconds(self.grid.origin + self.anchor_output() - origin);
        let (grid, anchor) = (Grid { origin, ..self.grid }, Anchor { place, ..self.anchor });
        Self { grid, anchor, newest: None, number: 0, ..self }
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
    /// there if no frame of the grid follows, because it `is_last`.
    pub fn fill(&mut self, end: u64, is_last: bool) -> Option<Interval> {
        let newest = self.newest?;
        let end = self.moment(end, Some(newest));
        let end = if end.nanoseconds < newest.nanoseconds { newest } else { end };
        let cut = self.grid.origin + self.output(end);
        let mut interval = self.interval(newest, end, Filling::Next);
        // The frame at the end is not one of them.
        let count = interval.scale.count_to(interval.to.saturating_sub(interval.slack).saturating_sub(1));
        interval.cut = u64::try_from(cut).ok().filter(|_| is_last && count == interval.end);
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
mod tests;

//! How far the search is: a bar on a terminal, otherwise a line now and then.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Shows the progress on standard error.
pub struct Progress {
    bar: ProgressBar,
    is_quiet: bool,
    told: Instant,
}

impl Progress {
    pub fn new(is_quiet: bool) -> Self {
        let target = if is_quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{wide_bar} {percent:>3} %  {msg}  {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, is_quiet, told: Instant::now() }
    }

    /// `done` of `all` nanoseconds are searched, `frames` frames in `elapsed`.
    pub fn tell(&mut self, done: u64, all: u64, frames: u64, elapsed: Duration) {
        let rate = frames as f64 / elapsed.as_secs_f64().max(1e-3);
        let text = format!("{frames} frames, {rate:.1} frames/s");
        if !self.bar.is_hidden() {
            self.bar.set_length(all);
            self.bar.set_position(done);
            self.bar.set_message(text);
        } else if !self.is_quiet && self.told.elapsed() >= BETWEEN_LINES {
            self.told = Instant::now();
            eprintln!("motion-vectors: {text}, {:.0} %", 100.0 * done as f64 / all.max(1) as f64);
        }
    }

    /// Shows a line above the bar.
    pub fn warn(&self, text: &str) {
        self.bar.suspend(|| eprintln!("motion-vectors: {text}"));
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

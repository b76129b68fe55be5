//! What a machine that is too slow for the search does without.

/// The most intervals that are left out after one that has come too late.
const MOST: u32 = 64;

/// Whether intervals between input frames are searched in time, and how many are left out if not. Each search that leaves the
/// next interval too late doubles their number: input frames then arrive in time most of the time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    was_searched: bool,
    pause: u32,
    left: u32,
}

impl Load {
    /// Whether the next interval is searched. `is_late`: all its frames would come too late.
    pub fn allows(&mut self, is_late: bool) -> bool {
        match (std::mem::take(&mut self.was_searched), is_late) {
            (true, true) => {
                self.pause = (2 * self.pause).clamp(1, MOST);
                self.left = self.pause;
            }
            (true, false) => self.pause /= 2,
            (false, _) => (),
        }
        if is_late {
            return false;
        }
        self.was_searched = self.left == 0;
        self.left = self.left.saturating_sub(1);
        self.was_searched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_time_is_searched() {
        let mut load = Load::default();
        assert!((0..100).all(|_| load.allows(false)));
        assert!(!load.allows(true));
    }

    #[test]
    fn a_search_that_takes_too_long_is_tried_ever_more_rarely() {
        let mut load = Load::default();
        let mut searched = Vec::new();
        let mut behind = 0;
        // A search takes as long as nine intervals.
        for number in 0..400 {
            if load.allows(behind > 0) {
                searched.push(number);
                behind += 9;
            }
            behind = i32::max(behind - 1, 0);
        }
        let steps: Vec<_> = searched.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(steps, [10, 11, 13, 17, 25, 41, 73, 73, 73]);
        // As soon as there is time again, all are searched.
        let later: Vec<_> = (0..300).map(|_| load.allows(false)).collect();
        assert!(later[64..].iter().all(|&is_searched| is_searched));
    }
}

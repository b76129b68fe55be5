//! Changes of the light and of the scene: what they set off is no motion.

use crate::light::Light;

/// The share of the tiles whose mean changes with a lamp that is switched: from the frame before, and from the model.
const SWITCHED: f32 = 0.25;

/// The share of the tiles that no gain of the frame explains, from which on the light is another one.
const ANOTHER_LIGHT: f32 = 0.4;

/// Another scene explains so few of them, and its tiles correlate less than this with those of the model.
const ANOTHER_SCENE: f32 = 0.3;
const ALIKE: f32 = 0.25;

/// Frames one after the other that another scene needs: a flash is shorter.
const STRANGE_FRAMES: u32 = 3;

/// When the light or the scene has changed.
#[derive(Debug, Default)]
pub struct Changes {
    /// Until when the light settles, in ns.
    settles: u64,
    /// Frames one after the other that do not look like the model.
    strange: u32,
}

impl Changes {
    /// Whether the light settles at this time.
    pub fn is_settling(&self, time: u64) -> bool {
        time < self.settles
    }

    /// The light settles until then.
    pub fn settle(&mut self, until: u64) {
        self.settles = self.settles.max(until);
    }

    /// Notes the light of a frame. If it has changed, it settles `until` then. Returns whether the scene is another one.
    pub fn note(&mut self, light: &Light, is_still: bool, until: u64) -> bool {
        let Light { changed, unexplained, sudden, correlation, .. } = *light;
        let is_switched = is_still && sudden > SWITCHED && changed > SWITCHED;
        if is_switched || unexplained > ANOTHER_LIGHT {
            self.settle(until);
        }
        let is_strange = correlation < ALIKE && unexplained > ANOTHER_SCENE;
        self.strange = if is_strange { self.strange + 1 } else { 0 };
        let is_another = self.strange >= STRANGE_FRAMES;
        if is_another {
            self.strange = 0;
        }
        is_another
    }

    /// A first scene settles `until` then.
    pub fn restart(&mut self, until: u64) {
        *self = Self { settles: until, strange: 0 };
    }
}

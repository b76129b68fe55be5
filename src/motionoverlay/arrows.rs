//! Draws arrows into coverage masks.

use tiny_skia::{FillRule, Mask, Path, PathBuilder, Transform};

use super::canvas::Coverage;

/// An arrow, in frame samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrow {
    pub(super) tail: (f32, f32),
    pub(super) head: (f32, f32),
}

/// The proportions of an arrow, in frame samples.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Half the shaft's width at the head; it tapers to the tail.
    shaft: f32,
    /// The head's length.
    head: f32,
    /// Half the head's width.
    wing: f32,
    /// How far the outline is moved outwards.
    grown: f32,
}

impl Shape {
    /// The proportions for blocks of this side.
    fn of_block(side: f32) -> Self {
        let unit = (side / 16.0).clamp(0.6, 3.0);
        Self { shaft: 0.35 + 0.5 * unit, head: 5.5 * unit, wing: 2.6 * unit, grown: 0.0 }
    }

    /// Appends the outline of `arrow`.
    fn trace(&self, arrow: Arrow, path: &mut PathBuilder) {
        let (dx, dy) = (arrow.head.0 - arrow.tail.0, arrow.head.1 - arrow.tail.1);
        let length = dx.hypot(dy);
        if !length.is_normal() {
            return;
        }
        let (ux, uy) = (dx / length, dy / length);
        let from_head = |along: f32, aside: f32| {
            (arrow.head.0 + ux * along - uy * aside, arrow.head.1 + uy * along + ux * aside)
        };
        // A short arrow has no shaft, only a smaller head.
        let size = (length / (1.4 * self.head)).min(1.0);
        let (neck, wing) = (-self.head * size, self.wing * size);
        let (shaft, grown) = (self.shaft * size, self.grown);
        let outline = [
            from_head(2.0 * grown, 0.0),
            from_head(neck - grown, wing + 1.4 * grown),
            from_head(neck - grown, shaft + grown),
            from_head(-length - grown, 0.4 * shaft + grown),
            from_head(-length - grown, -0.4 * shaft - grown),
            from_head(neck - grown, -shaft - grown),
            from_head(neck - grown, -wing - 1.4 * grown),
        ];
        path.move_to(outline[0].0, outline[0].1);
        outline[1..].iter().for_each(|&(x, y)| path.line_to(x, y));
        path.close();
    }
}

/// Coverage of a frame by arrows and by arrows with their rim.
pub(super) struct ArrowLayer {
    rim: Mask,
    core: Mask,
    builder: PathBuilder,
}

impl ArrowLayer {
    /// A layer for frames of this size; `None` if the size is not supported.
    pub(super) fn new(width: u32, height: u32) -> Option<Self> {
        Some(Self {
            rim: Mask::new(width, height)?,
            core: Mask::new(width, height)?,
            builder: PathBuilder::new(),
        })
    }

    /// Clears the layer and draws `arrows`; `side` is the side of a block.
    pub(super) fn draw(&mut self, side: f32, arrows: impl Iterator<Item = Arrow> + Clone) {
        let core = Shape::of_block(side);
        let rim = Shape { grown: 0.9, ..core };
        for (mask, shape) in [(&mut self.core, core), (&mut self.rim, rim)] {
            mask.clear();
            for arrow in arrows.clone() {
                let mut builder = std::mem::take(&mut self.builder);
                shape.trace(arrow, &mut builder);
                if let Some(path) = builder.finish() {
                    mask.fill_path(&path, FillRule::Winding, true, Transform::identity());
                    self.builder = Path::clear(path);
                }
            }
        }
    }

    /// Coverage by the arrows including their rim.
    pub(super) fn rim(&self) -> Coverage<'_> {
        coverage(&self.rim)
    }

    /// Coverage by the arrows without their rim.
    pub(super) fn core(&self) -> Coverage<'_> {
        coverage(&self.core)
    }
}

fn coverage(mask: &Mask) -> Coverage<'_> {
    Coverage { data: mask.data(), width: mask.width() as usize, height: mask.height() as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_covers_its_line_and_is_widest_at_the_head() {
        let mut layer = ArrowLayer::new(64, 32).unwrap();
        layer.draw(16.0, std::iter::once(Arrow { tail: (8.0, 16.0), head: (56.0, 16.0) }));
        let covered = |x: usize| (0..32).map(|y| u32::from(layer.core().data[y * 64 + x])).sum::<u32>();
        assert!(covered(30) >= 255);
        assert!(covered(51) > 2 * covered(30));
        assert_eq!(covered(3) + covered(60), 0);
        let all = |coverage: Coverage<'_>| coverage.data.iter().map(|&part| u64::from(part)).sum::<u64>();
        assert!(all(layer.rim()) > all(layer.core()));
    }

    #[test]
    fn arrows_far_outside_and_without_length_are_no_panic() {
        let mut layer = ArrowLayer::new(17, 9).unwrap();
        let ends = [(0.0, 0.0), (1e6, -1e6), (-3e6, 5.0), (8.0, 4.0)];
        let arrows = ends.iter().flat_map(|&tail| ends.iter().map(move |&head| Arrow { tail, head }));
        layer.draw(4.0, arrows);
        layer.draw(16.0, std::iter::empty());
        assert!(layer.rim().data.iter().all(|&part| part == 0));
    }
}

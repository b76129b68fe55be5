//! Tile costs in plain Rust, written so that the compiler finds the wide instructions itself.

use super::tile::{COLUMNS, Costs, Engine, PART, READ, Task};

/// Any CPU.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Engine for Portable {
    #[inline(always)]
    fn sad(self, task: &Task<'_>, costs: &mut Costs<u16>) {
        lanes(task, costs, |sum, c, r| sum + u16::from(c.abs_diff(r)));
    }

    #[inline(always)]
    fn ssd(self, task: &Task<'_>, costs: &mut Costs<u32>) {
        lanes(task, costs, |sum, c, r| {
            let difference = u16::from(c.abs_diff(r));
            sum + u32::from(difference * difference)
        });
    }
}

/// A candidate a lane: each sample of the part is compared with `COLUMNS` neighbouring samples of
/// the reference at once.
#[inline(always)]
fn lanes<C: Copy + Default>(task: &Task<'_>, costs: &mut Costs<C>, add: impl Fn(C, u8, u8) -> C) {
    let pitch = task.pitch();
    for (v, costs) in costs[..task.rows()].iter_mut().enumerate() {
        let mut sums = [C::default(); COLUMNS];
        for k in 0..task.height() {
            let current = &task.current()[k * pitch..][..task.width()];
            let reference: &[u8; READ] =
                task.reference()[(k + v) * pitch..].first_chunk().expect("READ samples");
            for (x, c) in current.iter().take(PART).enumerate() {
                let r: &[u8; COLUMNS] = reference[x..].first_chunk().expect("READ samples");
                for u in 0..COLUMNS {
                    sums[u] = add(sums[u], *c, r[u]);
                }
            }
        }
        *costs = sums;
    }
}

//! What follows from a finished search: the balancer learns from it, and its parts become one field.

use super::member::Member;
use super::worker::JobResult;
use super::{Measured, Session, Share, SharedSearch, Split};
use crate::estimator::{MotionVector, Notice, Output, Part, StageTimes};

impl<T> Session<T> {
    /// Tells the balancer how long each device took.
    pub(super) fn learn(&mut self, search: &SharedSearch<T>) {
        if self.only_active().is_some() {
            return;
        }
        let results = search.shares.iter().filter_map(|share| Some((share, share.result.as_ref()?)));
        let unit = self.displacements_a_unit();
        let units = |part: Part| match self.split {
            Split::Candidates => part.displacements().len().div_ceil(unit),
            _ => part.rows().len(),
        };
        let measured: Vec<Measured> = results
            .clone()
            .map(|(share, result)| Measured {
                device: share.member,
                units: units(share.part),
                seconds: result.busy.as_secs_f64(),
            })
            .collect();
        if self.split == Split::Frames {
            for Measured { device, units, seconds } in measured {
                self.balancer.observe_frame(device, units, seconds, self.depth == 1);
            }
        } else if search.is_as_planned {
            let seconds = match self.depth {
                1 => results
                    .clone()
                    .map(|(_, result)| (result.at - search.started).as_secs_f64())
                    .reduce(f64::max),
                // With several searches in flight, no device waits for the others.
                _ => measured.iter().map(|m| m.seconds).reduce(f64::max),
            };
            let rebalanced = results.map(|(_, result)| result.rebalance_time).max().unwrap_or_default();
            self.balancer.observe(&measured, seconds.unwrap_or_default(), rebalanced.as_secs_f64());
        }
        for (device, is_active) in self.balancer.take_notes() {
            let what =
                if is_active { "gets work again" } else { "gets no work: the frame is faster without it" };
            self.notices.push(Notice::Balance(format!("{} {what}", self.members[device].info().name)));
        }
    }

    /// Merges the parts of a search. All of them are done.
    pub(super) fn merge(&mut self, shares: Vec<Share>) -> Output {
        let (whole, grid) = (Part::whole(&self.parameters), self.parameters.grid());
        let all = whole.displacements();
        let is_by_rows = shares.iter().all(|share| share.part.displacements() == all);
        let mut row_devices = vec![0; if is_by_rows && self.is_list { grid.rows } else { 0 }];
        self.members.iter_mut().for_each(Member::reset_share);
        let mut times = StageTimes::default();
        let mut merged = None;
        for Share { member, part, result } in shares {
            let Some(JobResult { output, busy, .. }) = result else { continue };
            let rows = part.rows();
            let displacements = part.displacements().len() as f64 / all.len() as f64;
            self.members[member].count_share(rows.len() as f64 / grid.rows as f64 * displacements, busy);
            if !row_devices.is_empty() {
                row_devices[rows.clone()].fill(u8::try_from(member).unwrap_or(u8::MAX));
            }
            times = output.times.max(times);
            if part == whole {
                merged = Some(output);
                continue;
            }
            let merged = merged.get_or_insert_with(|| {
                let mut merged = Output::from_pool(&self.vectors, grid.blocks());
                if !is_by_rows {
                    merged.vectors.fill(MotionVector { cost: u32::MAX, ..MotionVector::default() });
                }
                merged
            });
            let band = &mut merged.vectors[rows.start * grid.columns..rows.end * grid.columns];
            if is_by_rows {
                band.copy_from_slice(&output.vectors);
            } else {
                band.iter_mut().zip(&*output.vectors).for_each(|(best, &other)| *best = best.better(other));
            }
        }
        let merged = merged.unwrap_or_else(|| Output::from_pool(&self.vectors, grid.blocks()));
        Output { times, row_devices, ..merged }
    }
}

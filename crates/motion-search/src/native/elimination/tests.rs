//! What engines do their own way for elimination, compared with its definition.

use crate::native::candidates::Candidates;
use crate::native::elimination::area::{lane_x, lane_y};
use crate::native::elimination::bounds::{self, Quarters};
use crate::native::elimination::engine::EliminationEngine;
use crate::native::elimination::sums::{GROUP, TILE};
use motion_base::simd::{InstructionSetName, Work, WorkForAll};

/// Runs `work` with every engine of this CPU.
fn for_every_engine<W: WorkForAll<()> + Copy>(work: W) {
    InstructionSetName::available()
        .for_each(|instruction_set| instruction_set.instructions().unwrap().run_widest(work));
}

#[derive(Clone, Copy)]
struct CheckCostsOfGroups;

impl<E: EliminationEngine> Work<E> for CheckCostsOfGroups {
    fn run(self, engine: E) {
        const PITCH: usize = 192;
        for side in [4, 8, 12, 16, 20] {
            if E::worth_a_group(side).is_none() {
                continue;
            }
            // Noise, and errors as large as can be.
            let noise = |length: usize| -> Vec<u8> {
                (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as u8).collect()
            };
            let noises = (noise(PITCH * side), noise(PITCH * 41).split_off(PITCH));
            for (current, reference) in [noises, (vec![255; PITCH * side], vec![0; PITCH * 40])] {
                let candidates = Candidates::new(&current[..], &reference[..], PITCH, side);
                let offsets = [0, 5, 63, 3 * PITCH as u32 + 41];
                let mut costs = [[0; GROUP]; 4];
                let blocks = [0, 1, 1, 0];
                engine.sads_of_groups(&candidates, (&blocks, &offsets), &mut costs);
                for ((block, offset), costs) in blocks.into_iter().zip(offsets).zip(costs) {
                    for (lane, cost) in costs.into_iter().enumerate() {
                        let at = offset + (lane_y(lane) * PITCH as i32 + lane_x(lane)) as u32;
                        let (block, candidate) = (candidates.block(block), candidates.at(at));
                        let places = (0..side).flat_map(|y| (0..side).map(move |x| y * PITCH + x));
                        let expected: u32 = places.map(|i| u32::from(block[i].abs_diff(candidate[i]))).sum();
                        assert_eq!(u32::from(cost), expected, "{side} {at}");
                    }
                }
            }
        }
    }
}

#[test]
fn groups_cost_what_their_candidates_do() {
    for_every_engine(CheckCostsOfGroups);
}

#[derive(Clone, Copy)]
struct CheckLists;

impl<E: EliminationEngine> Work<E> for CheckLists {
    fn run(self, engine: E) {
        let lanes: [u32; GROUP] = std::array::from_fn(|lane| (lane * lane) as u32);
        let mut bits = 1_u32;
        for turn in 0..1000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let bits = [bits, 0, u32::MAX, bits & bits >> 7, bits | bits << 9][turn % 5];
            let mut list = [7; GROUP];
            engine.list(bits, 1000, &lanes, &mut list);
            let expected = (0..GROUP).filter(|lane| bits >> lane & 1 != 0).map(|lane| 1000 + lanes[lane]);
            assert!(expected.eq(list[..bits.count_ones() as usize].iter().copied()), "{bits:x} {list:?}");
        }
    }
}

#[test]
fn every_bit_that_is_set_is_listed_in_order() {
    for_every_engine(CheckLists);
}

#[derive(Clone, Copy)]
struct CheckAreas;

impl<E: EliminationEngine> Work<E> for CheckAreas {
    fn run(self, engine: E) {
        check_shapes::<E, 8>(engine, &[(1, 1, 1), (9, 5, 2), (10, 6, 2), (7, 8, 4), (8, 3, 1)]);
        check_shapes::<E, 16>(engine, &[(17, 9, 2), (1, 16, 1), (5, 10, 4)]);
        check_shapes::<E, 32>(engine, &[(17, 9, 2), (3, 16, 4), (33, 17, 2), (2, 32, 1)]);
    }
}

/// Areas of groups, `N` bounds a row: `(rows, columns, rows from the upper parts to the lower ones)`.
fn check_shapes<E: EliminationEngine, const N: usize>(engine: E, shapes: &[(usize, usize, usize)]) {
    const EXTREMES: usize = 3000;
    let mut state = 1_u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let least: Vec<u16> = (0..EXTREMES).map(|_| next(9000) as u16).collect();
    let most: Vec<u16> = least.iter().map(|least| least + next(7000) as u16).collect();
    for (rows, columns, down) in shapes.iter().copied() {
        let of_block = [0; 4].map(|_: u16| next(16_000) as u16);
        let ranges = [(&least[7..], &most[7..]), (&least[8..], &most[8..])];
        let quarters = Quarters { rows, columns, of_block, ranges, pitch: 41, down };
        // Whole registers of bounds are there.
        let room = vec![0; (rows * N).next_multiple_of(GROUP)];
        let (mut by_engine, mut expected) = (room.clone(), room);
        let of_engine = engine.bound_area::<N>(&quarters, &mut by_engine);
        let least = bounds::bound_area::<u8, u16, N>(&quarters, 0, &mut expected);
        assert_eq!((of_engine, &by_engine[..rows * N]), (least, &expected[..rows * N]), "{rows} {down}");
    }
}

#[test]
fn engines_bound_groups_as_defined() {
    for_every_engine(CheckAreas);
}

#[test]
fn rows_of_candidates_that_end_past_the_reference_are_not_there() {
    let (current, reference) = ([0; 64 * 16], [0; 64 * 20]);
    let candidates = Candidates::new(&current[..], &reference[..], 64, 16);
    assert!(candidates.has_rows(64, TILE) && !candidates.has_rows(65, TILE));
}

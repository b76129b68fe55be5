//! `MotionVectorMeta`s made by hand, whose fields may say anything.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use glib::prelude::*;
use gstmotionestimate::meta;

use crate::plan::Plan;

/// Bytes, sometimes at an odd address.
fn bytes(plan: &mut Plan<'_>, mut content: Vec<u8>) -> glib::Bytes {
    if plan.once_in(4) {
        content.insert(0, 0);
        return glib::Bytes::from_bytes(&glib::Bytes::from_owned(content), 1..);
    }
    glib::Bytes::from_owned(content)
}

/// Records of `size` bytes, as many as the grid has blocks, but sometimes more or fewer bytes.
fn records(plan: &mut Plan<'_>, blocks: u64, size: u64) -> glib::Bytes {
    let right = blocks.saturating_mul(size).min(1 << 16) as usize;
    let length = match plan.number(0..=15u8) {
        14 => plan.number(0..=64),
        15 => right + plan.number(0..=9usize),
        _ => right,
    };
    let content = match plan.number(0..=3u8) {
        0 => vec![0; length],
        1 => plan
            .one_of(&[[0x80, 0, 0x7f, 0xff], [0xff, 0x7f, 0, 0x80]])
            .into_iter()
            .cycle()
            .take(length)
            .collect(),
        _ => {
            let few = plan.bytes(24);
            few.into_iter().cycle().take(length).collect()
        }
    };
    bytes(plan, content)
}

/// A string of any bytes.
fn name(plan: &mut Plan<'_>) -> glib::SendValue {
    match plan.number(0..=15u8) {
        15 => None::<&str>.to_send_value(),
        12..=14 => {
            Path::new(OsStr::from_bytes(&plan.text(&["satd", "zero", "a device", "\""]))).to_send_value()
        }
        _ => plan
            .one_of(&["zero", "intra", "satd", "second", "a name of more than sixteen bytes", ""])
            .to_send_value(),
    }
}

fn names(plan: &mut Plan<'_>, most: u8) -> Vec<glib::SendValue> {
    if plan.once_in(24) {
        return vec![7i32.to_send_value(); 2];
    }
    (0..plan.number(1..=most)).map(|_| name(plan)).collect()
}

/// Sets field `name` to `value`, or leaves it out, or gives it another type.
fn set<T: Into<glib::Value> + Send>(
    plan: &mut Plan<'_>,
    structure: &mut gst::StructureRef,
    name: &str,
    value: T,
) {
    match plan.number(0..=63u8) {
        60 => {}
        61 => structure.set(name, plan.number(i32::MIN..=i32::MAX)),
        62 => structure.set(name, "text"),
        63 => structure.set(name, None::<glib::Bytes>),
        _ => structure.set(name, value),
    }
}

/// What fits a frame in most cases.
pub struct Likely {
    pub size: (u32, u32),
    pub offset: i32,
    pub pts: Option<gst::ClockTime>,
}

/// Attaches a meta to `buffer`.
pub fn attach(plan: &mut Plan<'_>, buffer: &mut gst::BufferRef, likely: &Likely) {
    meta::register();
    let mut custom = gst::meta::CustomMeta::add(buffer, meta::NAME).expect("a meta that is registered");
    let structure = custom.mut_structure();
    let number = |plan: &mut Plan<'_>, likely: u32| if plan.once_in(32) { plan.any_u32() } else { likely };
    let (width, height) = (number(plan, likely.size.0), number(plan, likely.size.1));
    let block = |plan: &mut Plan<'_>| match plan.number(0..=9u8) {
        8 => plan.any_u32(),
        9 => plan.number(1..=70),
        index => [8, 4, 16, 1, 3, 32, 64, 2][usize::from(index)],
    };
    let block_width = block(plan);
    let block_height = if plan.once_in(3) { block(plan) } else { block_width };
    let columns = number(plan, width.div_ceil(block_width.max(1)));
    let rows = number(plan, height.div_ceil(block_height.max(1)));
    let blocks = u64::from(columns) * u64::from(rows);
    set(plan, structure, "version", 1u32);
    for (name, value) in [
        ("width", width),
        ("height", height),
        ("block-width", block_width),
        ("block-height", block_height),
        ("columns", columns),
        ("rows", rows),
    ] {
        set(plan, structure, name, value);
    }
    let scale = plan.one_of(&[4, 32, 1, 2, 3, 0x1fff_ffff, u32::MAX]);
    let scale = number(plan, scale);
    set(plan, structure, "scale", scale);
    let offset = if plan.once_in(8) { plan.any_u32() as i32 } else { likely.offset };
    set(plan, structure, "reference-offset", offset);
    let pts =
        if plan.once_in(8) { plan.any_u64() } else { likely.pts.map_or(u64::MAX, gst::ClockTime::nseconds) };
    set(plan, structure, "reference-pts", pts);
    let metric = plan.one_of(&["sad", "ssd", "sad", "ssd", "", "SAD", "sadd"]);
    set(plan, structure, "metric", metric);
    let vectors = records(plan, blocks, 8);
    set(plan, structure, "vectors", vectors);
    if plan.once_in(4) {
        let depth = number(plan, 10);
        set(plan, structure, "bit-depth", depth);
    }
    if plan.once_in(3) {
        let predictors = records(plan, blocks, 4);
        set(plan, structure, "predictors", predictors);
    }
    if plan.once_in(3) {
        let names = names(plan, 3);
        let few = plan.bytes(8).into_iter().map(|byte| byte % (names.len() + usize::from(byte == 255)) as u8);
        let rows = few.cycle().take((rows.min(1 << 12) + u32::from(plan.once_in(24))) as usize).collect();
        let rows = bytes(plan, rows);
        set(plan, structure, "devices", gst::Array::from_values(names));
        set(plan, structure, "row-devices", rows);
    }
    if plan.once_in(3) {
        let names = if plan.once_in(16) { Vec::new() } else { names(plan, 5) };
        let costs = records(plan, blocks.saturating_mul(names.len() as u64), 4);
        set(plan, structure, "cost-names", gst::Array::from_values(names));
        set(plan, structure, "costs", costs);
    }
    for name in ["scene-cut", "duplicate"] {
        if plan.once_in(3) {
            let flag = plan.once_in(2);
            set(plan, structure, name, flag);
        }
    }
    if plan.once_in(5) {
        structure.set("a-later-field", 3i64);
    }
}

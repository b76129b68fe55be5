//! Lists every device with the name that selects it, for `MotionSearchBuilder::device` and for the property `device` of the
//! GStreamer elements: `cargo run --example devices`.

use motion_search::backend::{AvailableDevice, DeviceLimits, devices_and_limits};

fn cells((info, limits): (AvailableDevice, Option<DeviceLimits>)) -> [String; 8] {
    let limit = |text: fn(&DeviceLimits) -> String| limits.as_ref().map_or_else(|| "-".into(), text);
    [
        info.selector.to_string(),
        info.kind.into(),
        info.name,
        info.driver,
        limit(|l| l.compute_units.to_string()),
        limit(|l| format!("{} MiB", l.memory >> 20)),
        limit(|l| l.largest_group.to_string()),
        limit(|l| format!("{} KiB", l.local_memory >> 10)),
    ]
}

fn main() {
    let header = ["device", "kind", "name", "driver", "units", "memory", "largest group", "local memory"]
        .map(String::from);
    let mut table = vec![header];
    table.extend(devices_and_limits().into_iter().map(cells));
    let widths: Vec<usize> =
        (0..8).map(|c| table.iter().map(|row| row[c].chars().count()).max().unwrap_or(0)).collect();
    for row in &table {
        let line: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        println!("{}", line.join("  ").trim_end());
    }
}

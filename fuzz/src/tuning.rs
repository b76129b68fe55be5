//! Any contents of `tuning.toml`: an error that names a line, or a table that can be written and read again.

use motion_search::backend::{Table, read_file};

use crate::plan::Plan;
use crate::setup;

/// What tables are made of.
const WORDS: [&str; 44] = [
    "[[entry]]\n",
    "\n",
    " = ",
    "\"",
    ", ",
    "[",
    "]",
    "{ ",
    " }",
    "#",
    "kernel = \"tiled\"\n",
    "kernel",
    "kind",
    "vendor",
    "device",
    "driver",
    "metric",
    "block-size",
    "candidates",
    "tuning",
    "group-size",
    "cost-bytes",
    "launch",
    "launches",
    "queues",
    "run",
    "blocks-across",
    "blocks-down",
    "\"gpu\"",
    "\"cpu\"",
    "\"sad\"",
    "\"ssd\"",
    "\"two-pass\"",
    "\"once\"",
    "\"queues\"",
    "\"auto\"",
    "1",
    "0",
    "-1",
    "16",
    "9223372036854775807",
    "1e5",
    "true",
    "tuning = { run = 4, group-size = 8 }\n",
];

/// Runs the target.
pub fn run(data: &[u8]) {
    setup::init();
    let plan = &mut Plan::new(data);
    let mut text = Vec::new();
    if plan.once_in(2) {
        let count = plan.number(0..=200);
        text = plan.bytes(count);
    } else {
        while !plan.is_over() && text.len() < 4096 {
            text.extend(plan.text(&WORDS));
        }
    }
    if plan.once_in(32) {
        check_file(&text);
    }
    match Table::read(&String::from_utf8_lossy(&text)) {
        Ok(table) => {
            let entries: Vec<_> = table.entries().cloned().collect();
            let written = Table::write(&entries);
            let again = Table::read(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
            assert!(again.entries().eq(&entries), "{written}");
        }
        Err(error) => {
            let lines = text.iter().filter(|&&byte| byte == b'\n').count();
            assert!((1..=lines + 1).contains(&error.line) && !error.reason.is_empty(), "{error:?}");
        }
    }
}

/// Reads a file that holds `text`.
fn check_file(text: &[u8]) {
    let file = std::env::temp_dir().join(format!("motionestimate-fuzz-{}.toml", std::process::id()));
    std::fs::write(&file, text).expect("a temporary file");
    let result = read_file(&file);
    std::fs::remove_file(&file).expect("the temporary file");
    let is_table = std::str::from_utf8(text).is_ok_and(|text| Table::read(text).is_ok());
    assert_eq!(result.is_ok(), is_table, "{result:?}");
}

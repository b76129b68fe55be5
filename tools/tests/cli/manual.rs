//! The manual page has the options and exit codes of `--help`.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::{PROGRAM, run};

const PAGE: &str = include_str!("../../motion-vectors.1");

/// The options, such as `--out`, and exit codes that `text` describes. Lines that go on with a description begin further
/// to the right.
fn of_help(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| line.starts_with(' ') && !line.starts_with("        "));
    let columns = lines.filter_map(|line| line.trim_start().split("  ").next());
    let words = columns.flat_map(|column| column.split([' ', ',']));
    words.filter(|word| word.starts_with('-') || word.parse::<u8>().is_ok()).map(str::to_owned).collect()
}

/// What the list items of the page name.
fn of_page() -> BTreeSet<String> {
    let items = PAGE.lines().filter_map(|line| line.strip_prefix(".It "));
    let options = items.clone().filter(|item| item.starts_with("Fl ")).flat_map(|item| {
        let words = item.split(' ').collect::<Vec<_>>();
        words
            .windows(2)
            .filter(|pair| pair[0] == "Fl")
            .map(|pair| format!("-{}", pair[1]))
            .collect::<Vec<_>>()
    });
    let codes = items.filter(|item| item.parse::<u8>().is_ok()).map(str::to_owned);
    options.chain(codes).collect()
}

#[test]
fn the_manual_has_the_options_and_exit_codes_of_the_help() {
    let help = run(Command::new(PROGRAM).arg("--help"));
    let names = of_help(&help.text);
    for name in ["-o", "--out", "--zstd", "--version", "0", "130"] {
        assert!(names.contains(name), "{names:?}");
    }
    assert_eq!(of_page(), names);
}

//! The documents hold together: links lead somewhere, the book's summary has each page, and all of them stay short.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most lines that all documents have together, without the tables that are made from elements, the table of contents, and the
/// record of the papers' measurements, which is beside its tables.
const MOST_LINES: usize = 3000;
const LEFT_OUT: [&str; 2] = ["benches/papers/README.md", "docs/SUMMARY.md"];
const MADE: [&str; 2] = ["<!-- made from the element -->", "<!-- end -->"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The documents of the repository, from its root on.
fn documents() -> Vec<PathBuf> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md"]).current_dir(root());
    let output = git.output().expect("git");
    let listed = String::from_utf8(output.stdout).expect("names");
    let all = listed.lines().map(PathBuf::from).filter(|path| root().join(path).is_file());
    // A link to a document is none of its own.
    all.filter(|path| !root().join(path).is_symlink()).collect()
}

fn text(document: &Path) -> String {
    fs::read_to_string(root().join(document)).expect("a document")
}

/// The text outside blocks and spans of code.
fn prose(text: &str) -> String {
    let outside: String = text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    outside.split('`').step_by(2).collect()
}

/// The targets of the links in a document.
fn links(document: &Path) -> Vec<String> {
    let prose = prose(&text(document));
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.split_whitespace().next().unwrap_or_default().to_owned()).collect()
}

/// The anchors of the headings of a document, as GitHub and mdBook make them.
fn anchors(document: &Path) -> BTreeSet<String> {
    let text = text(document);
    let outside = text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    let headings = outside.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut faults = Vec::new();
    for document in documents() {
        for link in links(&document) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = document.parent().expect("a folder");
            let target = if path.is_empty() { document.clone() } else { folder.join(path) };
            if !root().join(&target).exists() {
                faults.push(format!("{}: {link}: no such file", document.display()));
            } else if !anchor.is_empty()
                && path.ends_with(".md") | path.is_empty()
                && !anchors(&target).contains(anchor)
            {
                faults.push(format!("{}: {link}: no such heading", document.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_summary_has_each_page() {
    let summary: BTreeSet<String> = links(Path::new("docs/SUMMARY.md")).into_iter().collect();
    for document in documents().iter().filter_map(|path| path.strip_prefix("docs").ok()) {
        let name = document.to_str().expect("a name");
        assert!(name == "SUMMARY.md" || summary.contains(name), "docs/SUMMARY.md lacks {name}");
    }
}

#[test]
fn all_documents_together_are_short() {
    let written = |document: &PathBuf| {
        let text = text(document);
        let made = text.split_once(MADE[0]).and_then(|(_, rest)| rest.split_once(MADE[1]));
        text.lines().count() - made.map_or(0, |(made, _)| made.lines().count())
    };
    let lines: usize = documents()
        .iter()
        .filter(|path| !LEFT_OUT.iter().any(|left_out| path.ends_with(left_out)))
        .map(written)
        .sum();
    assert!(lines <= MOST_LINES, "{lines} lines, of {MOST_LINES}");
}

/// A picture that no page shows any more goes.
#[test]
fn pictures_are_shown_by_a_page() {
    let shown: BTreeSet<PathBuf> = documents()
        .iter()
        .flat_map(|document| {
            let folder = root().join(document.parent().expect("a folder"));
            links(document).into_iter().filter_map(move |link| folder.join(link).canonicalize().ok())
        })
        .collect();
    for entry in fs::read_dir(root().join("docs/pictures")).expect("pictures") {
        let path = entry.expect("an entry").path();
        assert!(shown.contains(&path), "no page shows {}", path.display());
    }
}

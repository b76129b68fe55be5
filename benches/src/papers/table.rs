//! A table with the paper's columns beside ours, as text, Markdown and CSV.

use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::papers::measure::RAN;

/// A heading: that of a group of columns, and the column's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub group: String,
    pub name: String,
}

impl Column {
    pub fn new(group: impl Into<String>, name: impl Into<String>) -> Self {
        Self { group: group.into(), name: name.into() }
    }

    /// Both in one line.
    fn whole(&self) -> String {
        format!("{} {}", self.group, self.name).trim().to_owned()
    }
}

/// The contents of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// The label of the row.
    Label(String),
    /// A figure of the paper, and the number of decimals of its column.
    Printed(f64, usize),
    /// The paper has no figure here.
    Missing,
    /// A figure of ours, with three digits.
    Ours(f64),
    /// A figure of ours with two decimals.
    Hundredths(f64),
    /// Two figures of ours: kernel alone, and with transfers.
    Pair(f64, f64),
    /// Not run: the device cannot. The table's foot has the reason.
    Refused,
    /// Not run: a smaller case exceeded the time limit.
    Stopped,
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Cell::Label(text) => text.clone(),
            Cell::Printed(value, decimals) => {
                let text = value.to_string();
                let written = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
                if written < *decimals { format!("{value:.decimals$}") } else { text }
            }
            Cell::Missing => String::new(),
            Cell::Ours(value) => digits(*value),
            Cell::Hundredths(value) if value.is_finite() => format!("{value:.2}"),
            Cell::Hundredths(value) => digits(*value),
            Cell::Pair(kernel, whole) => format!("{} / {}", digits(*kernel), digits(*whole)),
            Cell::Refused => "n/a".into(),
            Cell::Stopped => "-".into(),
        }
    }

    /// Our figure; of a pair that of the kernel alone.
    pub fn first(&self) -> Option<f64> {
        match self {
            Cell::Ours(value) | Cell::Hundredths(value) | Cell::Pair(value, _) => Some(*value),
            Cell::Label(_) | Cell::Printed(..) | Cell::Missing | Cell::Refused | Cell::Stopped => None,
        }
    }

    /// The `count` fields of the column in a CSV line.
    fn fields(&self, count: usize) -> Vec<String> {
        match self {
            Cell::Pair(kernel, whole) => vec![kernel.to_string(), whole.to_string()],
            Cell::Ours(value) | Cell::Hundredths(value) => vec![value.to_string(); count],
            other => vec![other.text(); count],
        }
    }
}

/// `value` with three significant digits and without exponent.
pub fn digits(value: f64) -> String {
    if !value.is_finite() {
        return if value > 0.0 { "∞".into() } else { value.to_string() };
    }
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let decimals = (2 - magnitude).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

/// A table with its title and footnotes.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name of its files.
    pub stem: String,
    pub title: String,
    pub columns: Vec<Column>,
    /// One cell per column each.
    pub rows: Vec<Vec<Cell>>,
    pub foot: Vec<String>,
}

impl Table {
    /// Checks that a footnote names kernel, device and parameters.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self) -> Result<(), String> {
        let ran = self.foot.iter().find_map(|line| line.strip_prefix(RAN));
        let ran = ran.ok_or_else(|| format!("{}: no footnote \"{RAN}\" says what ran", self.stem))?;
        match ["kernel=", " on ", "block-size="].into_iter().find(|part| !ran.contains(part)) {
            None => Ok(()),
            Some(part) => Err(format!("{}: its footnote \"{RAN}\" has no \"{part}\"", self.stem)),
        }
    }

    /// The table with its columns aligned, headings in two lines.
    pub fn text(&self) -> String {
        let cells: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect();
        let length = |text: &str| text.chars().count();
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|i| {
                let body = cells.iter().map(|row| length(&row[i])).max().unwrap_or(0);
                body.max(length(&self.columns[i].name))
            })
            .collect();

        let groups = self.groups();
        for (group, columns) in &groups {
            let span: usize = widths[columns.clone()].iter().sum::<usize>() + 2 * (columns.len() - 1);
            widths[columns.end - 1] += length(group).saturating_sub(span);
        }

        let mut text = format!("{}\n\n", self.title);
        let over = groups.iter().map(|(group, columns)| {
            let span = widths[columns.clone()].iter().sum::<usize>() + 2 * (columns.len() - 1);
            format!("{group:^span$}")
        });
        text += over.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
        let names: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        for row in std::iter::once(&names).chain(&cells) {
            let line: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(
                    |(i, (cell, &width))| {
                        if i == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                    },
                )
                .collect();
            text += line.join("  ").trim_end();
            text.push('\n');
        }
        for line in &self.foot {
            let _ = write!(text, "\n  {line}");
        }
        text.push('\n');
        text
    }

    /// The groups, and the range of columns of each.
    fn groups(&self) -> Vec<(&str, Range<usize>)> {
        let mut groups: Vec<(&str, Range<usize>)> = Vec::new();
        for (i, column) in self.columns.iter().enumerate() {
            match groups.last_mut() {
                Some((group, columns)) if *group == column.group => columns.end = i + 1,
                _ => groups.push((&column.group, i..i + 1)),
            }
        }
        groups
    }

    /// The table in Markdown, with its foot.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("### {}\n\n", self.title);
        text += &line(self.columns.iter().map(Column::whole).collect());
        let marks = (0..self.columns.len()).map(|i| if i == 0 { "---" } else { "---:" }.to_owned());
        text += &line(marks.collect());
        for row in &self.rows {
            text += &line(row.iter().map(Cell::text).collect());
        }
        if !self.foot.is_empty() {
            let _ = write!(text, "\n{}\n", self.foot.join("  \n"));
        }
        text
    }

    /// The table in CSV: a pair becomes two columns, and figures have all digits. Lines before it that begin with `#` have
    /// the title, `origin` and the foot.
    pub fn csv(&self, origin: &str) -> String {
        let notes = [self.title.as_str(), origin].into_iter().chain(self.foot.iter().map(String::as_str));
        let notes: String = notes.map(|note| format!("# {note}\n")).collect();
        let is_pair = |i: usize| self.rows.iter().any(|row: &Vec<Cell>| matches!(row[i], Cell::Pair(..)));
        let pairs: Vec<bool> = (0..self.columns.len()).map(is_pair).collect();
        let mut writer = csv::Writer::from_writer(Vec::new());
        let heading = self.columns.iter().zip(&pairs).flat_map(|(column, &pair)| {
            let name = column.whole();
            if pair { vec![format!("{name}, kernel"), format!("{name}, with transfers")] } else { vec![name] }
        });
        writer.write_record(heading).expect("memory takes every record");
        for row in &self.rows {
            let fields =
                row.iter().zip(&pairs).flat_map(|(cell, &pair)| cell.fields(if pair { 2 } else { 1 }));
            writer.write_record(fields).expect("every row has a cell a column");
        }
        let records = writer.into_inner().expect("memory takes everything");
        notes + &String::from_utf8(records).expect("UTF-8 went in")
    }

    /// Writes the table as CSV and Markdown into `folder`. `origin` says when, where and by which command it was measured.
    pub fn write(&self, folder: &Path, origin: &str) -> io::Result<()> {
        std::fs::write(folder.join(&self.stem).with_extension("csv"), self.csv(origin))?;
        std::fs::write(folder.join(&self.stem).with_extension("md"), self.markdown())
    }
}

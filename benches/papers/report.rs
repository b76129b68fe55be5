//! Where the tables and plots of a device go: the terminal, and a folder.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use gstmotionestimate::backend::DeviceInfo;

use crate::chart::Chart;
use crate::table::Table;

/// The tables of one device.
pub struct Report {
    folder: PathBuf,
    /// Everything in one document.
    markdown: String,
}

impl Report {
    /// A report in `folder`, which is made.
    pub fn new(folder: &Path, device: &DeviceInfo) -> Result<Self, Box<dyn Error>> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let heading = format!("{} ({}, {})", device.name, device.kind, device.driver);
        println!("{heading}\n");
        Ok(Self { folder: folder.to_owned(), markdown: format!("## {heading}\n\n") })
    }

    /// Prints and writes a table.
    pub fn table(&mut self, table: &Table) -> Result<(), Box<dyn Error>> {
        println!("{}", table.text());
        table.write(&self.folder)?;
        let _ = writeln!(self.markdown, "{}", table.markdown());
        Ok(())
    }

    /// Writes a plot as `stem.svg`.
    pub fn chart(&mut self, stem: &str, chart: &Chart<'_>) -> Result<(), Box<dyn Error>> {
        let file = format!("{stem}.svg");
        if chart.write(&self.folder.join(&file))? {
            let _ = writeln!(self.markdown, "![{}]({file})\n", chart.title);
        }
        Ok(())
    }

    /// Prints and writes a sentence.
    pub fn say(&mut self, sentence: &str) {
        println!("{sentence}\n");
        let _ = writeln!(self.markdown, "{sentence}\n");
    }

    /// Writes what all tables are together.
    pub fn finish(self) -> Result<(), Box<dyn Error>> {
        Ok(fs::write(self.folder.join("all.md"), self.markdown)?)
    }
}

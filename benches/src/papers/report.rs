//! Writes the tables and plots of a device to the terminal and to a folder.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use motion_search::backend::AvailableDevice;

use crate::papers::chart::Chart;
use crate::papers::table::Table;

/// Date, CPU and command line of the measurement.
fn origin() -> String {
    let now = glib::DateTime::now_utc().and_then(|now| now.format("%Y-%m-%d"));
    let date = now.map(String::from).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cpu = model.map_or("CPU", |(_, model)| model);
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    format!(
        "{date}, {cores} cores of {cpu}; `cargo bench -p motion-benches --bench papers -- {}`.",
        words.join(" ")
    )
}

/// The tables of one device.
pub struct Report {
    folder: PathBuf,
    /// The device, and what [`origin`] says.
    origin: String,
    /// All tables and plots in one document.
    markdown: String,
}

impl Report {
    /// Creates `folder` for the report.
    pub fn new(folder: &Path, device: &AvailableDevice) -> Result<Self, Box<dyn Error>> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let heading = format!("{} ({}, {})", device.name, device.kind, device.driver);
        let measured = origin();
        println!("{heading}\n{measured}\n");
        let markdown = format!("## {heading}\n\n{measured}\n\n");
        Ok(Self { folder: folder.to_owned(), origin: format!("{heading}; {measured}"), markdown })
    }

    /// Prints and writes a table.
    ///
    /// # Errors
    /// A table that does not say what ran, and files that cannot be written.
    pub fn table(&mut self, table: &Table) -> Result<(), Box<dyn Error>> {
        table.check()?;
        println!("{}", table.text());
        table.write(&self.folder, &self.origin)?;
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

    /// Writes a picture.
    pub fn picture(&mut self, file: &str, bytes: &[u8], title: &str) -> Result<(), Box<dyn Error>> {
        fs::write(self.folder.join(file), bytes)?;
        self.say(&format!("{title}: {file}."));
        Ok(())
    }

    /// Prints and writes a sentence.
    pub fn say(&mut self, sentence: &str) {
        println!("{sentence}\n");
        let _ = writeln!(self.markdown, "{sentence}\n");
    }

    /// Writes the document of all tables.
    pub fn finish(self) -> Result<(), Box<dyn Error>> {
        Ok(fs::write(self.folder.join("all.md"), self.markdown)?)
    }
}

//! The list of the devices that can search.

use motion_search::backend;
use serde::Serialize;

use crate::error::Error;

/// A device, as `--json` prints it.
#[derive(Serialize)]
struct Listed {
    device: String,
    kind: &'static str,
    name: String,
    driver: String,
}

/// The devices that are here, one a line under a header, or as a line of JSON.
///
/// # Errors
/// [`Error::Output`] if JSON cannot be made, which does not happen with text.
pub fn list(is_json: bool) -> Result<String, Error> {
    let devices = backend::devices().into_iter().map(|device| Listed {
        device: device.selector.to_string(),
        kind: device.kind,
        name: device.name,
        driver: device.driver,
    });
    if is_json {
        let text = serde_json::to_string(&devices.collect::<Vec<_>>());
        return text.map(|text| text + "\n").map_err(|error| Error::Output(error.to_string()));
    }
    let header = ["device=", "kind", "name", "driver"].map(String::from);
    let lines = devices.map(|listed| [listed.device, listed.kind.into(), listed.name, listed.driver]);
    let table: Vec<_> = std::iter::once(header).chain(lines).collect();
    let width = |column: usize| table.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2].map(width);
    let line = |[device, kind, name, driver]: &[String; 4]| {
        let [a, b, c] = widths;
        format!("{device:<a$}  {kind:<b$}  {name:<c$}  {driver}\n")
    };
    Ok(table.iter().map(line).collect())
}

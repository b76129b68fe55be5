//! The names of devices, of one and of several.

use std::fmt;
use std::str::FromStr;

use super::{no_such_device, opencl};
use crate::estimator::SetupError;

/// A device, or several, by the names that users give them. [`FromStr`] reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceSelector {
    /// The best OpenCL GPU, else the CPU without OpenCL. Always finds a device.
    #[default]
    Auto,
    /// The CPU, without OpenCL.
    Native,
    /// The first OpenCL GPU.
    Gpu,
    /// The first OpenCL CPU device.
    Cpu,
    /// The first OpenCL accelerator.
    Accelerator,
    /// The OpenCL device with this platform and device index: `P:D`.
    Index(usize, usize),
    /// The first OpenCL device whose name holds this text, upper and lower case alike.
    Name(String),
    /// The GPU of a context of CUDA that another library made, and which launches in it.
    #[cfg(feature = "cuda")]
    Cuda(crate::opencl::CudaContext),
    /// Several devices together.
    Several(DeviceList),
}

impl FromStr for DeviceSelector {
    type Err = SetupError;

    /// Reads `auto` or nothing, `native`, `gpu`, `cpu`, `accelerator`, `P:D`, a list as [`DeviceList`], or part of the name of
    /// an OpenCL device.
    ///
    /// # Errors
    /// [`SetupError::NoSuchDevice`] for a text that is none of these: a misspelt `gpuu`, as no device has it in its name;
    /// [`SetupError::DeviceUnsupported`] for a list that cannot be followed. Whether there is a GPU, or a device `P:D`, is told
    /// when it is opened.
    fn from_str(text: &str) -> Result<Self, SetupError> {
        let text = text.trim();
        let index = || {
            let (platform, device) = text.split_once(':')?;
            Some(Self::Index(platform.trim().parse().ok()?, device.trim().parse().ok()?))
        };
        Ok(match text.to_ascii_lowercase().as_str() {
            "" | "auto" => Self::Auto,
            "native" => Self::Native,
            "gpu" => Self::Gpu,
            "cpu" => Self::Cpu,
            "accelerator" => Self::Accelerator,
            "all" => Self::Several(DeviceList::ALL),
            _ if text.contains([',', '@']) => Self::Several(text.parse()?),
            _ => match index() {
                Some(index) => index,
                None => Self::of_name(text)?,
            },
        })
    }
}

impl DeviceSelector {
    /// The OpenCL device of which `text` is part of the name.
    fn of_name(text: &str) -> Result<Self, SetupError> {
        let named = Self::Name(text.into());
        match opencl::has(&named) {
            true => Ok(named),
            false => Err(no_such_device(&named)),
        }
    }
}

impl TryFrom<&str> for DeviceSelector {
    type Error = SetupError;

    /// As [`FromStr`].
    fn try_from(text: &str) -> Result<Self, SetupError> {
        text.parse()
    }
}

impl fmt::Display for DeviceSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Native => f.write_str("native"),
            Self::Gpu => f.write_str("gpu"),
            Self::Cpu => f.write_str("cpu"),
            Self::Accelerator => f.write_str("accelerator"),
            Self::Index(platform, device) => write!(f, "{platform}:{device}"),
            Self::Name(text) => f.write_str(text),
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => f.write_str("the GPU of CUDA's memory"),
            Self::Several(list) => list.fmt(f),
        }
    }
}

/// Several devices: `all`, or those with commas between, each with `@weight` or without: `gpu@0.9,native@0.1`. A weight is how
/// much of the work the device gets, relative to the others.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceList(
    /// `None` for all.
    Option<Vec<ListedDevice>>,
);

/// Its weights are numbers, and each equals itself.
impl Eq for DeviceList {}

/// A device of a list, with its weight if it has one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListedDevice {
    pub(super) selector: DeviceSelector,
    pub(super) weight: Option<f64>,
}

impl DeviceList {
    /// Every device of this machine.
    pub const ALL: Self = Self(None);

    /// These devices, each with a weight, or none with one.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] for no devices, [`DeviceSelector::Auto`], a list in the list, weights that are not
    /// above 0, and weights of some devices alone.
    pub fn new(devices: impl IntoIterator<Item = (DeviceSelector, Option<f64>)>) -> Result<Self, SetupError> {
        let listed = |(selector, weight)| ListedDevice { selector, weight };
        let devices: Vec<ListedDevice> = devices.into_iter().map(listed).collect();
        let reason = reason_against(&devices);
        let list = Self(Some(devices));
        match reason {
            None => Ok(list),
            Some(reason) => Err(refused(&list.to_string(), reason)),
        }
    }

    /// The devices that are named: none for [`Self::ALL`].
    pub fn devices(&self) -> impl Iterator<Item = &DeviceSelector> {
        self.listed().unwrap_or_default().iter().map(|device| &device.selector)
    }

    /// The devices; `None` for all.
    pub(super) fn listed(&self) -> Option<&[ListedDevice]> {
        self.0.as_deref()
    }
}

/// Why these devices are no list.
fn reason_against(devices: &[ListedDevice]) -> Option<String> {
    let is_number = |weight: f64| weight.is_finite() && weight > 0.0;
    let wrong = devices.iter().find_map(|ListedDevice { selector, weight }| match (selector, weight) {
        (DeviceSelector::Auto, _) => Some("auto chooses one device by itself: name those of the list".into()),
        (DeviceSelector::Several(_), _) => Some("all stands for every device: use it alone".into()),
        (_, Some(weight)) if !is_number(*weight) => Some(no_weight(weight)),
        _ => None,
    });
    let weighted = devices.iter().filter(|device| device.weight.is_some()).count();
    wrong.or(match weighted {
        _ if devices.is_empty() => Some("the list names no device".into()),
        _ if weighted == 0 || weighted == devices.len() => None,
        _ => Some("give every device a weight, or none".into()),
    })
}

fn no_weight(text: impl fmt::Display) -> String {
    format!("\"{text}\" is no weight: use a number above 0")
}

fn refused(list: &str, reason: String) -> SetupError {
    SetupError::DeviceUnsupported { wanted: list.into(), reason }
}

impl FromStr for DeviceList {
    type Err = SetupError;

    /// # Errors
    /// As [`Self::new`], and those of the names.
    fn from_str(text: &str) -> Result<Self, SetupError> {
        if text.trim().eq_ignore_ascii_case("all") {
            return Ok(Self::ALL);
        }
        let listed = |entry: &str| {
            let (name, weight) = match entry.rsplit_once('@') {
                None => (entry, None),
                Some((name, weight)) => match weight.trim().parse() {
                    Ok(number) => (name.trim(), Some(number)),
                    Err(_) => return Err(refused(text, no_weight(weight))),
                },
            };
            Ok((name.parse()?, weight))
        };
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        Self::new(entries.map(listed).collect::<Result<Vec<_>, _>>()?).map_err(|error| match error {
            SetupError::DeviceUnsupported { reason, .. } => refused(text, reason),
            other => other,
        })
    }
}

impl fmt::Display for DeviceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(devices) = self.listed() else { return f.write_str("all") };
        for (index, ListedDevice { selector, weight }) in devices.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{selector}")?;
            if let Some(weight) = weight {
                write!(f, "@{weight}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> DeviceList {
        match text.parse() {
            Ok(DeviceSelector::Several(list)) => list,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn lists_are_understood_and_written_as_they_are_read() {
        use DeviceSelector::{Gpu, Index, Native};
        for (text, devices, written) in [
            ("0:0, native", vec![(Index(0, 0), None), (Native, None)], "0:0,native"),
            ("gpu@0.9,native@0.1", vec![(Gpu, Some(0.9)), (Native, Some(0.1))], "gpu@0.9,native@0.1"),
            ("native,", vec![(Native, None)], "native"),
            (" NATIVE @ 3", vec![(Native, Some(3.0))], "native@3"),
        ] {
            assert_eq!(list(text), DeviceList::new(devices).unwrap());
            assert_eq!(list(text).to_string(), written);
        }
        assert_eq!((list("All"), list("All").to_string()), (DeviceList::ALL, "all".into()));
    }

    #[test]
    fn lists_that_cannot_be_followed_say_why_at_once() {
        for (text, reason) in [
            (",", "the list names no device"),
            ("gpu,auto", "auto chooses one device by itself: name those of the list"),
            ("gpu,all", "all stands for every device: use it alone"),
            ("gpu@,native", "\"\" is no weight: use a number above 0"),
            ("gpu@half", "\"half\" is no weight: use a number above 0"),
            ("gpu@-1,native@1", "\"-1\" is no weight: use a number above 0"),
            ("gpu@inf,native@1", "\"inf\" is no weight: use a number above 0"),
            ("gpu@1,native", "give every device a weight, or none"),
        ] {
            let error = text.parse::<DeviceSelector>().unwrap_err().to_string();
            assert_eq!(error, format!("device \"{text}\": {reason}"));
        }
    }

    #[test]
    fn a_misspelt_name_is_an_error_at_once() {
        for text in ["gpuu", "nativ", "0;0", "0:", "gpu native", "gpuu,native", "gpuu@1,native@1"] {
            let error = text.parse::<DeviceSelector>().unwrap_err();
            assert!(matches!(error, SetupError::NoSuchDevice { .. }), "{text}: {error:?}");
            let name = text.split([',', '@']).next().unwrap();
            let begin = format!("no device matches \"{name}\". Available: native");
            let (text, end) = (error.to_string(), "; auto, gpu, cpu, accelerator and all choose among them");
            assert!(text.starts_with(&begin) && text.ends_with(end), "{text}");
        }
        // That it is here is told when it is opened.
        for (text, selector) in [
            ("7:3", DeviceSelector::Index(7, 3)),
            (" Accelerator ", DeviceSelector::Accelerator),
            ("", DeviceSelector::Auto),
        ] {
            assert_eq!(text.parse::<DeviceSelector>().unwrap(), selector);
        }
        for device in super::super::devices().into_iter().filter(|device| device.kind != "native") {
            let part: String = device.name.chars().skip(1).take(6).collect();
            assert_eq!(
                part.to_uppercase().parse::<DeviceSelector>().unwrap(),
                DeviceSelector::Name(part.to_uppercase().trim().into())
            );
        }
    }
}

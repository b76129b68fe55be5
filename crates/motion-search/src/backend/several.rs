//! Lists of devices.

use super::{DeviceSelector, devices, native, opencl};
use crate::estimator::{Algorithm, Parameters, SetupError};
use crate::session::{Balance, Fallback, Split, WeightedDevice};
use crate::tuning::{Kernel, Tuning};

/// How several devices work together, as a user chooses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouping {
    /// How the work is divided.
    pub split: Split,
    /// How much each device gets.
    pub balance: Balance,
    /// What happens when the last device has failed.
    pub on_failure: OnDeviceFailure,
}

/// What happens when the last device has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnDeviceFailure {
    /// The CPU without OpenCL takes over.
    #[default]
    Native,
    /// It is an error.
    Error,
}

/// A device of a list, with its weight if it has one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub(super) selector: DeviceSelector,
    pub(super) weight: Option<f64>,
}

/// The devices that `list` names: `all`, or selectors with commas between, each with `@weight` or
/// without.
///
/// # Errors
/// [`SetupError::DeviceUnsupported`] for a list that cannot be followed.
pub(super) fn parse(list: &str) -> Result<Vec<Named>, SetupError> {
    let refused = |reason: String| SetupError::DeviceUnsupported { wanted: list.into(), reason };
    if list.trim().eq_ignore_ascii_case("all") {
        let everyone = devices().into_iter().map(|device| Named { selector: device.selector, weight: None });
        return Ok(everyone.collect());
    }
    let mut named: Vec<Named> = Vec::new();
    for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let (name, weight) = match entry.rsplit_once('@') {
            None => (entry, None),
            Some((name, text)) => match text.trim().parse() {
                Ok(weight) if f64::is_finite(weight) && weight > 0.0 => (name.trim(), Some(weight)),
                _ => return Err(refused(format!("\"{text}\" is no weight: use a number above 0"))),
            },
        };
        let Ok(selector) = name.parse();
        match selector {
            DeviceSelector::Auto => {
                return Err(refused("auto chooses one device by itself: name those of the list".into()));
            }
            DeviceSelector::Several(_) => {
                return Err(refused("all stands for every device: use it alone".into()));
            }
            selector => named.push(Named { selector, weight }),
        }
    }
    if named.is_empty() {
        return Err(refused("the list names no device".into()));
    }
    if named.iter().any(|n| n.weight.is_some()) && named.iter().any(|n| n.weight.is_none()) {
        return Err(refused("give every device a weight, or none".into()));
    }
    Ok(named)
}

/// The devices that `list` names, each by the selector of exactly that device.
///
/// # Errors
/// As [`parse`], and if a device does not exist or is in the list twice.
pub(super) fn resolve(list: &str) -> Result<Vec<Named>, SetupError> {
    let mut resolved: Vec<Named> = Vec::new();
    for Named { selector, weight } in parse(list)? {
        let exactly = match &selector {
            DeviceSelector::Native => DeviceSelector::Native,
            other => opencl::exactly(other)?,
        };
        if resolved.iter().any(|known| known.selector == exactly) {
            let reason = format!("{exactly} is in it twice, once as {selector}");
            return Err(SetupError::DeviceUnsupported { wanted: list.into(), reason });
        }
        resolved.push(Named { selector: exactly, weight });
    }
    Ok(resolved)
}

/// The devices that `list` names, and how to balance them: weights in the list make it
/// [`Balance::Static`].
pub(super) fn open(
    list: &str,
    kernel: Kernel,
    tuning: &Tuning,
    grouping: Grouping,
    parameters: &Parameters,
) -> Result<(Vec<WeightedDevice>, Balance), SetupError> {
    let mut devices = Vec::new();
    let named = resolve(list)?;
    let divides_window = grouping.split == Split::Candidates && named.len() > 1;
    let tuning = &Tuning { divides_window, ..*tuning };
    let is_weighted = named.iter().any(|named| named.weight.is_some());
    // The kernel is used on the devices that have it; the others use their own.
    let is_for_native = |named: &Named| named.selector == DeviceSelector::Native;
    let (is_native, is_opencl) = (Kernel::NATIVE.contains(&kernel), super::of_opencl(kernel));
    let choose = |has_it: bool, is_for_all: bool| if has_it || is_for_all { kernel } else { Kernel::Auto };
    let of_native = match choose(is_native, named.iter().all(is_for_native)) {
        // Elimination needs the whole window.
        Kernel::Auto if tuning.divides_window && parameters.algorithm == Algorithm::Full => {
            Kernel::Exhaustive
        }
        chosen => chosen,
    };
    let of_opencl = choose(is_opencl, !named.iter().any(is_for_native));
    for Named { selector, weight } in named {
        let device = match selector {
            DeviceSelector::Native => native(of_native, tuning, parameters)?,
            exactly => opencl::open(&exactly, of_opencl, tuning, parameters)?.0,
        };
        devices.push(WeightedDevice { device, weight: weight.unwrap_or(1.0) });
    }
    Ok((devices, if is_weighted { Balance::Static } else { grouping.balance }))
}

/// The first OpenCL GPU that `list` names.
///
/// # Errors
/// As [`parse`], and if there is no such device.
pub(super) fn first_gpu(list: &str) -> Result<Option<DeviceSelector>, SetupError> {
    for Named { selector, .. } in parse(list)? {
        if selector != DeviceSelector::Native && opencl::is_gpu(&selector)? {
            return Ok(Some(selector));
        }
    }
    Ok(None)
}

/// What takes over when the last device has failed.
pub(super) fn fallback(grouping: Grouping, tuning: &Tuning, parameters: &Parameters) -> Option<Fallback> {
    let (tuning, parameters) = (*tuning, parameters.clone());
    match grouping.on_failure {
        OnDeviceFailure::Error => None,
        OnDeviceFailure::Native => Some(Box::new(move || native(Kernel::Auto, &tuning, &parameters))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_understood() {
        let named = |selector, weight| Named { selector, weight };
        let native = DeviceSelector::Native;
        assert_eq!(
            parse("0:0, native").unwrap(),
            [named(DeviceSelector::Index(0, 0), None), named(native.clone(), None)]
        );
        assert_eq!(
            parse("gpu@0.9,native@0.1").unwrap(),
            [named(DeviceSelector::Gpu, Some(0.9)), named(native.clone(), Some(0.1))]
        );
        assert_eq!(parse("native,").unwrap(), [named(native.clone(), None)]);
        assert_eq!(parse("native@3").unwrap(), [named(native, Some(3.0))]);
        assert_eq!(parse("All").unwrap().len(), devices().len());
    }

    #[test]
    fn lists_that_cannot_be_followed_say_why() {
        for (list, part) in [
            (",", "no device"),
            ("gpu,auto", "auto"),
            ("gpu,all", "all"),
            ("gpu@,native", "weight"),
            ("gpu@-1,native@1", "weight"),
            ("gpu@1,native", "every device"),
        ] {
            let error = parse(list).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(list), "{error}");
        }
    }
}

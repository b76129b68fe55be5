//! Lists of devices.

use super::selector::ListedDevice;
use super::{AvailableDevice, DeviceList, DeviceSelector, Opener, devices, native, opencl};
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

/// The devices that `list` names.
fn named(list: &DeviceList) -> Vec<ListedDevice> {
    let listed = |device: AvailableDevice| ListedDevice { selector: device.selector, weight: None };
    list.listed().map_or_else(|| devices().into_iter().map(listed).collect(), <[_]>::to_vec)
}

/// The devices that `list` names, each by the selector of exactly that device.
///
/// # Errors
/// If a device does not exist or is in the list twice.
pub(super) fn resolve(list: &DeviceList) -> Result<Vec<ListedDevice>, SetupError> {
    let mut resolved: Vec<ListedDevice> = Vec::new();
    for ListedDevice { selector, weight } in named(list) {
        let exactly = match &selector {
            DeviceSelector::Native => DeviceSelector::Native,
            other => opencl::exactly(other)?,
        };
        if resolved.iter().any(|known| known.selector == exactly) {
            let reason = format!("{exactly} is in it twice, once as {selector}");
            return Err(SetupError::DeviceUnsupported { wanted: list.to_string(), reason });
        }
        resolved.push(ListedDevice { selector: exactly, weight });
    }
    Ok(resolved)
}

impl Opener {
    /// The devices that `list` names, and how to balance them: weights in the list make it
    /// [`Balance::Static`].
    pub(super) fn open_several(
        &self,
        list: &DeviceList,
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
        let is_for_native = |named: &ListedDevice| named.selector == DeviceSelector::Native;
        let (is_native, is_opencl) = (Kernel::NATIVE.contains(&kernel), super::of_opencl(kernel));
        let choose =
            |has_it: bool, is_for_all: bool| if has_it || is_for_all { kernel } else { Kernel::Auto };
        let of_native = match choose(is_native, named.iter().all(is_for_native)) {
            // Elimination needs the whole window.
            Kernel::Auto if tuning.divides_window && parameters.algorithm == Algorithm::Full => {
                Kernel::Exhaustive
            }
            chosen => chosen,
        };
        let of_opencl = choose(is_opencl, !named.iter().any(is_for_native));
        for ListedDevice { selector, weight } in named {
            let device = match selector {
                DeviceSelector::Native => native(of_native, tuning, parameters)?,
                exactly => self.open_opencl(&exactly, of_opencl, tuning, parameters)?.0,
            };
            devices.push(WeightedDevice { device, weight: weight.unwrap_or(1.0) });
        }
        Ok((devices, if is_weighted { Balance::Static } else { grouping.balance }))
    }
}

/// The first OpenCL GPU that `list` names.
///
/// # Errors
/// If there is no such device.
pub(super) fn first_gpu(list: &DeviceList) -> Result<Option<DeviceSelector>, SetupError> {
    for ListedDevice { selector, .. } in named(list) {
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

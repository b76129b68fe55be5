//! Parses the structure of the property `tuning`.

use motion_search::estimator::{Launcher, SetupError};
use motion_search::tuning::{Launch, Tuning};

/// The structure's name.
const NAME: &str = "motion-tuning";

/// The values in `structure`. Absent fields, or all fields without a structure, are chosen by the
/// kernel.
///
/// # Errors
/// [`SetupError::Tuning`] names a field that is unknown, has the wrong type or is out of range.
pub fn tuning(structure: Option<&gst::StructureRef>) -> Result<Tuning, SetupError> {
    let mut tuning = Tuning::default();
    let Some(structure) = structure else { return Ok(tuning) };
    if structure.name() != NAME {
        return wrong("name", format!("the structure is named {}, expected {NAME}", structure.name()));
    }
    let (mut launch, mut queues) = (None, None);
    for (field, value) in structure.iter() {
        match field.as_str() {
            "group-size" => tuning.group_size = Some(number(field, value)?),
            "cost-bytes" => tuning.cost_bytes = Some(number(field, value)?),
            "launches" => tuning.launches = Some(number(field, value)?),
            "run" => tuning.run = Some(number(field, value)?),
            "blocks-across" => tuning.blocks_across = Some(number(field, value)?),
            "blocks-down" => tuning.blocks_down = Some(number(field, value)?),
            "queues" => queues = Some(number(field, value)?),
            "launcher" => tuning.launcher = launcher(&text(field, value)?)?,
            "launch" => launch = Some(text(field, value)?),
            _ => return wrong(field, "there is no such field".into()),
        }
    }
    tuning.launch = match (launch.as_deref(), queues) {
        (Some("queues"), Some(queues)) => Some(Launch::Queues(queues)),
        (Some("queues"), None) => return wrong("queues", "launch=queues needs the number of queues".into()),
        (_, Some(_)) => return wrong("queues", "it is only valid with launch=queues".into()),
        (None, None) => None,
        (Some("once"), None) => Some(Launch::Once),
        (Some("out-of-order"), None) => Some(Launch::OutOfOrder),
        (Some(other), None) => {
            return wrong("launch", format!("\"{other}\" is not one of once, out-of-order, queues"));
        }
    };
    tuning.validate()?;
    Ok(tuning)
}

/// The launcher named `name`; `None` for `auto`.
fn launcher(name: &str) -> Result<Option<Launcher>, SetupError> {
    let named = Launcher::ALL.into_iter().find(|launcher| launcher.name() == name);
    match named {
        None if name != "auto" => wrong("launcher", format!("\"{name}\" is not one of auto, opencl, cuda")),
        named => Ok(named),
    }
}

fn wrong<T>(field: &str, reason: String) -> Result<T, SetupError> {
    Err(SetupError::Tuning { field: field.into(), reason, known: Tuning::FIELDS.join(", ") })
}

/// An integer of any of GLib's integer types.
fn number<T: TryFrom<i128>>(field: &str, value: &glib::SendValue) -> Result<T, SetupError> {
    let integer = None
        .or_else(|| value.get::<i32>().ok().map(i128::from))
        .or_else(|| value.get::<u32>().ok().map(i128::from))
        .or_else(|| value.get::<i64>().ok().map(i128::from))
        .or_else(|| value.get::<u64>().ok().map(i128::from));
    match integer {
        Some(integer) => T::try_from(integer)
            .or_else(|_| wrong(field, format!("{integer} is out of range: use 1 or more"))),
        None => wrong(field, format!("an integer is needed, not {}", value.type_())),
    }
}

fn text(field: &str, value: &glib::SendValue) -> Result<String, SetupError> {
    match value.get::<Option<String>>() {
        Ok(Some(text)) => Ok(text),
        _ => wrong(field, format!("a string is needed, not {}", value.type_())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Tuning, SetupError> {
        gst::init().unwrap();
        tuning(Some(&text.parse::<gst::Structure>().unwrap()))
    }

    #[test]
    fn fields_are_read_whatever_integer_they_are() {
        let all = parsed(
            "motion-tuning,group-size=435,cost-bytes=(guint64)5000000000,launch=queues,queues=(uint)4,\
             launches=(gint64)64,run=33,blocks-across=4,blocks-down=(guint64)2",
        );
        let expected = Tuning {
            group_size: Some(435),
            cost_bytes: Some(5_000_000_000),
            launch: Some(Launch::Queues(4)),
            launches: Some(64),
            run: Some(33),
            blocks_across: Some(4),
            blocks_down: Some(2),
            ..Tuning::default()
        };
        assert_eq!(all.unwrap(), expected);
        assert_eq!(tuning(None).unwrap(), Tuning::default());
        assert_eq!(parsed("motion-tuning").unwrap(), Tuning::default());
        assert_eq!(parsed("motion-tuning,launch=out-of-order").unwrap().launch, Some(Launch::OutOfOrder));
        for (name, launcher) in
            [("auto", None), ("opencl", Some(Launcher::OpenCl)), ("cuda", Some(Launcher::Cuda))]
        {
            assert_eq!(parsed(&format!("motion-tuning,launcher={name}")).unwrap().launcher, launcher);
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_the_fields_there_are() {
        for (text, named) in [
            ("motion-tuning,group=4", "group"),
            ("motion-tuning,group-size=big", "group-size"),
            ("motion-tuning,group-size=0", "group-size"),
            ("motion-tuning,group-size=-1", "group-size"),
            ("motion-tuning,group-size=2.5", "group-size"),
            ("motion-tuning,cost-bytes=-1", "cost-bytes"),
            ("motion-tuning,launch=3", "launch"),
            ("motion-tuning,launch=twice", "launch"),
            ("motion-tuning,launch=queues", "queues"),
            ("motion-tuning,launch=queues,queues=0", "queues"),
            ("motion-tuning,queues=2", "queues"),
            ("motion-tuning,launches=0", "launches"),
            ("motion-tuning,launcher=vulkan", "launcher"),
            ("tuning,launches=1", "name"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(matches!(&error, SetupError::Tuning { field, .. } if field == named), "{text}: {error}");
            assert!(error.to_string().contains("group-size, cost-bytes, launch"), "{error}");
        }
    }
}

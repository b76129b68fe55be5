//! What GStreamer's leaks tracer knows.

use gst::prelude::*;

/// The objects that are still alive, but for what the registry has of the plugin, one in each line.
///
/// # Errors
/// Why the tracer cannot tell.
pub fn alive() -> Result<String, String> {
    let tracer = gst::active_tracers().into_iter().find(|tracer| tracer.type_().name() == "GstLeaksTracer");
    let tracer = tracer.ok_or("the leaks tracer does not run: set GST_TRACERS=leaks")?;
    let alive = tracer.emit_by_name::<Option<gst::Structure>>("get-live-objects", &[]);
    let alive = alive.ok_or("the leaks tracer does not answer")?;
    let list = alive.get::<gst::List>("live-objects-list").map_err(|error| error.to_string())?;
    // In GStreamer 1.22 it has no references of its own to the objects, and would take those of others with it.
    std::mem::forget(alive);
    let mut lines = String::new();
    for object in list.iter() {
        let structure = object.get::<&gst::StructureRef>().map_err(|error| error.to_string())?;
        let value = structure.value("object").map_err(|error| error.to_string())?;
        let kind = value.type_();
        if !kind.is_a(gst::Plugin::static_type()) && !kind.is_a(gst::PluginFeature::static_type()) {
            let name = value.get::<gst::Object>().map_or(String::new(), |object| object.path_string().into());
            lines += &format!("{kind} {name}\n");
        }
    }
    std::mem::forget(list);
    Ok(lines)
}

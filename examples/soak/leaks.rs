//! What GStreamer's leaks tracer knows.

use glib::prelude::*;

use crate::lane::Failure;

/// Fails if the leaks tracer knows objects that are still alive, but for what the registry has of the plugin.
pub fn check() -> Result<(), Failure> {
    let tracer = gst::active_tracers().into_iter().find(|tracer| tracer.type_().name() == "GstLeaksTracer");
    let tracer = tracer.ok_or("the leaks tracer does not run: set GST_TRACERS=leaks")?;
    let alive = tracer.emit_by_name::<Option<gst::Structure>>("get-live-objects", &[]);
    let alive = alive.ok_or("the leaks tracer does not answer")?;
    let list = alive.get::<gst::List>("live-objects-list")?;
    // In GStreamer 1.22 it has no references of its own to the objects, and would take those of others with it.
    std::mem::forget(alive);
    let mut count = 0;
    for object in list.iter() {
        let structure = object.get::<&gst::StructureRef>()?;
        let kind = structure.value("object")?.type_();
        if !kind.is_a(gst::Plugin::static_type()) && !kind.is_a(gst::PluginFeature::static_type()) {
            println!("soak: alive: {structure}");
            count += 1;
        }
    }
    std::mem::forget(list);
    println!("soak: {count} objects are alive at the end, as the leaks tracer says");
    if count == 0 { Ok(()) } else { Err("objects are left".into()) }
}

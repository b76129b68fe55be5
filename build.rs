//! Records the version and date that `plugin_define!` reports.

fn main() {
    gst_plugin_version_helper::info();
}

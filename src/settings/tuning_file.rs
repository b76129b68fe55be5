//! Where the user's tuning file is.

use std::path::PathBuf;

/// `gst-plugin-motionestimate/tuning.toml` in the user's configuration folder: `$XDG_CONFIG_HOME`, else `~/.config`.
pub fn tuning_file() -> PathBuf {
    glib::user_config_dir().join("gst-plugin-motionestimate").join("tuning.toml")
}

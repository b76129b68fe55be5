//! Finds libx264 and makes bindings of its header as it is installed: the structures differ from version to version.

use std::env;
use std::path::Path;

fn main() {
    gst_plugin_version_helper::info();
    // The first version that frees its parameters itself.
    let x264 = pkg_config::Config::new().atleast_version("0.161").probe("x264");
    let x264 = x264.unwrap_or_else(|error| {
        panic!("libx264 and its header are needed (Debian's libx264-dev): {error}");
    });
    let include = x264.include_paths.iter().map(|path| format!("-I{}", path.display()));
    let bindings = bindgen::Builder::default()
        .header("src/x264.h")
        .clang_args(include)
        .allowlist_item("(x264|X264|motionx264)_.*|pic_struct_e|nal_unit_type_e")
        .layout_tests(false)
        .parse_callbacks(Box::new(bindgen::CargoCallbacks::new()))
        .generate()
        .expect("bindings of x264.h; they need libclang (Debian's libclang-dev)");
    let target = Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("x264.rs");
    bindings.write_to_file(target).expect("the bindings are written");
    cc::Build::new().file("src/x264.c").includes(&x264.include_paths).compile("motionx264");
    for file in ["build.rs", "src/x264.c", "src/x264.h"] {
        println!("cargo::rerun-if-changed={file}");
    }
}

//! What holds for the properties of all elements.

use crate::init;

#[test]
fn documentation_lists_the_values_of_every_choice() {
    init();
    for element in ["estimate", "compensate", "interpolate", "denoise", "detect", "overlay", "serialize"] {
        test_support::gstreamer::check_choices(&format!("motion{element}"));
    }
}

#[test]
fn the_pages_have_the_formats_and_properties_of_the_elements() {
    init();
    for element in ["estimate", "compensate", "interpolate", "denoise", "detect", "overlay", "serialize"] {
        test_support::gstreamer::reference::check_page(&format!("motion{element}"));
    }
}

//! What holds for the properties of all elements.

use crate::init;

#[test]
fn documentation_lists_the_values_of_every_choice() {
    init();
    for element in ["estimate", "compensate", "interpolate", "denoise", "overlay", "serialize"] {
        test_support::gstreamer::check_choices(&format!("motion{element}"));
    }
}

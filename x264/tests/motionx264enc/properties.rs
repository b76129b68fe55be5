//! What holds for all properties.

use super::support::init;

#[test]
fn documentation_lists_the_values_of_every_choice() {
    init();
    test_support::gstreamer::check_choices("motionx264enc");
}

//! What holds for all properties.

use super::support::init;

#[test]
fn documentation_lists_the_values_of_every_choice() {
    init();
    test_support::gstreamer::check_choices("motionx264enc");
}

#[test]
fn the_page_has_the_formats_and_properties_of_the_element() {
    init();
    test_support::gstreamer::reference::check_page("motionx264enc");
}

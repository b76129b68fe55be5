//! Memory that the elements cannot read, and what makes it readable.

use gst::prelude::*;

/// Caps features of memory, and what to put before an element that reads system memory.
const DOWNLOADS: [(&str, &str); 8] = [
    ("memory:GLMemory", "gldownload"),
    (
        "memory:DMABuf",
        "a capsfilter video/x-raw, so that the source maps its buffers, or glupload ! gldownload",
    ),
    ("memory:VAMemory", "vapostproc"),
    ("memory:VASurface", "vaapipostproc"),
    ("memory:CUDAMemory", "cudadownload"),
    ("memory:D3D11Memory", "d3d11download"),
    ("memory:D3D12Memory", "d3d12download"),
    ("memory:NVMM", "nvvidconv or nvvideoconvert"),
];

/// If `element` has refused the caps that `query` from `direction` asks for because of their memory, warns on the bus and says
/// what makes it readable.
pub fn tell_if_refused(
    element: &impl IsA<gst::Element>,
    direction: gst::PadDirection,
    query: &gst::QueryRef,
) {
    let (gst::PadDirection::Sink, gst::QueryView::AcceptCaps(accept)) = (direction, query.view()) else {
        return;
    };
    if accept.result() {
        return;
    }
    let caps = accept.caps();
    let has = |feature| caps.iter_with_features().any(|(_, features)| features.contains(feature));
    let Some((feature, download)) = DOWNLOADS.iter().find(|(feature, _)| has(*feature)) else { return };
    let element = element.upcast_ref::<gst::Element>();
    gst::element_warning!(
        element,
        gst::CoreError::Negotiation,
        ("Frames in {feature} cannot be read: put {download} before {}", element.name()),
        ["{caps:?}"]
    );
}

//! Captions as supplemental enhancement information.

use gst_video::{VideoCaptionMeta, VideoCaptionType};

/// The captions of `buffer`, those of CEA-708, as registered user data of ITU-T T.35 in the syntax of ATSC A/53 part 4.
pub fn payloads(buffer: &gst::BufferRef) -> Vec<Vec<u8>> {
    let captions = buffer.iter_meta::<VideoCaptionMeta>();
    captions
        .filter(|captions| captions.caption_type() == VideoCaptionType::Cea708Raw)
        .map(|of| payload(of.data()))
        .collect()
}

fn payload(data: &[u8]) -> Vec<u8> {
    // The United States, ATSC, user data of the type of captions.
    let mut payload = vec![181, 0, 49, b'G', b'A', b'9', b'4', 3];
    // The flag that there are captions, and the number of their triples of bytes.
    let triples = (data.len() / 3) as u8 & 0x1f;
    payload.extend([0x40 | triples, 0xff]);
    payload.extend(data);
    payload.push(0xff);
    payload
}

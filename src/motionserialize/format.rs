//! The output formats of motion fields.

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use super::flo;
use crate::camera::{CameraMotion, RegionMotion};
use crate::meta::{FieldCosts, MetaError, MotionVectorMeta, RowDevices};
use motion_search::estimator::{Metric, MotionVector, Predictor};

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Ndjson,
    Csv,
    Binary,
    Flo,
}

impl Format {
    pub(super) const ALL: [Self; 4] = [Self::Ndjson, Self::Csv, Self::Binary, Self::Flo];

    /// The name of the format's caps.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv",
            Self::Binary => "application/x-motion-vectors",
            Self::Flo => "application/x-flo",
        }
    }

    pub(super) fn of_media_type(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.media_type() == name)
    }

    /// Whether an output buffer holds all fields of a frame, not only the first.
    pub(super) fn holds_all_fields(self) -> bool {
        self != Self::Flo
    }

    /// Appends the header of the format, if it has one.
    pub(super) fn write_header(self, out: &mut Vec<u8>) {
        match self {
            Self::Ndjson | Self::Flo => {}
            Self::Csv => {
                out.extend_from_slice(CSV_COLUMNS.join(",").as_bytes());
                out.push(b'\n');
            }
            Self::Binary => {
                out.extend_from_slice(b"GSTMVECS");
                out.extend_from_slice(&1u32.to_le_bytes());
                out.extend_from_slice(&BINARY_FIXED_BYTES.to_le_bytes());
            }
        }
    }

    /// Appends one field of a frame; without a field, the entry for a frame without vectors, which CSV does not have. Only NDJSON has
    /// what was `detected`.
    ///
    /// # Errors
    /// If a serializer fails, which does not happen when writing to memory.
    pub(super) fn write_field(
        self,
        frame: &FrameFacts,
        field: Option<&MotionVectorMeta>,
        detected: Option<&Detected>,
        out: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        match self {
            Self::Ndjson => write_ndjson(frame, field, detected, out)?,
            Self::Csv => field.map_or(Ok(()), |field| write_csv(frame, field, out))?,
            Self::Binary => write_binary(frame, field, out),
            Self::Flo => flo::write((frame.width, frame.height), field, out),
        }
        Ok(())
    }
}

/// Why a field could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("CSV: {0}")]
    Csv(#[from] csv::Error),
}

/// Number, times and size of a frame; times in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FrameFacts {
    pub(super) frame: u64,
    pub(super) pts: Option<u64>,
    pub(super) duration: Option<u64>,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// What `motiondetect` has found in a frame.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Detected {
    camera: [f64; 6],
    camera_following: f64,
    camera_confidence: f64,
    settling: bool,
    regions: Vec<DetectedRegion>,
    begun: Vec<u64>,
    ended: Vec<u64>,
}

#[derive(Clone, Debug, Serialize)]
struct DetectedRegion {
    id: u64,
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    velocity: (f64, f64),
    begin: u64,
    last: u64,
    confidence: f64,
}

impl Detected {
    /// What the metas of `buffer` say, whose frame has this size; `None` without the camera's. Calls `tell` with an error of that.
    pub(super) fn of(
        buffer: &gst::BufferRef,
        frame: (u32, u32),
        tell: &mut dyn FnMut(MetaError),
    ) -> Option<Self> {
        let camera = match CameraMotion::of(buffer)? {
            Ok(camera) if (camera.width, camera.height) == frame => camera,
            Ok(camera) => {
                tell(MetaError::FrameSize { field: (camera.width, camera.height), frame });
                return None;
            }
            Err(error) => {
                tell(error);
                return None;
            }
        };
        let region = |region: RegionMotion| {
            let RegionMotion { id, rect: (x, y, width, height), begin, last, velocity, confidence } = region;
            DetectedRegion { id, x, y, width, height, velocity, begin, last, confidence }
        };
        let [[a, b, c], [d, e, f]] = camera.matrix;
        Some(Self {
            camera: [a, b, c, d, e, f],
            camera_following: camera.following,
            camera_confidence: camera.confidence,
            settling: camera.is_settling,
            regions: RegionMotion::all_of(buffer).map(region).collect(),
            begun: camera.begun,
            ended: camera.ended,
        })
    }
}

#[derive(Serialize)]
struct Object<'a> {
    #[serde(flatten)]
    frame: &'a FrameFacts,
    #[serde(flatten)]
    detected: Option<&'a Detected>,
    block_width: Option<u32>,
    block_height: Option<u32>,
    columns: Option<u32>,
    rows: Option<u32>,
    scale: Option<u32>,
    reference_offset: Option<i32>,
    reference_pts: Option<u64>,
    metric: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bit_depth: Option<u32>,
    #[serde(serialize_with = "vectors_as_triples")]
    vectors: Option<&'a [MotionVector]>,
    #[serde(serialize_with = "predictors_as_pairs", skip_serializing_if = "Option::is_none")]
    predictors: Option<&'a [Predictor]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_devices: Option<&'a [u8]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scene_cut: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_names: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<Vec<&'a [u32]>>,
}

fn vectors_as_triples<S: Serializer>(
    vectors: &Option<&[MotionVector]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let Some(vectors) = vectors else { return serializer.serialize_none() };
    let mut sequence = serializer.serialize_seq(Some(vectors.len()))?;
    for MotionVector { x, y, cost } in *vectors {
        sequence.serialize_element(&(x, y, cost))?;
    }
    sequence.end()
}

fn predictors_as_pairs<S: Serializer>(
    predictors: &Option<&[Predictor]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(predictors.iter().copied().flatten().map(|Predictor { x, y }| (x, y)))
}

fn write_ndjson(
    frame: &FrameFacts,
    field: Option<&MotionVectorMeta>,
    detected: Option<&Detected>,
    out: &mut Vec<u8>,
) -> serde_json::Result<()> {
    let description = field.map(MotionVectorMeta::description);
    let devices = field.and_then(MotionVectorMeta::devices);
    let costs = field.and_then(MotionVectorMeta::costs);
    let object = Object {
        frame,
        detected,
        block_width: description.map(|field| field.block_width),
        block_height: description.map(|field| field.block_height),
        columns: description.map(|field| field.columns),
        rows: description.map(|field| field.rows),
        scale: description.map(|field| field.scale),
        reference_offset: description.map(|field| field.reference_offset),
        reference_pts: description.and_then(|field| field.reference_pts).map(|pts| pts.nseconds()),
        metric: description.map(|field| field.metric.name()),
        bit_depth: description.map(|field| field.bit_depth).filter(|depth| *depth != 8),
        vectors: field.map(MotionVectorMeta::vectors),
        predictors: field.and_then(MotionVectorMeta::predictors),
        devices: devices.map(|devices| devices.names().iter().map(|name| &**name).collect()),
        row_devices: devices.map(RowDevices::rows),
        scene_cut: field.and_then(MotionVectorMeta::is_scene_cut),
        duplicate: field.map(MotionVectorMeta::is_duplicate).filter(|is_duplicate| *is_duplicate),
        cost_names: costs.map(|costs| costs.names().iter().map(|name| &**name).collect()),
        costs: costs.map(|costs| costs.values().chunks_exact(costs.names().len()).collect()),
    };
    serde_json::to_writer(&mut *out, &object)?;
    out.push(b'\n');
    Ok(())
}

const CSV_COLUMNS: [&str; 16] = [
    "frame",
    "pts",
    "duration",
    "width",
    "height",
    "block_width",
    "block_height",
    "reference_offset",
    "reference_pts",
    "metric",
    "scale",
    "column",
    "row",
    "x",
    "y",
    "cost",
];

fn write_csv(frame: &FrameFacts, field: &MotionVectorMeta, out: &mut Vec<u8>) -> csv::Result<()> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    let description = field.description();
    let of_field = (
        description.block_width,
        description.block_height,
        description.reference_offset,
        description.reference_pts.map(|pts| pts.nseconds()),
        description.metric.name(),
        description.scale,
    );
    for (row, vectors) in field.vectors().chunks_exact(description.columns as usize).enumerate() {
        for (column, MotionVector { x, y, cost }) in vectors.iter().enumerate() {
            writer.serialize((frame, of_field, column, row, x, y, cost))?;
        }
    }
    Ok(writer.flush()?)
}

/// Bytes of a record before its vectors.
const BINARY_FIXED_BYTES: u32 = 72;

/// Bytes of the name of a cost in a record.
const BINARY_NAME_BYTES: usize = 16;

fn write_binary(frame: &FrameFacts, field: Option<&MotionVectorMeta>, out: &mut Vec<u8>) {
    let vectors = field.map_or(&[][..], MotionVectorMeta::vectors);
    let description = field.map(MotionVectorMeta::description);
    let number = |of: fn(&crate::meta::FieldDescription) -> u32| description.map_or(0, of);
    let unknown = u64::MAX;

    // The length only overflows for frames of millions of samples per axis.
    let costs = field.and_then(MotionVectorMeta::costs);
    let bytes_of =
        |costs: &FieldCosts| 4 + BINARY_NAME_BYTES * costs.names().len() + size_of_val(costs.values());
    let bytes = BINARY_FIXED_BYTES as usize + size_of_val(vectors) + costs.map_or(0, bytes_of);
    out.extend_from_slice(&u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&number(|field| u32::from(field.metric == Metric::Ssd)).to_le_bytes());
    let reference_pts = description.and_then(|field| field.reference_pts).map(|pts| pts.nseconds());
    for time in [Some(frame.frame), frame.pts, frame.duration, reference_pts] {
        out.extend_from_slice(&time.unwrap_or(unknown).to_le_bytes());
    }
    for value in [
        frame.width,
        frame.height,
        number(|field| field.block_width),
        number(|field| field.block_height),
        number(|field| field.columns),
        number(|field| field.rows),
        number(|field| field.reference_offset as u32),
        number(|field| field.scale),
    ] {
        out.extend_from_slice(&value.to_le_bytes());
    }
    for MotionVector { x, y, cost } in vectors {
        out.extend_from_slice(&x.to_le_bytes());
        out.extend_from_slice(&y.to_le_bytes());
        out.extend_from_slice(&cost.to_le_bytes());
    }
    if let Some(costs) = costs {
        out.extend_from_slice(&(costs.names().len() as u32).to_le_bytes());
        for name in costs.names() {
            let name = name.bytes().chain(std::iter::repeat(0));
            out.extend(name.take(BINARY_NAME_BYTES));
        }
        costs.values().iter().for_each(|cost| out.extend_from_slice(&cost.to_le_bytes()));
    }
}

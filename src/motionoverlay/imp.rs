//! Properties, caps and frames of `motionoverlay`.

use std::sync::LazyLock;

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::prelude::*;
use gst_video::prelude::*;
use gst_video::subclass::prelude::*;
use parking_lot::Mutex;

use super::MotionOverlayStyle;
use super::arrows::{Arrow, ArrowLayer};
use super::canvas::Component;
use super::color::{self, Model, Rgb};
use crate::meta::{self, FieldDescription, MotionVectorMeta};
use crate::video;
use crate::video::frame::{map_writable, samples_mut};
use motion_search::estimator::{MotionVector, SampleFormat};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motionoverlay",
        gst::DebugColorFlags::empty(),
        Some("Draws motion vectors into the frame"),
    )
});

const FORMATS: [gst_video::VideoFormat; 24] = [
    gst_video::VideoFormat::I420,
    gst_video::VideoFormat::Nv12,
    gst_video::VideoFormat::Yv12,
    gst_video::VideoFormat::Nv21,
    gst_video::VideoFormat::Y42b,
    gst_video::VideoFormat::Y444,
    gst_video::VideoFormat::Gray8,
    gst_video::VideoFormat::Rgba,
    gst_video::VideoFormat::Bgra,
    gst_video::VideoFormat::Argb,
    gst_video::VideoFormat::Abgr,
    gst_video::VideoFormat::Rgbx,
    gst_video::VideoFormat::Bgrx,
    gst_video::VideoFormat::Xrgb,
    gst_video::VideoFormat::Xbgr,
    gst_video::VideoFormat::Rgb,
    gst_video::VideoFormat::Bgr,
    gst_video::VideoFormat::Gbr,
    gst_video::VideoFormat::A420,
    gst_video::VideoFormat::I42010le,
    gst_video::VideoFormat::P01010le,
    gst_video::VideoFormat::I42210le,
    gst_video::VideoFormat::Y44410le,
    gst_video::VideoFormat::Gray16Le,
];

const ARROW: Rgb = [1.0, 0.87, 0.2];
const RIM: Rgb = [0.0, 0.0, 0.0];
/// Opacity of the rim and of a block's tint, of 255.
const RIM_OPACITY: u8 = 170;
const TINT_OPACITY: u8 = 185;
/// The largest radius of the legend, in samples.
const LEGEND_RADIUS: usize = 96;
/// Samples on the side of a square of one colour in it.
const LEGEND_SQUARE: usize = 2;
/// Lower, so that the frame remains visible.
const DEVICE_OPACITY: u8 = 110;

#[derive(Clone, Copy, Debug)]
struct Settings {
    style: MotionOverlayStyle,
    scale: f64,
    threshold: f64,
    legend: bool,
    /// 0 is the first field.
    reference_offset: i32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            style: MotionOverlayStyle::Arrows,
            scale: 1.0,
            threshold: 0.5,
            legend: false,
            reference_offset: 0,
        }
    }
}

impl Settings {
    /// The movement described by `vector` of `field`, in samples; `None` if it is too short to be drawn.
    /// The sign of the reference offset says whether the vector points to an earlier or a later frame.
    fn movement(&self, vector: MotionVector, field: &FieldDescription) -> Option<(f32, f32)> {
        let unit = field.scale as f32;
        let (x, y) = (f32::from(vector.x) / unit, f32::from(vector.y) / unit);
        let length = x.hypot(y);
        let seen = length > 0.0 && f64::from(length) >= self.threshold;
        let sign = if field.reference_offset > 0 { 1.0 } else { -1.0 };
        seen.then_some((sign * x, sign * y))
    }
}

/// State of a stream, valid until the next caps.
struct State {
    info: gst_video::VideoInfo,
    model: Model,
    /// Created when the first arrows are drawn.
    arrows: Option<ArrowLayer>,
    /// The value of each component, per block or per row of blocks.
    tints: Vec<[u8; 4]>,
    /// The squares of the legend, computed when it is first drawn: column, row and value of each component.
    legend: Vec<(usize, usize, [u8; 4])>,
}

#[derive(Default)]
pub struct MotionOverlay {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
}

impl MotionOverlay {}

#[glib::object_subclass]
impl ObjectSubclass for MotionOverlay {
    const NAME: &'static str = "GstMotionOverlay";
    type Type = super::MotionOverlay;
    type ParentType = gst_video::VideoFilter;
}

impl ObjectImpl for MotionOverlay {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let default = Settings::default();
            vec![
                glib::ParamSpecEnum::builder_with_default("style", default.style)
                    .nick("Style")
                    .blurb("How the vectors are drawn")
                    .mutable_playing()
                    .build(),
                glib::ParamSpecDouble::builder("scale")
                    .nick("Scale")
                    .blurb("Factor by which the drawn length of vectors is multiplied")
                    .minimum(0.0)
                    .maximum(100.0)
                    .default_value(default.scale)
                    .mutable_playing()
                    .build(),
                glib::ParamSpecDouble::builder("threshold")
                    .nick("Threshold")
                    .blurb("Vectors shorter than this many samples are not drawn")
                    .minimum(0.0)
                    .maximum(65536.0)
                    .default_value(default.threshold)
                    .mutable_playing()
                    .build(),
                glib::ParamSpecBoolean::builder("legend")
                    .nick("Legend")
                    .blurb("With style=color, draw the colours of all directions at the bottom right")
                    .default_value(default.legend)
                    .mutable_playing()
                    .build(),
                meta::offset_property(
                    "Frames from the current frame to the reference frame of the field to draw: -1 is the previous frame, \
                     +1 the next one (0 = the first field)",
                ),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        let mut settings = self.settings.lock();
        match pspec.name() {
            "style" => settings.style = value.get().expect("type checked upstream"),
            "scale" => settings.scale = value.get().expect("type checked upstream"),
            "threshold" => settings.threshold = value.get().expect("type checked upstream"),
            "legend" => settings.legend = value.get().expect("type checked upstream"),
            "reference-offset" => settings.reference_offset = value.get().expect("type checked upstream"),
            name => unreachable!("no property {name}"),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        let settings = self.settings.lock();
        match pspec.name() {
            "style" => settings.style.to_value(),
            "scale" => settings.scale.to_value(),
            "threshold" => settings.threshold.to_value(),
            "legend" => settings.legend.to_value(),
            "reference-offset" => settings.reference_offset.to_value(),
            name => unreachable!("no property {name}"),
        }
    }
}

impl GstObjectImpl for MotionOverlay {}

impl ElementImpl for MotionOverlay {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion vector overlay",
                "Filter/Effect/Video",
                "Draws the motion vectors attached to video frames into the frames",
                "The gst-plugin-motionestimate authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = gst_video::VideoCapsBuilder::new().format_list(FORMATS).build();
            video::pad_templates(&caps, &caps)
        });
        &TEMPLATES
    }
}

impl BaseTransformImpl for MotionOverlay {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = None;
        Ok(())
    }

    // Not of the video filter, which maps every buffer, and one whose video meta is of another frame with a critical warning.
    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let settings = *self.settings.lock();
        let mut state = self.state.lock();
        let state = state.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
        let field = match MotionVectorMeta::at_offset(buffer, settings.reference_offset) {
            None => return Ok(gst::FlowSuccess::Ok),
            Some(Ok(field)) => field,
            Some(Err(error)) => {
                gst::warning!(CAT, imp = self, "Motion field ignored: {error}");
                return Ok(gst::FlowSuccess::Ok);
            }
        };
        if (field.description().width, field.description().height)
            != (state.info.width(), state.info.height())
        {
            gst::warning!(CAT, imp = self, "Motion field ignored: it is for another frame size");
            return Ok(gst::FlowSuccess::Ok);
        }
        state.draw(buffer, &field, &settings).map_err(|error| {
            gst::element_imp_error!(self, gst::StreamError::Failed, ["Cannot draw the vectors: {error}"]);
            gst::FlowError::Error
        })?;
        Ok(gst::FlowSuccess::Ok)
    }
}

impl VideoFilterImpl for MotionOverlay {
    fn set_info(
        &self,
        _incaps: &gst::Caps,
        info: &gst_video::VideoInfo,
        _outcaps: &gst::Caps,
        _out_info: &gst_video::VideoInfo,
    ) -> Result<(), gst::LoggableError> {
        *self.state.lock() = Some(State {
            info: info.clone(),
            model: model_of(info),
            arrows: None,
            tints: Vec::new(),
            legend: Vec::new(),
        });
        Ok(())
    }
}

impl State {
    fn draw(
        &mut self,
        buffer: &mut gst::BufferRef,
        field: &MotionVectorMeta,
        settings: &Settings,
    ) -> Result<(), glib::BoolError> {
        let frame = &mut map_writable(buffer, &self.info)?;
        match settings.style {
            MotionOverlayStyle::Arrows => self.draw_arrows(frame, field, settings),
            MotionOverlayStyle::Color => self.draw_tints(frame, field, settings),
            MotionOverlayStyle::Devices => self.draw_devices(frame, field),
        }
    }

    fn draw_arrows(
        &mut self,
        frame: &mut gst_video::VideoFrameRef<&mut gst::BufferRef>,
        field: &MotionVectorMeta,
        settings: &Settings,
    ) -> Result<(), glib::BoolError> {
        let layer = match &mut self.arrows {
            Some(layer) => layer,
            none => none.insert(
                ArrowLayer::new(frame.width(), frame.height())
                    .ok_or_else(|| glib::bool_error!("the frame is too large"))?,
            ),
        };
        let description = field.description();
        let columns = description.columns as usize;
        let (block_width, block_height) = (description.block_width as f32, description.block_height as f32);
        let scale = settings.scale as f32;
        let arrows = field.vectors().iter().enumerate().filter_map(|(index, &vector)| {
            let (x, y) = settings.movement(vector, description)?;
            let (x, y) = (x * scale, y * scale);
            let middle = (
                middle_of_block(index % columns, description.block_width, description.width),
                middle_of_block(index / columns, description.block_height, description.height),
            );
            Some(if description.reference_offset > 0 {
                Arrow { tail: middle, head: (middle.0 + x, middle.1 + y) }
            } else {
                Arrow { tail: (middle.0 - x, middle.1 - y), head: middle }
            })
        });
        layer.draw(block_width.min(block_height), arrows);
        let (rim, core) = (self.model.components(RIM), self.model.components(ARROW));
        each_component(frame, |index, mut component| {
            component.blend(layer.rim(), rim[index], RIM_OPACITY);
            component.blend(layer.core(), core[index], 255);
        })
    }

    fn draw_tints(
        &mut self,
        frame: &mut gst_video::VideoFrameRef<&mut gst::BufferRef>,
        field: &MotionVectorMeta,
        settings: &Settings,
    ) -> Result<(), glib::BoolError> {
        let description = field.description();
        let (width, height) = (description.width as usize, description.height as usize);
        let (block_width, block_height) =
            (description.block_width as usize, description.block_height as usize);
        let scale = settings.scale as f32;
        let tint = |&vector: &MotionVector| {
            let (x, y) = settings.movement(vector, description).unwrap_or_default();
            self.model.components(color::of_movement(x * scale, y * scale))
        };
        self.tints.clear();
        self.tints.extend(field.vectors().iter().map(tint));
        each_component(frame, |index, mut component| {
            let rows = self.tints.chunks_exact(description.columns as usize);
            for (y, row) in (0..height).step_by(block_height).zip(rows) {
                for (x, tint) in (0..width).step_by(block_width).zip(row) {
                    let columns = x..(x + block_width).min(width);
                    let rows = y..(y + block_height).min(height);
                    component.tint(columns, rows, tint[index], TINT_OPACITY);
                }
            }
        })?;
        if settings.legend { self.draw_legend(frame) } else { Ok(()) }
    }

    /// Draws the colour of every movement up to full brightness, in a disc at the bottom right.
    fn draw_legend(
        &mut self,
        frame: &mut gst_video::VideoFrameRef<&mut gst::BufferRef>,
    ) -> Result<(), glib::BoolError> {
        let (width, height) = (frame.width() as usize, frame.height() as usize);
        if self.legend.is_empty() {
            self.legend = legend(&self.model, width, height);
        }
        each_component(frame, |index, mut component| {
            for &(x, y, color) in &self.legend {
                let (right, bottom) = ((x + LEGEND_SQUARE).min(width), (y + LEGEND_SQUARE).min(height));
                component.tint(x..right, y..bottom, color[index], 255);
            }
        })
    }

    fn draw_devices(
        &mut self,
        frame: &mut gst_video::VideoFrameRef<&mut gst::BufferRef>,
        field: &MotionVectorMeta,
    ) -> Result<(), glib::BoolError> {
        let Some(devices) = field.devices() else { return Ok(()) };
        let description = field.description();
        let (width, height) = (description.width as usize, description.height as usize);
        let side = description.block_height as usize;
        self.tints.clear();
        let tint = |&device: &u8| self.model.components(color::of_device(device));
        self.tints.extend(devices.rows().iter().map(tint));
        each_component(frame, |index, mut component| {
            for (y, tint) in (0..height).step_by(side).zip(&self.tints) {
                component.tint(0..width, y..(y + side).min(height), tint[index], DEVICE_OPACITY);
            }
        })
    }
}

/// The squares of the legend in a frame of this size.
fn legend(model: &Model, width: usize, height: usize) -> Vec<(usize, usize, [u8; 4])> {
    let radius = (width.min(height) / 10).clamp(1, LEGEND_RADIUS);
    let middle = [width, height].map(|size| size.saturating_sub(radius + radius / 4) as f32);
    let squares = |size: usize| {
        (size.saturating_sub(3 * radius) / LEGEND_SQUARE * LEGEND_SQUARE..size).step_by(LEGEND_SQUARE)
    };
    let of_square = |(x, y): (usize, usize)| {
        let middle_of = |start: usize| (start + LEGEND_SQUARE / 2) as f32;
        let (right, down) = (middle_of(x) - middle[0], middle_of(y) - middle[1]);
        let unit = color::FULL_LENGTH / radius as f32;
        let color = model.components(color::of_movement(right * unit, down * unit));
        (right.hypot(down) <= radius as f32).then_some((x, y, color))
    };
    let places = squares(height).flat_map(|y| squares(width).map(move |x| (x, y)));
    places.filter_map(of_square).collect()
}

/// The middle of the visible part of a block, along one axis.
fn middle_of_block(index: usize, side: u32, size: u32) -> f32 {
    let start = index as f32 * side as f32;
    (start + (start + side as f32).min(size as f32)) / 2.0
}

/// The colour model of `info`.
fn model_of(info: &gst_video::VideoInfo) -> Model {
    if info.format_info().is_rgb() {
        return Model::Rgb;
    }
    let colorimetry = info.colorimetry();
    // Without a known matrix, assume BT.601.
    let (kr, kb) = colorimetry.matrix().kr_kb().unwrap_or((0.299, 0.114));
    let range = match colorimetry.range() {
        gst_video::VideoColorRange::Unknown => gst_video::VideoColorRange::Range16_235,
        range => range,
    };
    let (offset, scale) = info.format_info().range_offsets(range);
    // Colours are values of eight bits; components of deeper samples scale them.
    let unit = (1 << (info.comp_depth(0) - 8)) as f32;
    let first_three = |of: [i32; 4]| [of[0] as f32 / unit, of[1] as f32 / unit, of[2] as f32 / unit];
    Model::Yuv { kr: kr as f32, kb: kb as f32, offset: first_three(offset), scale: first_three(scale) }
}

/// Calls `draw` with the index and samples of every component of `frame`.
fn each_component(
    frame: &mut gst_video::VideoFrameRef<&mut gst::BufferRef>,
    mut draw: impl FnMut(usize, Component<'_>),
) -> Result<(), glib::BoolError> {
    let format = frame.format_info();
    for component in 0..frame.n_components() {
        let index = component as usize;
        let pixel_stride = format.pixel_stride()[index] as usize;
        let (width, height) = (frame.comp_width(component) as usize, frame.comp_height(component) as usize);
        let shift = (format.w_sub()[index], format.h_sub()[index]);
        let (depth, lower) = (format.depth()[index], format.shift()[index]);
        let deep = (depth > 8).then(|| SampleFormat::new(depth, lower)).transpose();
        let deep = deep.map_err(|error| glib::bool_error!("{error}"))?;
        // GStreamer has 1 for the second component of two that alternate, also where it begins with the third byte.
        let offset = (format.poffset()[index] as usize).next_multiple_of(if deep.is_some() { 2 } else { 1 });
        let plane = samples_mut(frame, format.plane()[index] as usize);
        let (samples, stride) = plane.map_err(|error| glib::bool_error!("the frame has {error}"))?;
        let samples = samples.get_mut(offset..).unwrap_or_default();
        draw(index, Component { samples, stride, pixel_stride, width, height, shift, deep });
    }
    Ok(())
}

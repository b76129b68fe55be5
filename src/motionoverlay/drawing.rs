//! The styles in which a motion field is drawn.

use super::arrows::{Arrow, ArrowLayer};
use super::canvas::Component;
use super::color::{self, Model, Rgb};
use super::settings::OverlaySettings;
use crate::camera::RegionMotion;
use crate::meta::MotionVectorMeta;
use crate::video::frame::WritableFrame;
use motion_frames::quantizer::MACROBLOCK;
use motion_search::estimator::{MotionVector, SampleFormat};

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

/// Draws motion fields into frames of one format and size.
pub struct Drawing {
    model: Model,
    /// Created when the first arrows are drawn.
    arrows: Option<ArrowLayer>,
    /// The value of each component, per block or per row of blocks.
    tints: Vec<[u8; 4]>,
    /// The squares of the legend, computed when it is first drawn: column, row and value of each component.
    legend: Vec<(usize, usize, [u8; 4])>,
}

impl Drawing {
    /// For frames of `info`.
    pub fn new(info: &gst_video::VideoInfo) -> Self {
        Self { model: model_of(info), arrows: None, tints: Vec::new(), legend: Vec::new() }
    }

    /// Draws an arrow for each block.
    pub fn draw_arrows(
        &mut self,
        frame: &mut WritableFrame<'_>,
        field: &MotionVectorMeta,
        settings: &OverlaySettings,
    ) -> Result<(), glib::BoolError> {
        let layer = match &mut self.arrows {
            Some(layer) => layer,
            none => none.insert(
                ArrowLayer::new(frame.info().width(), frame.info().height())
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

    /// Tints each block.
    pub fn draw_tints(
        &mut self,
        frame: &mut WritableFrame<'_>,
        field: &MotionVectorMeta,
        settings: &OverlaySettings,
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
    fn draw_legend(&mut self, frame: &mut WritableFrame<'_>) -> Result<(), glib::BoolError> {
        let (width, height) = (frame.info().width() as usize, frame.info().height() as usize);
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

    /// Tints each row of blocks by the device that searched it.
    pub fn draw_devices(
        &mut self,
        frame: &mut WritableFrame<'_>,
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

    /// Draws a line around each region.
    pub fn draw_regions(
        &mut self,
        frame: &mut WritableFrame<'_>,
        regions: &[RegionMotion],
    ) -> Result<(), glib::BoolError> {
        let (width, height) = (frame.info().width() as usize, frame.info().height() as usize);
        // Of two samples of chroma at least, and about the same in frames of any size.
        let line = (height / 270).max(1) * 2;
        let model = self.model;
        each_component(frame, |index, mut component| {
            for region in regions {
                let (x, y, across, down) = region.rect;
                let end = |start: u32, length: u32, most: usize| {
                    (start as usize).saturating_add(length as usize).min(most)
                };
                let (left, right) = ((x as usize).min(width), end(x, across, width));
                let (top, bottom) = ((y as usize).min(height), end(y, down, height));
                let color = model.components(color::of_device((region.id % 8) as u8))[index];
                let (upper, lower) = ((top + line).min(bottom), bottom.saturating_sub(line).max(top));
                let (inner, outer) = ((left + line).min(right), right.saturating_sub(line).max(left));
                let (middle, thin) = (upper..lower.max(upper), lower.max(upper)..bottom);
                for (columns, rows) in [
                    (left..right, top..upper),
                    (left..right, thin),
                    (left..inner, middle.clone()),
                    (outer.max(inner)..right, middle),
                ] {
                    if !columns.is_empty() && !rows.is_empty() {
                        component.tint(columns, rows, color, 255);
                    }
                }
            }
        })
    }

    /// Tints each macroblock by the offset of its quantiser, row-major in so many columns.
    pub fn draw_offsets(
        &mut self,
        frame: &mut WritableFrame<'_>,
        (offsets, columns): (&[f32], usize),
    ) -> Result<(), glib::BoolError> {
        let size = (frame.info().width() as usize, frame.info().height() as usize);
        let end = |start: usize, size: usize| (start + MACROBLOCK).min(size);
        let model = self.model;
        each_component(frame, |index, mut component| {
            for (place, &offset) in offsets.iter().enumerate() {
                let (x, y) = (place % columns * MACROBLOCK, place / columns * MACROBLOCK);
                let (color, share) = color::of_offset(offset);
                let opacity = (f32::from(TINT_OPACITY) * share) as u8;
                component.tint(x..end(x, size.0), y..end(y, size.1), model.components(color)[index], opacity);
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
    frame: &mut WritableFrame<'_>,
    mut draw: impl FnMut(usize, Component<'_>),
) -> Result<(), glib::BoolError> {
    let info = frame.info().clone();
    let format = info.format_info();
    for component in 0..info.n_components() as u8 {
        let index = usize::from(component);
        let pixel_stride = format.pixel_stride()[index] as usize;
        let (width, height) = (info.comp_width(component) as usize, info.comp_height(component) as usize);
        let shift = (format.w_sub()[index], format.h_sub()[index]);
        let (depth, lower) = (format.depth()[index], format.shift()[index]);
        let deep = (depth > 8).then(|| SampleFormat::new(depth, lower)).transpose();
        let deep = deep.map_err(|error| glib::bool_error!("{error}"))?;
        // GStreamer has 1 for the second component of two that alternate, also where it begins with the third byte.
        let offset = (format.poffset()[index] as usize).next_multiple_of(if deep.is_some() { 2 } else { 1 });
        let plane = frame.samples_mut(format.plane()[index] as usize);
        let (samples, stride) = plane.map_err(|error| glib::bool_error!("the frame has {error}"))?;
        let samples = samples.get_mut(offset..).unwrap_or_default();
        draw(index, Component { samples, stride, pixel_stride, width, height, shift, deep });
    }
    Ok(())
}

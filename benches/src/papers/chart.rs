//! The papers' figures again, as SVG: lines over frame sizes, or bars.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

/// How the figures of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Lines,
    Bars,
}

/// Figures over the chart's categories.
pub struct Series {
    pub name: String,
    /// One figure per category. Those missing or not above zero are not drawn: the axis is logarithmic.
    pub values: Vec<Option<f64>>,
    /// Whether they are the paper's.
    pub printed: bool,
}

/// A figure of a paper.
pub struct Chart<'a> {
    pub title: String,
    /// The unit of the logarithmic axis.
    pub unit: &'a str,
    pub categories: Vec<String>,
    pub series: Vec<Series>,
    pub shape: Shape,
}

/// The colours of our series. Those of the paper's are greys.
const OURS: [RGBColor; 8] = [
    RGBColor(0, 92, 175),
    RGBColor(214, 73, 42),
    RGBColor(0, 135, 90),
    RGBColor(134, 65, 158),
    RGBColor(196, 138, 0),
    RGBColor(0, 148, 173),
    RGBColor(176, 36, 102),
    RGBColor(92, 92, 0),
];

impl Chart<'_> {
    /// Draws it into `path`. Returns `false` if there is no figure to draw.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<bool, Box<dyn Error>> {
        let figures = || self.series.iter().flat_map(|series| series.values.iter().flatten());
        let low = figures().copied().filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
        let high = figures().copied().fold(0.0, f64::max);
        if low > high {
            return Ok(false);
        }
        let (low, high) = (low / 1.5, high * 1.5);
        let area = SVGBackend::new(path, (1120, 480)).into_drawing_area();
        area.fill(&WHITE)?;
        let (plot, key) = area.split_horizontally(820);
        let count = self.categories.len();
        let mut chart = ChartBuilder::on(&plot)
            .caption(&self.title, ("sans-serif", 17))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..count as f64, (low..high).log_scale())?;
        let name = |x: &f64| {
            let is_middle = (x.fract() - 0.5).abs() < 0.01;
            let name = self.categories.get(*x as usize).filter(|_| is_middle);
            name.cloned().unwrap_or_default()
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(2 * count + 1)
            .x_label_style(("sans-serif", 10))
            .x_label_formatter(&name)
            .y_label_formatter(&|value| crate::papers::table::digits(*value))
            .y_desc(self.unit)
            .light_line_style(RGBColor(240, 240, 240))
            .draw()?;

        let mut colours = OURS.iter().cycle();
        let printed = self.series.iter().filter(|series| series.printed).count();
        let mut grey = 0;
        for (index, series) in self.series.iter().enumerate() {
            let colour = if series.printed {
                grey += 1;
                let level = (70 + 130 * (grey - 1) / printed.max(1)) as u8;
                RGBColor(level, level, level)
            } else {
                *colours.next().unwrap_or(&BLACK)
            };
            let figures: Vec<(usize, f64)> = series
                .values
                .iter()
                .enumerate()
                .filter_map(|(i, value)| value.filter(|&value| value > 0.0).map(|value| (i, value)))
                .collect();
            let width = if series.printed { 1 } else { 2 };
            let style = colour.stroke_width(width);
            match self.shape {
                Shape::Lines => {
                    let points = figures.iter().map(|&(i, value)| (i as f64 + 0.5, value));
                    chart.draw_series(LineSeries::new(points, style).point_size(2))?;
                }
                Shape::Bars => {
                    let bar = 0.8 / self.series.len() as f64;
                    let left = 0.1 + bar * index as f64;
                    chart.draw_series(figures.iter().map(|&(i, value)| {
                        let x = i as f64 + left;
                        Rectangle::new([(x, low), (x + 0.92 * bar, value)], colour.filled())
                    }))?;
                }
            }
            // The key is beside the plot, so that it covers nothing.
            let y = 48 + 18 * index as i32;
            key.draw(&Rectangle::new([(0, y), (18, y + 4)], colour.filled()))?;
            key.draw(&Text::new(series.name.as_str(), (26, y - 4), ("sans-serif", 12)))?;
        }
        area.present()?;
        Ok(true)
    }
}

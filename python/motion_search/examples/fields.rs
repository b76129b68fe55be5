//! What the Rust library finds, for the tests of the Python package: `fields WIDTH HEIGHT BITS NAME=VALUE…`, with the samples of the
//! current frame and of the reference frame on standard input. The vectors, the predictors and the costs go to standard output.
//! Fails if the vectors are not those of the definition.

use std::error::Error;
use std::io::{Read, Write, stdin, stdout};
use std::sync::Arc;

use motion_search::estimator::{SampleFormat, oracle};
use motion_search::{
    Algorithm, Border, CostKind, Frame, Metric, MotionSearch, Prediction, Quality, SubSample,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [width, height, bits, settings @ ..] = &arguments[..] else { return Err("too few arguments".into()) };
    let (width, height, bits) = (width.parse()?, height.parse()?, bits.parse()?);
    let mut builder = MotionSearch::builder(width, height).bit_depth(bits).device("native");
    for setting in settings {
        let (name, value) = setting.split_once('=').ok_or("no NAME=VALUE")?;
        let numbers = || value.split(',').map(str::parse).collect::<Result<Vec<i32>, _>>();
        builder = match (name, value) {
            ("algorithm", "hierarchical") => builder.algorithm(Algorithm::Hierarchical),
            ("algorithm", "full") => builder.algorithm(Algorithm::Full),
            ("algorithm", "three-step") => builder.algorithm(Algorithm::ThreeStep),
            ("block_size", _) => builder.block_size(value.parse()?),
            ("quality", "fast") => builder.quality(Quality::Fast),
            ("quality", "balanced") => builder.quality(Quality::Balanced),
            ("quality", "high") => builder.quality(Quality::High),
            ("search_range", _) => match numbers()?[..] {
                [x, y] => builder.search_range(x as u32, y as u32),
                _ => return Err("search_range=X,Y".into()),
            },
            ("search_window", _) => match numbers()?[..] {
                [x0, x1, y0, y1] => builder.search_window(x0..=x1, y0..=y1),
                _ => return Err("search_window=X0,X1,Y0,Y1".into()),
            },
            ("sub_sample", "half") => builder.sub_sample(SubSample::Half),
            ("sub_sample", "quarter") => builder.sub_sample(SubSample::Quarter),
            ("metric", "ssd") => builder.metric(Metric::Ssd),
            ("border", "restrict") => builder.border(Border::Restrict),
            ("prediction", "median") => builder.prediction(Prediction::Median),
            ("costs", _) => builder.costs(
                CostKind::ALL.into_iter().filter(|kind| value.split(',').any(|name| name == kind.name())),
            ),
            _ => return Err(format!("{setting} is not known").into()),
        };
    }
    let format = SampleFormat::new(bits, 0)?;
    let frame = || -> Result<Frame, Box<dyn Error>> {
        let mut samples = vec![0; width * height * format.bytes()];
        stdin().read_exact(&mut samples)?;
        Ok(Frame::with_format(Arc::new(samples), (width, height), width * format.bytes(), format)?)
    };
    let (current, reference) = (frame()?, frame()?);
    let mut search = builder.build()?;
    let field = search.search(&current, &reference)?;
    let defined = oracle::search(search.parameters(), &current.view(), &reference.view());
    if field.vectors != defined.vectors {
        return Err("the library does not find what the oracle finds".into());
    }
    let mut out = stdout().lock();
    out.write_all(bytemuck::cast_slice(&field.vectors))?;
    for predictor in &field.predictors {
        out.write_all(bytemuck::cast_slice(&[predictor.x, predictor.y]))?;
    }
    out.write_all(bytemuck::cast_slice(&field.costs))?;
    Ok(())
}

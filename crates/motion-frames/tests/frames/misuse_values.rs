//! Misuse of the oracles and of what computes values. See `misuse`.

use motion_frames::compensation::{self, CompensationError, Field, Sampling};
use motion_frames::denoising::{self, MOST_REFERENCES, Reference, Strength};
use motion_frames::duplicates::DuplicateFinder;
use motion_frames::interpolation::{self, FrameQuality, Phase};
use motion_search::estimator::{Frame, FrameView};
use test_support::misuse::{VECTORS, deep, frame, parameters, small};
use test_support::{fails, panics};

#[test]
fn oracles_of_compensation() {
    let (frame, small, deep) = (frame(), small(), deep());
    let (frame, small, deep) = (&frame.view(), &small.view(), &deep.view());
    let field = Field::of(&parameters(), &VECTORS).unwrap();
    let is_size = |error: &CompensationError| matches!(error, CompensationError::PlaneSize(..));
    let is_depth = |error: &CompensationError| matches!(error, CompensationError::BitDepth(..));
    fails("predict", compensation::oracle::predict(&field, Sampling::LUMA, small), is_size);
    let interleaved = Sampling { interleaved: true, ..Sampling::LUMA };
    fails("predict", compensation::oracle::predict(&field, interleaved, frame), is_size);
    fails("residual", compensation::oracle::residual(frame, small), is_size);
    fails("residual", compensation::oracle::residual(frame, deep), is_depth);
    fails("squared_error", compensation::oracle::squared_error(frame, small), is_size);
    fails("squared_error", compensation::oracle::squared_error(frame, deep), is_depth);
}

#[test]
fn oracles_of_made_frames() {
    let (frame, small, deep) = (frame(), small(), deep());
    let (one, other, deeper) = ([frame.view()], [small.view()], [deep.view()]);
    let (two, none): ([FrameView<'_>; 2], [FrameView<'_>; 0]) = ([frame.view(); 2], []);
    let luma = [Sampling::LUMA];
    let wrong = [
        ("no planes", [&none[..], &none], &luma[..], &VECTORS[..]),
        ("no next plane", [&one, &none], &luma, &VECTORS),
        ("another size", [&one, &other], &luma, &VECTORS),
        ("another depth", [&one, &deeper], &luma, &VECTORS),
        ("a plane without a sampling", [&two, &two], &luma, &VECTORS),
        ("a sampling without a plane", [&one, &one], &[Sampling::LUMA; 2], &VECTORS),
        ("a short field", [&one, &one], &luma, &VECTORS[1..]),
        ("a long field", [&one, &one], &luma, &[VECTORS[0]; 5]),
    ];
    for (name, frames, samplings, field) in wrong {
        panics(name, || {
            let quality = FrameQuality::Balanced;
            interpolation::oracle::interpolate(frames, samplings, field, quality, Phase::MIDDLE)
        });
    }

    let strength = Strength::new(1.0);
    let noise = |width| denoising::oracle::StreamNoise::new((width, 12), 8);
    let slot = Default::default();
    let reference = |planes, vectors| Reference { slot, planes, vectors, offset: -1 };
    let denoise = |width, planes: &[FrameView<'_>], references: &[Reference<'_>]| {
        denoising::oracle::denoise(&mut noise(width), &luma, planes, references, (strength, true))
    };
    let is_planes = |error: &CompensationError| matches!(error, CompensationError::Planes(1, 2));
    let is_size = |error: &CompensationError| matches!(error, CompensationError::PlaneSize(..));
    let is_depth = |error: &CompensationError| matches!(error, CompensationError::BitDepth(..));
    let is_field = |error: &CompensationError| matches!(error, CompensationError::FieldSize { .. });
    fails("two planes", denoise(16, &two, &[]), is_planes);
    fails("another size", denoise(16, &one, &[reference(&other, &VECTORS)]), is_size);
    fails("another depth", denoise(16, &one, &[reference(&deeper, &VECTORS)]), is_depth);
    fails("a short field", denoise(16, &one, &[reference(&one, &VECTORS[1..])]), is_field);
    panics("no planes", || denoise(16, &none, &[]));
    panics("noise of other frames", || denoise(64, &one, &[]));
    panics("too many", || denoise(16, &one, &[reference(&one, &VECTORS); MOST_REFERENCES + 1]));
    // Frames of any size and depth have search frames.
    let long = Frame::from_fn(1, 4000, |_, _| 1);
    assert_eq!(denoising::oracle::search_frame(&long.view()).view().width(), 1);
    assert_eq!(interpolation::oracle::search_frame(&deep.view()).view().format().depth(), 8);
}

#[test]
fn duplicates() {
    let (frame, small) = (frame(), small());
    let (one, other) = ([frame.view()], [small.view()]);
    let mut finder = DuplicateFinder::default();
    fails("another size", finder.is_duplicate(&one, &other, &[Sampling::LUMA]), |error| {
        matches!(error, CompensationError::PlaneSize(..))
    });
    let is_planes = |error: &CompensationError| matches!(error, CompensationError::Planes(..));
    fails("no next planes", finder.is_duplicate(&one, &[], &[Sampling::LUMA]), is_planes);
    fails("no previous planes", finder.is_duplicate(&[], &one, &[Sampling::LUMA]), is_planes);
    fails("no samplings", finder.is_duplicate(&one, &one, &[]), is_planes);
}

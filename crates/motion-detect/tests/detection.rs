//! Made scenes through the whole detector.

use std::time::Duration;

use motion_base::{FrameView, Grid, MotionVector};
use motion_detect::{DetectionError, Detector, Field, Mask, Region, Settings};

const WIDTH: usize = 160;
const HEIGHT: usize = 96;
const FRAME: u64 = 40_000_000;

/// A background with texture.
fn background(x: f64, y: f64) -> f64 {
    128.0 + 40.0 * (x / 9.0).sin() * (y / 7.0).cos() + 25.0 * ((x + 2.0 * y) / 23.0).sin()
}

struct Scene {
    detector: Detector,
    random: fastrand::Rng,
    noise: f64,
    time: u64,
}

impl Scene {
    fn new(noise: f64, settings: Settings) -> Self {
        let detector = Detector::new((WIDTH, HEIGHT), 0, settings).unwrap();
        Self { detector, random: fastrand::Rng::with_seed(7), noise, time: 0 }
    }

    /// Shows a frame of these samples, and returns what moves, has begun and has ended.
    fn show(&mut self, sample: impl Fn(f64, f64) -> f64) -> [Vec<Region>; 3] {
        let mut luma = Vec::with_capacity(WIDTH * HEIGHT);
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                // About normal: a sum of four.
                let noise: f64 = (0..4).map(|_| self.random.f64() - 0.5).sum::<f64>() * 1.7 * self.noise;
                luma.push((sample(x as f64, y as f64) + noise).clamp(0.0, 255.0) as u8);
            }
        }
        let view = FrameView::new(&luma, WIDTH, HEIGHT, WIDTH).unwrap();
        let observation = self.detector.observe(self.time, &view, None);
        self.time += FRAME;
        [observation.regions.clone(), observation.begun.clone(), observation.ended.clone()]
    }

    fn show_still(&mut self, frames: usize) {
        for frame in 0..frames {
            let [regions, begun, _] = self.show(background);
            assert!(regions.is_empty() && begun.is_empty(), "frame {frame}: {regions:?}");
        }
    }
}

/// A square with its left upper corner at `(left, top)`, in front of the background.
fn with_square(left: f64, top: f64, side: f64, contrast: f64) -> impl Fn(f64, f64) -> f64 {
    move |x, y| {
        let is_inside = (left..left + side).contains(&x) && (top..top + side).contains(&y);
        background(x, y) + if is_inside { contrast } else { 0.0 }
    }
}

fn overlap(region: &Region, left: f64, top: f64, side: f64) -> f64 {
    let share = |start: u32, length: u32, from: f64| {
        ((f64::from(start) + f64::from(length)).min(from + side) - f64::from(start).max(from)).max(0.0)
    };
    let both = share(region.x, region.width, left) * share(region.y, region.height, top);
    both / (f64::from(region.width) * f64::from(region.height) + side * side - both)
}

#[test]
fn nothing_moves_in_a_still_scene_with_noise() {
    for noise in [0.0, 2.0, 5.0, 10.0] {
        let mut scene = Scene::new(noise, Settings::default());
        scene.show_still(600);
        assert!((scene.detector.noise() - noise).abs() <= 0.35 * noise + 0.6, "{}", scene.detector.noise());
    }
}

#[test]
fn what_crosses_the_scene_is_one_region_from_its_fifth_frame_until_the_hold_is_over() {
    for (contrast, noise) in [(60.0, 2.0), (-40.0, 5.0), (16.0, 2.0)] {
        let mut scene = Scene::new(noise, Settings::default());
        scene.show_still(75);
        let (mut ids, mut begins) = (Vec::new(), Vec::new());
        for frame in 0..40 {
            let left = 10.0 + 3.0 * f64::from(frame);
            let [regions, begun, ended] = scene.show(with_square(left, 40.0, 16.0, contrast));
            assert!(ended.is_empty());
            begins.extend(begun.iter().map(|region| (frame, region.begin)));
            if frame >= 5 {
                let [region] = regions[..] else { panic!("contrast {contrast}, frame {frame}: {regions:?}") };
                assert!(overlap(&region, left, 40.0, 16.0) >= 0.5, "frame {frame}: {region:?}");
                ids.push(region.id);
            }
        }
        assert!(ids.iter().all(|&id| id == 1), "{ids:?}");
        assert!(matches!(begins[..], [(..=4, begin)] if begin == 75 * FRAME), "{begins:?}");
        let ends: Vec<_> = (0..40)
            .filter_map(|frame| {
                let [_, begun, ended] = scene.show(background);
                assert!(begun.is_empty());
                ended.first().map(|region| (frame, region.id))
            })
            .collect();
        assert!(matches!(ends[..], [(24..=27, 1)]), "{ends:?}");
    }
}

#[test]
fn small_things_that_travel_side_by_side_all_begin() {
    let mut scene = Scene::new(2.0, Settings::default());
    scene.show_still(75);
    let mut begun = 0;
    for frame in 0..60 {
        let moved = f64::from(frame);
        let people = move |x: f64, y: f64| {
            let is_one = (0..6).any(|index| {
                let (left, top) =
                    (10.0 + moved + 14.0 * f64::from(index % 3), 20.0 + 40.0 * f64::from(index / 3));
                (left..left + 5.0).contains(&x) && (top..top + 10.0).contains(&y)
            });
            background(x, y) + if is_one { 60.0 } else { 0.0 }
        };
        let [_, new, _] = scene.show(people);
        begun += new.len();
    }
    assert_eq!(begun, 6);
}

/// Parts of them look like the scene and are in no box: they must not be learned as what is often seen there.
#[test]
fn what_crosses_where_others_have_crossed_begins_as_early() {
    let mut scene = Scene::new(5.0, Settings::default());
    scene.show_still(75);
    for crossing in 0..12 {
        let mut begins = None;
        for frame in 0..150 {
            let left = 2.0 * f64::from(frame) - 16.0;
            let is_inside = |x: f64, y: f64| (left..left + 16.0).contains(&x) && (30.0..46.0).contains(&y);
            let [_, begun, _] = scene.show(|x, y| if is_inside(x, y) { 140.0 } else { background(x, y) });
            begins = begins.or((!begun.is_empty()).then_some(frame));
        }
        assert!(begins.is_some_and(|frame| frame <= 6), "crossing {crossing}: {begins:?}");
    }
}

/// Calm for 40 seconds after each gust of ten.
#[test]
fn gusts_in_leaves_are_remembered() {
    let mut scene = Scene::new(2.0, Settings::default());
    scene.show_still(75);
    let mut alarms = [0; 4];
    for count in &mut alarms {
        for frame in 0..250 {
            let sway = 1.5 * (f64::from(frame) * 0.036 * std::f64::consts::TAU).sin();
            let [_, begun, _] = scene.show(|x, y| {
                let is_leaf = (60.0..110.0).contains(&x) && (20.0..70.0).contains(&y);
                let bent = sway * (x / 20.0 + y / 15.0).sin();
                background(if is_leaf { x + bent } else { x }, y)
            });
            *count += begun.len();
        }
        (0..1000).for_each(|_| _ = scene.show(background));
    }
    // With a memory of half a minute, later ones give as many as the first.
    assert!(alarms[0] >= 3 && alarms[1..].iter().sum::<usize>() <= 8, "{alarms:?}");
}

/// The edges of both places are lost in texture: that nothing changes there tells which one was left.
#[test]
fn nothing_is_left_of_what_stood_in_the_scene_from_the_start_and_goes() {
    let texture = |x: f64, y: f64| 128.0 + 35.0 * (1.1 * x + (y / 5.0).sin()).sin() * (0.9 * y).cos();
    let mut scene = Scene::new(2.0, Settings::default());
    let side = 20.0;
    let mut show = |left: f64| {
        scene.show(move |x, y| {
            let is_inside = (left..left + side).contains(&x) && (40.0..40.0 + side).contains(&y);
            if is_inside { texture(y, x - left) + 10.0 } else { texture(x, y) }
        })
    };
    for _ in 0..75 {
        assert!(show(20.0)[0].is_empty());
    }
    let (mut seen, mut behind) = (0, Vec::new());
    for frame in 1..=100 {
        let left = 20.0 + f64::from(frame);
        let [regions, ..] = show(left);
        seen += usize::from(regions.iter().any(|region| overlap(region, left, 40.0, side) >= 0.3));
        if regions.iter().any(|region| f64::from(region.x + region.width) <= left) {
            behind.push(frame);
        }
    }
    // Both are apart from frame 20 on. One second at rest and the hold of another one follow.
    assert!(seen >= 90, "{seen}");
    assert!(behind.iter().all(|&frame| frame <= 75), "{behind:?}");
}

#[test]
fn what_is_open_at_the_end_ends() {
    let mut scene = Scene::new(2.0, Settings::default());
    scene.show_still(60);
    for frame in 0..10 {
        scene.show(with_square(10.0 + 3.0 * f64::from(frame), 40.0, 16.0, 50.0));
    }
    let ended: Vec<_> = scene.detector.finish().iter().map(|region| region.id).collect();
    assert_eq!(ended, [1]);
    assert!(scene.detector.finish().is_empty());
    // The next scene is another one, and its regions have other numbers.
    scene.show_still(60);
    let mut begun = Vec::new();
    for frame in 0..10 {
        let [_, new, _] = scene.show(with_square(10.0 + 3.0 * f64::from(frame), 40.0, 16.0, 50.0));
        begun.extend(new.iter().map(|region| region.id));
    }
    assert_eq!(begun, [2]);
}

#[test]
fn a_change_of_light_is_no_motion() {
    let mut scene = Scene::new(2.0, Settings::default());
    scene.show_still(75);
    for (gain, offset) in [(0.5, 0.0), (1.0, 0.0), (0.8, 30.0), (0.3, 5.0)] {
        for frame in 0..100 {
            let [regions, ..] = scene.show(|x, y| gain * background(x, y) + offset);
            assert!(regions.is_empty(), "gain {gain}, frame {frame}: {regions:?}");
        }
    }
}

#[test]
fn what_moves_while_the_light_changes_is_found() {
    let mut scene = Scene::new(2.0, Settings::default());
    scene.show_still(75);
    let mut found = 0;
    for frame in 0..40 {
        let gain = if frame < 10 { 1.0 } else { 0.6 };
        let left = 10.0 + 3.0 * f64::from(frame);
        let square = with_square(left, 40.0, 20.0, 60.0);
        let [regions, ..] = scene.show(|x, y| gain * square(x, y));
        found += usize::from(regions.iter().any(|region| overlap(region, left, 40.0, 20.0) >= 0.3));
        assert!(regions.len() <= 2, "{regions:?}");
    }
    assert!(found >= 30, "{found} of 40");
}

#[test]
fn another_scene_is_no_motion() {
    let mut scene = Scene::new(2.0, Settings::default());
    scene.show_still(75);
    for frame in 0..100 {
        let [regions, ..] = scene.show(|x, y| background(3.0 * y + 100.0, 2.0 * x));
        assert!(regions.is_empty(), "frame {frame}: {regions:?}");
    }
}

#[test]
fn motion_counts_only_inside_the_mask_and_from_the_least_size_and_duration_on() {
    let begun = |settings: Settings| {
        let mut scene = Scene::new(2.0, settings);
        scene.show_still(60);
        let begun = |frame| {
            let [_, begun, _] = scene.show(with_square(10.0 + 3.0 * f64::from(frame), 40.0, 16.0, 50.0));
            begun.len()
        };
        (0..30).map(begun).sum::<usize>()
    };
    let mask = |text| Settings { mask: Mask::parse(text).unwrap(), ..Settings::default() };
    assert_eq!(begun(mask("0,0.3 1,0.3 1,0.8 0,0.8")), 1);
    assert_eq!(begun(mask("0,0 1,0 1,0.3 0,0.3")), 0);
    assert_eq!(begun(Settings { least_size: (12, 12), ..Settings::default() }), 1);
    assert_eq!(begun(Settings { least_size: (40, 12), ..Settings::default() }), 0);
    assert_eq!(begun(Settings { least_duration: Duration::from_secs(1), ..Settings::default() }), 1);
    assert_eq!(begun(Settings { least_duration: Duration::from_secs(2), ..Settings::default() }), 0);
}

#[test]
fn a_camera_that_pans_is_measured_and_nothing_else_moves() {
    let mut scene = Scene::new(1.0, Settings::default());
    let (columns, rows) = (WIDTH / 8, HEIGHT / 8);
    // The content moves to the left by 1.5 samples a frame: it comes from the right.
    let vectors = vec![MotionVector { x: 48, y: 0, cost: 0 }; columns * rows];
    for frame in 0..100 {
        let moved = 1.5 * f64::from(frame);
        let luma: Vec<u8> = (0..WIDTH * HEIGHT)
            .map(|at| background((at % WIDTH) as f64 + moved, (at / WIDTH) as f64) as u8)
            .collect();
        let view = FrameView::new(&luma, WIDTH, HEIGHT, WIDTH).unwrap();
        let field = Field { vectors: &vectors, grid: Grid { columns, rows }, block: (8, 8), scale: 32.0 };
        let observation = scene.detector.observe(scene.time, &view, Some(field));
        scene.time += FRAME;
        assert!(observation.regions.is_empty(), "frame {frame}: {:?}", observation.regions);
        if frame > 2 {
            let [[a, b, c], [d, e, f]] = observation.camera.matrix;
            let error =
                [a - 1.0, b, d, e - 1.0].map(|v| v.abs() * WIDTH as f64).into_iter().fold(0.0, f64::max);
            assert!(
                (c + 1.5).abs() < 0.4 && f.abs() < 0.4 && error < 0.8,
                "frame {frame}: {:?}",
                observation.camera
            );
            assert!(observation.camera.following > 0.9);
        }
    }
}

#[test]
fn a_camera_that_does_not_move_is_exactly_still() {
    let mut scene = Scene::new(3.0, Settings::default());
    scene.show_still(50);
    let luma: Vec<u8> =
        (0..WIDTH * HEIGHT).map(|at| background((at % WIDTH) as f64, (at / WIDTH) as f64) as u8).collect();
    let view = FrameView::new(&luma, WIDTH, HEIGHT, WIDTH).unwrap();
    let camera = scene.detector.observe(scene.time, &view, None).camera;
    assert_eq!(camera.matrix, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
}

#[test]
fn fields_of_any_form_and_times_of_any_order_are_no_panic() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut detector = Detector::new((321, 200), 1, Settings::default()).unwrap();
    let (width, height) = detector.small_size();
    assert_eq!((width, height), (161, 100));
    for _ in 0..200 {
        let luma: Vec<u8> = match random.u8(0..4) {
            0 => vec![random.u8(..); width * height],
            1 => (0..width * height).map(|_| random.u8(..)).collect(),
            _ => (0..width * height).map(|at| (at % width) as u8).collect(),
        };
        let view = FrameView::new(&luma, width, height, width).unwrap();
        let block = random.usize(0..40);
        let grid = Grid { columns: 321usize.div_ceil(block.max(1)), rows: 200usize.div_ceil(block.max(1)) };
        let count = if random.u8(0..4) == 0 { random.usize(0..50) } else { grid.blocks() };
        let ends = [0, 1, -1, i16::MAX, i16::MIN];
        let vectors: Vec<_> = (0..count)
            .map(|_| MotionVector {
                x: ends[random.usize(0..5)],
                y: ends[random.usize(0..5)],
                cost: random.u32(..),
            })
            .collect();
        let scale = [0.0, 1e-300, 4.0, 1e300, f64::NAN, f64::INFINITY][random.usize(0..6)];
        let field = Field { vectors: &vectors, grid, block: (block, block), scale };
        let time = [0, u64::MAX, random.u64(..)][random.usize(0..3)];
        let observation = detector.observe(time, &view, Some(field));
        for region in &observation.regions {
            assert!(region.width > 0 && region.height > 0);
            assert!(region.x + region.width <= 321 && region.y + region.height <= 200, "{region:?}");
        }
        assert!(observation.camera.matrix.as_flattened().iter().all(|value| value.is_finite()));
    }
}

#[test]
fn what_cannot_be_detected_is_refused_with_what_can() {
    let settings = Settings::default;
    let refused = |size, halvings, settings| match Detector::new(size, halvings, settings) {
        Err(error) => error,
        Ok(_) => panic!("{size:?}"),
    };
    for (size, halvings) in
        [((31, 64), 0), ((64, 64), 2), ((1024, 1024), 0), ((0, 0), 0), ((usize::MAX, 2), 90)]
    {
        assert!(matches!(refused(size, halvings, settings()), DetectionError::FrameSize { .. }));
    }
    let text = refused((31, 64), 0, settings()).to_string();
    assert!(text.contains("31 x 64") && text.contains("at least 32"), "{text}");
    let error = refused((64, 64), 0, Settings { sensitivity: 1.5, ..settings() });
    assert_eq!(error.to_string(), "sensitivity 1.5 is not usable: use 0 to 1");
    assert!(matches!(
        refused((64, 64), 0, Settings { sensitivity: f64::NAN, ..settings() }),
        DetectionError::Sensitivity(_)
    ));
}

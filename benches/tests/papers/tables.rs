//! What the benchmark `papers` is made of: its arguments, tables, clips and printed figures.

use std::path::Path;
use std::time::Duration;

use motion_benches::papers::arguments::{Request, help, parse};
use motion_benches::papers::frames::{Clip, Scene};
use motion_benches::papers::table::{Cell, Column, Table, digits};
use motion_search::backend::DeviceSelector;
use test_support::gstreamer::clips::y4m;

#[test]
fn arguments_are_read_and_wrong_ones_named() {
    let Ok(Request::Run(all)) = parse(["--bench"]) else { panic!("no arguments run everything") };
    assert_eq!((&all.device, all.quick), (&None, false));
    assert!(all.wants("uta-table-1") && all.wants("bonanno-table-2"));

    let words =
        ["zhang", "--device", "1:0", "--quick", "uta-table-1", "--limit=0.5", "--clip", "a", "--clip=b"];
    let Ok(Request::Run(some)) = parse(words) else { panic!("these are arguments") };
    let wanted = ["uta-table-1", "uta-table-10", "zhang-figure-7", "zhang-figure-12", "halldal-7-1"];
    assert_eq!(wanted.map(|table| some.wants(table)), [true, false, true, true, false]);
    assert_eq!(some.device, Some(DeviceSelector::Index(1, 0)));
    assert_eq!((some.quick, some.limit), (true, Duration::from_millis(500)));
    assert_eq!(some.clips, [Path::new("a"), Path::new("b")]);

    assert_eq!(parse(["uta", "--help", "--nonsense"]), Ok(Request::Help));
    assert!(help().contains("uta-6-2-3,") && !help().contains("TABLES"), "{}", help());
    for (words, part) in [
        (&["unknown"][..], "uta, halldal, zhang, bonanno; tables uta-table-1, "),
        (&["uta-table"], "zhang-figure-12, bonanno-table-1"),
        (&["--nonsense"], "--help"),
        (&["--device"], "--help"),
        (&["--limit", "0"], "--limit 0"),
        (&["--limit", "-1"], "--limit -1"),
        (&["--limit", "soon"], "--help"),
    ] {
        let error = parse(words).unwrap_err();
        assert!(error.contains(part), "{words:?}: {error}");
    }
}

fn table() -> Table {
    Table {
        stem: "a".into(),
        title: "Title".into(),
        columns: vec![
            Column::new("", "Size"),
            Column::new("Paper", "Ref"),
            Column::new("A device of ours", "x"),
        ],
        rows: vec![
            vec![Cell::Label("16x16".into()), Cell::Printed(8.1, 2), Cell::Pair(0.12345, 1234.5)],
            vec![Cell::Label("32x32".into()), Cell::Printed(7.0, 0), Cell::Stopped],
            vec![Cell::Label("64x64".into()), Cell::Missing, Cell::Refused],
        ],
        foot: vec!["A note.".into()],
    }
}

#[test]
fn a_table_without_kernel_device_and_parameters_is_refused() {
    let with = |note: &str| Table { foot: vec![note.into()], ..table() }.check();
    assert_eq!(with("Ran here: kernel=tiled on a device. algorithm=full, block-size=16."), Ok(()));
    for (note, missing) in [
        ("A note.", "says what ran"),
        ("Ran here: a device. algorithm=full, block-size=16.", "kernel="),
        ("Ran here: kernel=tiled. algorithm=full, block-size=16.", " on "),
        ("Ran here: kernel=tiled on a device.", "block-size="),
    ] {
        let error = with(note).unwrap_err();
        assert!(error.contains(missing), "{note}: {error}");
    }
}

#[test]
fn a_table_is_aligned_under_its_groups() {
    let text = "\
Title

       Paper  A device of ours
Size     Ref                 x
16x16   8.10      0.123 / 1234
32x32      7                 -
64x64                      n/a

  A note.
";
    assert_eq!(table().text(), text);
}

#[test]
fn a_table_is_markdown_and_csv_too() {
    let markdown = table().markdown();
    assert!(
        markdown.contains("| Size | Paper Ref | A device of ours x |\n| --- | ---: | ---: |\n"),
        "{markdown}"
    );
    assert!(markdown.ends_with("\nA note.\n"), "{markdown}");
    let csv = "\
# Title
# A device; a command.
# A note.
Size,Paper Ref,\"A device of ours x, kernel\",\"A device of ours x, with transfers\"
16x16,8.10,0.12345,1234.5
32x32,7,-,-
64x64,,n/a,n/a
";
    assert_eq!(table().csv("A device; a command."), csv);
}

#[test]
fn figures_have_three_digits() {
    let figures = [(0.0, "0.00"), (0.00123, "0.00123"), (1.0, "1.00"), (99.96, "100.0"), (47813.2, "47813")];
    for (figure, text) in figures {
        assert_eq!(digits(figure), text);
    }
    assert_eq!(digits(f64::INFINITY), "∞");
}

#[test]
fn y4m_is_read_and_what_is_none_is_refused() {
    let stream = |header: &str, frame: &[u8]| {
        let mut bytes = format!("YUV4MPEG2 {header}\n").into_bytes();
        for _ in 0..2 {
            bytes.extend_from_slice(b"FRAME\n");
            bytes.extend_from_slice(frame);
        }
        bytes
    };
    // 3 x 3 of luma; chroma is 2 x 2, 2 x 3 and 3 x 3 twice, or nothing.
    for (colours, chroma) in [("", 8), (" C420mpeg2", 8), (" C422", 12), (" C444", 18), (" Cmono", 0)] {
        let frame: Vec<u8> = (1..=9).chain(vec![0; chroma]).collect();
        let bytes = stream(&format!("W3 H3 F25:1{colours}"), &frame);
        let frames = y4m(&bytes, 9).unwrap();
        assert_eq!(frames.len(), 2, "{colours}");
        assert_eq!(frames[1].view().row(2), [7, 8, 9], "{colours}");
    }
    for (header, part) in [
        ("W3 H3 C420p10", "420p10"),
        ("W3 Hx", "Hx"),
        ("W0 H3", "at least one sample"),
        ("W9 H9 Cmono", "cut off"),
        ("W4294967296 H4294967296", "too large"),
        ("W3 H3 C444", "cut off"),
        ("W3 H2 Cmono", "without a header"),
    ] {
        let error = y4m(&stream(header, &[0; 9]), 2).unwrap_err();
        assert!(error.contains(part), "{header}: {error}");
    }
    assert!(y4m(b"RIFF", 2).is_err());
    let missing = Clip::open(Path::new("no/such/clip.y4m")).map(|_| ()).unwrap_err();
    assert!(missing.starts_with("no/such/clip.y4m: "), "{missing}");
}

#[test]
fn a_shifted_scene_is_shifted() {
    let scene = Scene::shifted(160, 120, 40);
    for y in 0..80 {
        assert_eq!(scene.current.view().row(y)[..120], scene.reference.view().row(y + 40)[40..]);
    }
    let lowest = |row: &[u8]| row.iter().copied().min();
    assert_ne!(lowest(scene.reference.view().row(0)), lowest(scene.reference.view().row(100)));
}

/// Where the papers print a figure twice, or one that follows from others, the copies agree.
#[test]
fn printed_figures_agree() {
    use motion_benches::papers::printed::*;

    for (width, height, blocks) in UTA_SIZES {
        assert_eq!(width * height / 256, blocks);
    }
    for table in &UTA_TABLES {
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "table {}", table.number);
    }
    let column = |table: usize, column: usize| UTA_TABLES[table - 1].rows.map(|row| row[column]);
    // Table 3 has W = 31 on the GTX480 again; its one difference is the smallest size.
    assert_eq!(column(3, 2)[1..], column(1, 0)[1..]);
    assert_eq!(column(3, 3), column(1, 1));
    assert_eq!(column(5, 1), column(4, 1));
    assert_eq!(column(5, 2), column(4, 5));

    let psnr = |mse: f64| 10.0 * (255.0 * 255.0 / mse).log10();
    for (window, printed, mse) in UTA_SHIFTED.into_iter().chain(UTA_FILM) {
        let contradicts = (printed - psnr(mse)).abs() > 0.05;
        assert_eq!(contradicts, (window, printed) == (55, 29.53), "W = {window}: {printed}, {mse}");
    }
    let speedups = BONANNO_BLOCKS.iter().map(|row| row.1).chain(BONANNO_SIZES.iter().map(|row| row.2));
    for [serial, _, optimised, speedup] in speedups {
        assert!((serial / optimised - speedup).abs() < 0.03, "{serial} / {optimised} is not {speedup}");
    }
}

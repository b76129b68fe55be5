//! The figures of the papers, as printed. All of them are legible.

/// A table of times in milliseconds over the thesis' frame sizes.
pub struct UtaTable {
    pub number: usize,
    pub caption: &'static str,
    /// The heading of the group and of the column.
    pub columns: &'static [(&'static str, &'static str)],
    /// One row per size of [`UTA_SIZES`], one figure per column.
    pub rows: [&'static [f64]; 13],
}

/// Width, height and number of macroblocks. The text of chapter 8 names fourteen sizes, 2048x1080
/// twice; the tables have these. The macroblocks of 1920x1080 and 2048x1080 are the area by 256.
pub const UTA_SIZES: [(usize, usize, usize); 13] = [
    (176, 144, 99),
    (256, 192, 192),
    (352, 288, 396),
    (352, 480, 660),
    (720, 480, 1350),
    (1280, 720, 3600),
    (1920, 1080, 8100),
    (2048, 1080, 8640),
    (2560, 1920, 19200),
    (4096, 2048, 32768),
    (4096, 3072, 49152),
    (7680, 4320, 129600),
    (7680, 7680, 230400),
];

/// Uta, tables 1 to 5, and 8. The size of 99 macroblocks is 146x144 in table 8, and 176x144 elsewhere.
#[rustfmt::skip]
pub const UTA_TABLES: [UtaTable; 6] = [
    UtaTable {
        number: 1,
        caption: "Scalability with Input Size - Search Window 31",
        columns: &[
            ("GTX480", "Ref"),
            ("GTX480", "Collab"),
            ("HD6970", "Ref"),
            ("HD6970", "Collab"),
        ],
        rows: [
            &[0.0, 1.0, 2.0, 4.0],
            &[1.0, 1.0, 3.0, 4.0],
            &[1.0, 2.0, 5.0, 6.0],
            &[2.0, 2.0, 6.0, 8.0],
            &[4.0, 4.0, 10.0, 9.0],
            &[11.0, 9.0, 23.0, 24.0],
            &[26.0, 20.0, 37.0, 33.0],
            &[28.0, 21.0, 44.0, 26.0],
            &[63.0, 38.0, 73.0, 51.0],
            &[106.0, 64.0, 120.0, 67.0],
            &[158.0, 94.0, 171.0, 90.0],
            &[415.0, 246.0, 423.0, 231.0],
            &[717.0, 457.0, 740.0, 308.0],
        ],
    },
    UtaTable {
        number: 2,
        caption: "Scalability with Input Size, Search Window 47, Platform Comparison",
        columns: &[
            ("OpenCL", "RefGPU_GTX"),
            ("OpenCL", "CollabGPU_GTX"),
            ("OpenCL", "CollabGPU_HD"),
            ("CUDA", "RefGPU_GTX"),
            ("CUDA", "CollabGPU_GTX"),
        ],
        rows: [
            &[1.0, 2.0, 8.0, 0.0, 4.0],
            &[2.0, 3.0, 10.0, 1.0, 4.0],
            &[4.0, 5.0, 13.0, 2.0, 6.0],
            &[7.0, 8.0, 17.0, 4.0, 7.0],
            &[14.0, 15.0, 19.0, 9.0, 12.0],
            &[37.0, 29.0, 43.0, 24.0, 24.0],
            &[83.0, 70.0, 66.0, 55.0, 54.0],
            &[88.0, 64.0, 64.0, 59.0, 54.0],
            &[197.0, 139.0, 134.0, 132.0, 119.0],
            &[336.0, 238.0, 204.0, 225.0, 204.0],
            &[503.0, 355.0, 269.0, 338.0, 306.0],
            &[1335.0, 951.0, 557.0, 909.0, 810.0],
            &[2372.0, 1787.0, 961.0, 1616.0, 1439.0],
        ],
    },
    UtaTable {
        number: 3,
        caption: "Scalability with Search Window Size",
        columns: &[
            ("W=25", "Ref"),
            ("W=25", "Collab"),
            ("W=31", "Ref"),
            ("W=31", "Collab"),
            ("W=36", "Ref"),
            ("W=36", "Collab"),
            ("W=40", "Ref"),
            ("W=40", "Collab"),
        ],
        rows: [
            &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0],
            &[0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0],
            &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0],
            &[1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0],
            &[2.0, 3.0, 4.0, 4.0, 7.0, 7.0, 10.0, 9.0],
            &[6.0, 5.0, 11.0, 9.0, 18.0, 14.0, 26.0, 19.0],
            &[16.0, 11.0, 26.0, 20.0, 42.0, 35.0, 59.0, 47.0],
            &[17.0, 11.0, 28.0, 21.0, 45.0, 35.0, 63.0, 49.0],
            &[38.0, 22.0, 63.0, 38.0, 101.0, 65.0, 141.0, 90.0],
            &[64.0, 37.0, 106.0, 64.0, 171.0, 111.0, 240.0, 151.0],
            &[96.0, 54.0, 158.0, 94.0, 256.0, 165.0, 360.0, 225.0],
            &[250.0, 137.0, 415.0, 246.0, 674.0, 433.0, 946.0, 593.0],
            &[423.0, 264.0, 717.0, 457.0, 1175.0, 790.0, 1659.0, 1075.0],
        ],
    },
    UtaTable {
        number: 4,
        caption: "CPU Methods Comparison - Variation of Number of Threads per Block",
        columns: &[
            ("CollabCPU_opt", "T=2"),
            ("CollabCPU_opt", "T=4"),
            ("CollabCPU_opt", "T=8"),
            ("CollabCPU_unaligned", "T=2"),
            ("CollabCPU_unaligned", "T=4"),
            ("CollabCPU_unaligned", "T=8"),
        ],
        rows: [
            &[11.0, 11.0, 13.0, 7.0, 7.0, 7.0],
            &[20.0, 21.0, 24.0, 13.0, 13.0, 13.0],
            &[43.0, 44.0, 48.0, 28.0, 33.0, 27.0],
            &[71.0, 73.0, 80.0, 45.0, 44.0, 44.0],
            &[148.0, 151.0, 164.0, 95.0, 92.0, 91.0],
            &[404.0, 404.0, 440.0, 260.0, 249.0, 246.0],
            &[908.0, 903.0, 984.0, 629.0, 582.0, 573.0],
            &[966.0, 965.0, 1052.0, 664.0, 617.0, 591.0],
            &[2127.0, 2133.0, 2319.0, 1497.0, 1435.0, 1394.0],
            &[3732.0, 3712.0, 4061.0, 3771.0, 2786.0, 2454.0],
            &[6450.0, 5976.0, 6473.0, 5737.0, 4596.0, 4026.0],
            &[19729.0, 16981.0, 17163.0, 15280.0, 11843.0, 11131.0],
            &[34953.0, 30121.0, 30644.0, 27069.0, 21160.0, 20352.0],
        ],
    },
    UtaTable {
        number: 5,
        caption: "Comparison of CPU Methods",
        columns: &[
            ("", "RefCPU_opt"),
            ("", "CollabCPU_opt (T=4)"),
            ("", "CollabCPU_unal (T=8)"),
        ],
        rows: [
            &[30.0, 11.0, 7.0],
            &[48.0, 21.0, 13.0],
            &[92.0, 44.0, 27.0],
            &[149.0, 73.0, 44.0],
            &[293.0, 151.0, 91.0],
            &[769.0, 404.0, 246.0],
            &[1707.0, 903.0, 573.0],
            &[1829.0, 965.0, 591.0],
            &[4054.0, 2133.0, 1394.0],
            &[6888.0, 3712.0, 2454.0],
            &[10426.0, 5976.0, 4026.0],
            &[27373.0, 16981.0, 11131.0],
            &[48513.0, 30121.0, 20352.0],
        ],
    },
    UtaTable {
        number: 8,
        caption: "Multi-CPU Scalability, W=47",
        columns: &[
            ("", "RefCPU_opt"),
            ("", "CollabCPU_unaligned_opt (T=256)"),
        ],
        rows: [
            &[14.0, 3.0],
            &[19.0, 5.0],
            &[31.0, 10.0],
            &[45.0, 16.0],
            &[81.0, 31.0],
            &[199.0, 72.0],
            &[436.0, 149.0],
            &[439.0, 167.0],
            &[1028.0, 907.0],
            &[1712.0, 1370.0],
            &[2560.0, 2335.0],
            &[6871.0, 10268.0],
            &[13573.0, 19400.0],
        ],
    },
];

/// A table of times in milliseconds over the last of the thesis' frame sizes, on 1, 2, 4 and 8 GPUs.
pub struct UtaScaling {
    pub number: usize,
    pub caption: &'static str,
    pub window: usize,
    /// A row a size, the last of [`UTA_SIZES`].
    pub rows: &'static [[f64; 4]],
}

/// Uta's numbers of GPUs.
pub const UTA_GPUS: [usize; 4] = [1, 2, 4, 8];

/// Uta, tables 6 and 7: GTX580, `collaborative`.
#[rustfmt::skip]
pub const UTA_SCALING: [UtaScaling; 2] = [
    UtaScaling {
        number: 6,
        caption: "Multi-GPU Scalability, W=47",
        window: 47,
        rows: &[
            [2.0, 2.0, 4.0, 10.0],
            [3.0, 2.0, 5.0, 13.0],
            [5.0, 4.0, 6.0, 14.0],
            [8.0, 6.0, 9.0, 16.0],
            [13.0, 8.0, 10.0, 19.0],
            [25.0, 16.0, 17.0, 27.0],
            [59.0, 35.0, 28.0, 36.0],
            [54.0, 32.0, 27.0, 35.0],
            [118.0, 69.0, 50.0, 62.0],
            [199.0, 114.0, 80.0, 87.0],
            [300.0, 166.0, 117.0, 130.0],
            [787.0, 440.0, 300.0, 305.0],
            [1408.0, 770.0, 522.0, 528.0],
        ],
    },
    UtaScaling {
        number: 7,
        caption: "Multi-GPU Scalability, W=70",
        window: 70,
        rows: &[
            [68.0, 44.0, 30.0, 34.0],
            [183.0, 97.0, 62.0, 51.0],
            [182.0, 96.0, 59.0, 51.0],
            [331.0, 173.0, 104.0, 86.0],
            [563.0, 295.0, 171.0, 137.0],
            [847.0, 441.0, 251.0, 197.0],
            [2252.0, 1168.0, 708.0, 510.0],
            [4002.0, 2079.0, 1162.0, 851.0],
        ],
    },
];

/// Uta, 8.5.2, at 256x192: milliseconds of the HD6970 alone, of the Xeon alone, and of both together, of
/// which 7 are the wait in `pthread_join`.
pub const UTA_CPU_GPU: (usize, [f64; 3]) = (1, [13.0, 13.0, 14.0]);

/// A row of Uta's tables 9 and 10: window, PSNR in dB, MSE.
pub type Quality = (usize, f64, f64);

/// Uta, table 9: a frame shifted by 40 samples both ways, 1280x720.
pub const UTA_SHIFTED: [Quality; 5] =
    [(31, 15.02, 2042.77), (35, 15.84, 1691.45), (47, 47.64, 1.11), (55, 47.64, 1.11), (79, 47.64, 1.11)];

/// Uta, table 10: consecutive frames of a film, 1920x1080. The PSNR printed for W = 55 is not that
/// of the MSE beside it, which is 29.90 dB.
pub const UTA_FILM: [Quality; 5] =
    [(31, 18.10, 1006.79), (35, 19.47, 733.53), (47, 29.31, 76.13), (55, 29.53, 66.53), (79, 30.81, 53.87)];

/// Halldal, 7.1: frames a second on the CPU, "approximately".
pub const HALLDAL_SEARCH_CPU: f64 = 0.5;

/// Halldal, 7.1: the form of the search, frames a second on the GTX480 and on the GT280. For
/// 29 x 15 on the GTX480 section 7.1.2 has 34 under that heading and 35.4 under the next.
pub const HALLDAL_SEARCH: [(&str, Option<f64>, Option<f64>); 3] = [
    ("29 x 29", Some(17.4), None),
    ("29 x 15", Some(34.0), Some(3.9)),
    ("29 x 15, shared memory", Some(32.0), Some(18.5)),
];

/// Halldal, 7.2.1: frames a second on the CPU, "approximately".
pub const HALLDAL_PREDICTION_CPU: f64 = 1470.0;

/// Halldal, 7.2: the form of the prediction, frames a second on the GTX480 and on the GT280, which
/// he calls GTX280 as well.
#[cfg_attr(not(feature = "opencl"), allow(dead_code))]
pub const HALLDAL_PREDICTION: [(&str, f64, f64); 4] = [
    ("one thread", 21.7, 4.4),
    ("host managed", 71.0, 90.0),
    ("kernel managed", 153.0, 270.0),
    ("host managed, several blocks", 120.0, 103.0),
];

/// Zhang, figure 7 as section III-C gives it: sequence, width, height. The paper calls the last one
/// "Mobal_ter".
pub const ZHANG_SEQUENCES: [(&str, usize, usize); 3] =
    [("Foreman (CIF)", 352, 288), ("City (4CIF)", 704, 576), ("Mobcal (720p)", 1280, 720)];

/// Zhang, figure 7: the platform, and frames a second for each of [`ZHANG_SEQUENCES`].
pub const ZHANG: [(&str, [f64; 3]); 4] = [
    ("C code, one core", [7.5, 1.7, 0.6]),
    ("OpenCL, I7 2630qm", [107.0, 19.0, 7.6]),
    ("OpenCL, GT540m", [355.0, 88.0, 38.0]),
    ("OpenCL, HD6870", [775.0, 200.0, 89.0]),
];

/// A row of Bonanno's tables: serial, parallel and optimised parallel time in seconds, and the
/// speedup.
pub type Speedup = [f64; 4];

/// Bonanno, table 1: the block size, at 1280x720.
pub const BONANNO_BLOCKS: [(usize, Speedup); 3] = [
    (4, [4.6693, 0.1677, 0.1447, 32.27]),
    (8, [2.2221, 0.1453, 0.1375, 16.16]),
    (20, [1.0810, 0.1506, 0.1216, 8.890]),
];

/// Bonanno, table 2: width and height. The caption has blocks of 8x8, section V of 20x20; the times
/// of 1280x720 are those of 8x8 in table 1.
pub const BONANNO_SIZES: [(usize, usize, Speedup); 4] = [
    (640, 360, [0.5321, 0.1147, 0.0996, 5.32]),
    (848, 480, [1.0370, 0.1318, 0.1128, 9.19]),
    (1280, 720, [2.2092, 0.1421, 0.1375, 16.07]),
    (1920, 1080, [4.87486, 0.1871, 0.1735, 28.10]),
];

/// Zhang, IV-C: how many of the 300 frames of the sequence the CPU gets where (7) holds; the bars of figure 12 have no
/// figures. Equation (7) itself gives 103.7.
pub const ZHANG_FOR_CPU: f64 = 105.0;

//! Where motion counts.

/// The part of the frame in which motion counts.
#[derive(Clone, Debug, PartialEq)]
pub enum Mask {
    /// Inside any of these polygons, whose corners are shares of the frame's width and height: 0 to 1.
    Polygons(Vec<Vec<(f64, f64)>>),
    /// Where a sample of this picture, which is stretched over the frame, is half of the brightest or more.
    Picture {
        /// Samples a row.
        width: usize,
        /// Rows.
        height: usize,
        /// Whether motion counts, row-major.
        counts: Vec<bool>,
    },
}

/// Why a mask cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MaskError {
    /// A corner that is not two numbers from 0 to 1.
    #[error(
        "\"{0}\" is no corner of a mask: use x,y as shares of the frame from 0 to 1, corners separated by spaces and polygons by \
         semicolons, such as 0,0.5 1,0.5 1,1 0,1"
    )]
    Corner(String),
    /// A polygon without area.
    #[error("a polygon of a mask has {0} corners: use at least 3")]
    Corners(usize),
    /// Bytes that are no PGM.
    #[error("the mask is no PGM file: {0}; save it as binary PGM (P5) with 8 bits a sample")]
    Pgm(&'static str),
}

/// The most samples of a picture.
const MOST_SAMPLES: usize = 1 << 26;

impl Mask {
    /// Reads polygons: corners `x,y` separated by spaces, polygons by semicolons. `None` of an empty text.
    ///
    /// # Errors
    /// [`MaskError::Corner`], [`MaskError::Corners`].
    pub fn parse(text: &str) -> Result<Option<Self>, MaskError> {
        let mut polygons = Vec::new();
        for polygon in text.split(';').filter(|polygon| !polygon.trim().is_empty()) {
            let corner = |text: &str| {
                let refused = || MaskError::Corner(text.into());
                let (x, y) = text.split_once(',').ok_or_else(refused)?;
                let number = |text: &str| {
                    let number = text.trim().parse::<f64>().ok();
                    number.filter(|number| (0.0..=1.0).contains(number)).ok_or_else(refused)
                };
                Ok((number(x)?, number(y)?))
            };
            let corners: Vec<_> = polygon.split_whitespace().map(corner).collect::<Result<_, MaskError>>()?;
            if corners.len() < 3 {
                return Err(MaskError::Corners(corners.len()));
            }
            polygons.push(corners);
        }
        Ok((!polygons.is_empty()).then_some(Self::Polygons(polygons)))
    }

    /// Reads a binary PGM of 8 bits a sample.
    ///
    /// # Errors
    /// [`MaskError::Pgm`].
    pub fn from_pgm(bytes: &[u8]) -> Result<Self, MaskError> {
        let mut rest = bytes.strip_prefix(b"P5").ok_or(MaskError::Pgm("it does not begin with P5"))?;
        let mut numbers = [0usize; 3];
        for number in &mut numbers {
            loop {
                match rest {
                    [b'#', ..] => {
                        let end = rest.iter().position(|&byte| byte == b'\n');
                        rest = &rest[end.ok_or(MaskError::Pgm("its header does not end"))?..];
                    }
                    [first, others @ ..] if first.is_ascii_whitespace() => rest = others,
                    _ => break,
                }
            }
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let text = std::str::from_utf8(&rest[..digits]).unwrap_or_default();
            *number = text
                .parse()
                .map_err(|_| MaskError::Pgm("its width, height and maximum are not three numbers"))?;
            rest = &rest[digits..];
        }
        let [width, height, maximum] = numbers;
        if !(1..=255).contains(&maximum) {
            return Err(MaskError::Pgm("its maximum is not 1 to 255"));
        }
        let samples = width.checked_mul(height).filter(|samples| (1..=MOST_SAMPLES).contains(samples));
        let samples = samples.ok_or(MaskError::Pgm("it has no samples, or more than 67108864"))?;
        let picture = rest.get(1..).and_then(|rest| rest.get(..samples));
        let picture = picture.ok_or(MaskError::Pgm("it ends before its last sample"))?;
        let counts = picture.iter().map(|&sample| 2 * usize::from(sample) >= maximum).collect();
        Ok(Self::Picture { width, height, counts })
    }

    /// Whether motion counts at a place, in shares of the frame.
    pub fn counts(&self, x: f64, y: f64) -> bool {
        match self {
            Self::Polygons(polygons) => polygons.iter().any(|corners| is_inside(corners, x, y)),
            Self::Picture { width, height, counts } => {
                let at = |share: f64, length: usize| ((share * length as f64) as usize).min(length - 1);
                counts[at(y, *height) * width + at(x, *width)]
            }
        }
    }
}

/// Whether a way from the point to the right crosses the edges of the polygon an odd number of times.
fn is_inside(corners: &[(f64, f64)], x: f64, y: f64) -> bool {
    let edges = corners.iter().zip(corners.iter().cycle().skip(1));
    let crosses = |((ax, ay), (bx, by)): &(&(f64, f64), &(f64, f64))| {
        (*ay > y) != (*by > y) && x < ax + (bx - ax) * (y - ay) / (by - ay)
    };
    edges.filter(crosses).count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polygons_are_read_and_tell_what_is_inside() {
        let mask = Mask::parse("0,0 0.5,0 0.5,1 0,1; 0.8,0.8 1,0.8 1,1").unwrap().unwrap();
        let counts = [(0.25, 0.5), (0.6, 0.5), (0.95, 0.85), (0.82, 0.95)].map(|(x, y)| mask.counts(x, y));
        assert_eq!(counts, [true, false, true, false]);
        assert_eq!(Mask::parse("  "), Ok(None));
    }

    #[test]
    fn texts_that_are_no_polygons_are_refused_with_the_part_that_is_wrong() {
        for (text, error) in [
            ("0,0 0,1 2,1", MaskError::Corner("2,1".into())),
            ("0,0 0;1 1,1", MaskError::Corner("0".into())),
            ("0,0 0,nan 1,1", MaskError::Corner("0,nan".into())),
            ("0,0 0,1", MaskError::Corners(2)),
        ] {
            assert_eq!(Mask::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_picture_is_read() {
        let mask = Mask::from_pgm(b"P5\n# made by hand\n2 1\n255\n\xff\x00").unwrap();
        assert!(mask.counts(0.2, 0.9) && !mask.counts(0.7, 0.1));
        for bytes in [
            &b"P6 1 1 255 \0"[..],
            b"P5 0 1 255 ",
            b"P5 9 9 255 a",
            b"P5 99999999999 9 255 a",
            b"P5 1 1 65535 ab",
            b"P5#",
        ] {
            assert!(matches!(Mask::from_pgm(bytes), Err(MaskError::Pgm(_))), "{bytes:?}");
        }
    }
}

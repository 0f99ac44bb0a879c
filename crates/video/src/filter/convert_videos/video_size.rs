//! The `size` of a video, such as `1280x720`, as resolution and ratio.

use headgate_core::task::resolution::shorter_side;

/// Ratios of width to height that families know.
const RATIOS: [(u32, u32); 11] = [
    (21, 9),
    (16, 9),
    (3, 2),
    (4, 3),
    (5, 4),
    (1, 1),
    (4, 5),
    (3, 4),
    (2, 3),
    (9, 16),
    (9, 21),
];
/// Shorter sides that are resolutions of their own, in pixels.
const EXACT_SIDES: [u32; 9] = [360, 480, 512, 540, 720, 768, 1080, 1440, 2160];
/// Shorter sides that others are rounded to, in pixels.
const ROUNDED_SIDES: [u32; 4] = [480, 720, 1080, 2160];
/// How far a ratio may be from a known one, and a side from one of those it is rounded to.
const RATIO_TOLERANCE: f64 = 0.03;
const SIDE_TOLERANCE: f64 = 0.1;

/// A size as the generic protocol has it. What a size does not name is left to the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct VideoSize {
    pub resolution: Option<String>,
    pub ratio: Option<String>,
}

/// Why a size cannot be said by resolution and ratio.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InvalidVideoSize {
    /// It is neither two numbers of pixels nor a ratio nor a resolution.
    Malformed,
    /// No known ratio is near; this one is the nearest.
    Ratio(String),
    /// No known resolution is near; this one is the nearest.
    Resolution(String),
}

impl VideoSize {
    /// # Errors
    /// The text is no size, or none that is near a known ratio and a known resolution.
    pub fn parse(text: &str) -> Result<Self, InvalidVideoSize> {
        let Some((width, height)) = text.split_once('x') else {
            return Self::parse_part(text);
        };
        let (width, height) = (number(width)?, number(height)?);
        let short = width.min(height);
        let ratio = f64::from(width) / f64::from(height);
        let known =
            RATIOS.map(|(width, height)| (f64::from(width) / f64::from(height), (width, height)));
        let (distance, (across, down)) = nearest(ratio, known);
        let ratio = format!("{across}:{down}");
        if distance > RATIO_TOLERANCE {
            return Err(InvalidVideoSize::Ratio(ratio));
        }
        let (distance, side) = match EXACT_SIDES.contains(&short) {
            true => (0.0, short),
            false => nearest(
                f64::from(short),
                ROUNDED_SIDES.map(|side| (f64::from(side), side)),
            ),
        };
        let resolution = match side {
            2160 => "4k".to_owned(),
            side => format!("{side}p"),
        };
        match distance > SIDE_TOLERANCE {
            true => Err(InvalidVideoSize::Resolution(resolution)),
            false => Ok(Self {
                resolution: Some(resolution),
                ratio: Some(ratio),
            }),
        }
    }

    /// A ratio alone, or a resolution alone.
    fn parse_part(text: &str) -> Result<Self, InvalidVideoSize> {
        let name = text.to_ascii_lowercase();
        if shorter_side(&name).is_some() {
            return Ok(Self {
                resolution: Some(name),
                ratio: None,
            });
        }
        let (across, down) = text.split_once(':').ok_or(InvalidVideoSize::Malformed)?;
        Ok(Self {
            resolution: None,
            ratio: Some(format!("{}:{}", number(across)?, number(down)?)),
        })
    }
}

/// The candidate nearest to `value`, with its distance as a share.
fn nearest<T: Copy, const N: usize>(value: f64, candidates: [(f64, T); N]) -> (f64, T) {
    let distances = candidates.map(|(known, name)| ((value / known).ln().abs(), name));
    let nearer = |best: (f64, T), one: (f64, T)| if one.0 < best.0 { one } else { best };
    distances
        .into_iter()
        .reduce(nearer)
        .expect("there are known ratios and sides")
}

fn number(text: &str) -> Result<u32, InvalidVideoSize> {
    let is_number = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| *number > 0);
    number
        .filter(|_| is_number)
        .ok_or(InvalidVideoSize::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_the_nearest_ratio_and_resolution() {
        for (size, ratio, resolution) in [
            ("1280x720", "16:9", "720p"),
            ("720x1280", "9:16", "720p"),
            ("1024x1792", "9:16", "1080p"),
            ("1792x1024", "16:9", "1080p"),
            ("1920x1080", "16:9", "1080p"),
            ("1920x1088", "16:9", "1080p"),
            ("3840x2160", "16:9", "4k"),
            ("854x480", "16:9", "480p"),
            ("1024x1024", "1:1", "1080p"),
            ("768x768", "1:1", "768p"),
            ("2560x1080", "21:9", "1080p"),
            ("960x720", "4:3", "720p"),
        ] {
            let expected = VideoSize {
                resolution: Some(resolution.into()),
                ratio: Some(ratio.into()),
            };
            assert_eq!(VideoSize::parse(size), Ok(expected), "{size}");
        }
    }

    #[test]
    fn a_size_may_leave_the_ratio_or_the_resolution_to_the_model() {
        for (size, resolution, ratio) in [
            ("16:9", None, Some("16:9")),
            ("9:21", None, Some("9:21")),
            ("720p", Some("720p"), None),
            ("1080P", Some("1080p"), None),
            ("4K", Some("4k"), None),
        ] {
            let expected = VideoSize {
                resolution: resolution.map(str::to_owned),
                ratio: ratio.map(str::to_owned),
            };
            assert_eq!(VideoSize::parse(size), Ok(expected), "{size}");
        }
    }

    #[test]
    fn a_size_that_no_family_knows_is_an_error_with_the_nearest() {
        use InvalidVideoSize::{Malformed, Ratio, Resolution};
        for (size, expected) in [
            ("", Malformed),
            ("hd", Malformed),
            ("p", Malformed),
            ("0:9", Malformed),
            ("16:", Malformed),
            ("adaptive", Malformed),
            ("1280X720", Malformed),
            ("0x720", Malformed),
            ("1280x", Malformed),
            ("+1280x720", Malformed),
            ("128000x72000", Malformed),
            ("1000x100", Ratio("21:9".into())),
            ("160x90", Resolution("480p".into())),
            ("1600x900", Resolution("1080p".into())),
        ] {
            assert_eq!(VideoSize::parse(size), Err(expected), "{size}");
        }
    }
}

//! Resolutions by their names in the generic protocol, which name the length of the shorter side of a video.

/// The longest sides that are computed with, in pixels.
const SIDE_MAX: u32 = 10_000;
/// How far the side of another resolution may be, as the logarithm of their ratio: a tenth.
const DISTANCE_MAX: f64 = 0.1;

/// The length of the shorter side in pixels; `None` if the name is no resolution.
pub fn shorter_side(name: &str) -> Option<u32> {
    let side = match name {
        "4k" => 2160,
        "2k" => 1440,
        tier => tier.strip_suffix('p')?.parse().ok()?,
    };
    (1..=SIDE_MAX).contains(&side).then_some(side)
}

/// Width and height of a video with this resolution and ratio, such as `1280x720`; `None` unless both are known.
pub fn video_size(resolution: &str, ratio: &str) -> Option<String> {
    let short = shorter_side(resolution)?;
    let (width, height) = ratio.split_once(':')?;
    let (width, height): (u32, u32) = (width.parse().ok()?, height.parse().ok()?);
    if !(1..SIDE_MAX).contains(&width) || !(1..SIDE_MAX).contains(&height) {
        return None;
    }
    // Encoders need even sides.
    let long = |longer: u32, shorter: u32| (short * longer / shorter).next_multiple_of(2);
    Some(match width >= height {
        true => format!("{}x{short}", long(width, height)),
        false => format!("{short}x{}", long(height, width)),
    })
}

/// The name of the resolution that is nearest to `wanted`, if its side is at most a tenth longer or shorter.
pub fn near<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = f64::from(shorter_side(wanted)?);
    let distances = names.filter_map(|name| {
        let side = f64::from(shorter_side(name)?);
        Some(((side / wanted).ln().abs(), name))
    });
    let nearest = distances.min_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (nearest.0 <= DISTANCE_MAX).then_some(nearest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_the_side_of_its_resolution_and_the_ratio() {
        for (resolution, ratio, expected) in [
            ("720p", "16:9", Some("1280x720")),
            ("768p", "9:16", Some("768x1366")),
            ("4k", "16:9", Some("3840x2160")),
            ("2k", "1:1", Some("1440x1440")),
            ("720p", "adaptive", None),
            ("720p", "0:9", None),
            ("999999p", "16:9", None),
            ("hd", "16:9", None),
        ] {
            assert_eq!(video_size(resolution, ratio).as_deref(), expected);
        }
    }

    #[test]
    fn only_a_resolution_within_a_tenth_is_near() {
        for (wanted, names, expected) in [
            ("720p", &["768p", "2k"][..], Some("768p")),
            ("768p", &["720p", "1080p"], Some("720p")),
            ("540p", &["480p", "512p"], Some("512p")),
            ("1080p", &["768p", "2k"], None),
            ("480p", &["720p"], None),
            ("720p", &["std", "pro"], None),
            ("hd", &["720p"], None),
        ] {
            assert_eq!(near(wanted, names.iter().copied()), expected, "{wanted}");
        }
    }
}

//! Checks what media state of themselves: frame rates, dimensions, and durations with their totals.
//!
//! Files state a little more or less than they were made for: a clip of 15 s may state 15.02 s, and 24 frames per second may
//! be 23.976. Durations may be longer by one frame, and frame rates differ by as much as those of television. What a
//! damaged file does not state is left to the provider, as are files behind URLs.

use super::check::CheckedDataUri;
use headgate_core::task::family::RequestedOutputDuration;
use headgate_core::task::media_kind::MediaKind;
use headgate_protocol::fault::{Fault, FaultKind};
use std::collections::BTreeMap;

/// Seconds of a frame, for files that state no frame rate: the longest of common rates.
const FRAME_SECONDS: f64 = 1.0 / 24.0;
/// How much rates of television differ from whole ones: 23.976 frames per second are called 24, and times of frames are
/// rounded to the units of a file.
const RATE_TOLERANCE: f64 = 1.002;

/// Checks the data URIs of a request against the rules of their roles.
///
/// # Errors
/// The first medium that exceeds a limit.
pub(super) fn check_limits(
    checked: &[CheckedDataUri],
    output: &[RequestedOutputDuration],
) -> Result<(), Fault> {
    for one in checked {
        check_frame_rate(one)?;
        check_pixels(one)?;
    }
    check_totals(checked)?;
    output
        .iter()
        .try_for_each(|output| check_with_output(checked, output))
}

fn check_frame_rate(one: &CheckedDataUri) -> Result<(), Fault> {
    let rule = &one.found.rule;
    let Some(rate) = one.properties.frame_rate else {
        return Ok(());
    };
    let expected = match (rule.min_frame_rate, rule.max_frame_rate) {
        (Some(least), _) if rate * RATE_TOLERANCE < f64::from(least) => format!("at least {least}"),
        (_, Some(most)) if rate > f64::from(most) * RATE_TOLERANCE => format!("at most {most}"),
        _ => return Ok(()),
    };
    let received = format!("{} frames per second", rounded(rate));
    Err(exceeded(one, &received, &expected))
}

fn check_pixels(one: &CheckedDataUri) -> Result<(), Fault> {
    let (Some((width, height)), Some(most)) =
        (one.properties.dimensions, one.found.rule.max_pixels)
    else {
        return Ok(());
    };
    if u64::from(width) * u64::from(height) <= most {
        return Ok(());
    }
    let received = format!("{width}x{height} pixels");
    Err(exceeded(one, &received, &format!("at most {most} in all")))
}

/// The durations of all media of each role together.
fn check_totals(checked: &[CheckedDataUri]) -> Result<(), Fault> {
    let mut totals: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for one in checked {
        let (role, rule) = (&one.found.role, &one.found.rule);
        let Some(most) = rule.max_total_duration.map(|most| most.as_secs_f64()) else {
            continue;
        };
        check_stated(one)?;
        let (total, frame) = totals.entry(role).or_default();
        *total += seconds(one);
        *frame = frame.max(frame_seconds(one));
        if *total > most + *frame {
            let (param, kind) = (&one.found.param, rule.kind.name());
            let message = format!(
                "`{param}`: the {kind} of the role `{role}` is {} s long in all; it may be at most {most} s, and one frame ({frame:.3} s); send shorter or fewer files",
                rounded(*total)
            );
            return Err(Fault::new(FaultKind::Invalid, message).param(param));
        }
    }
    Ok(())
}

fn check_with_output(
    checked: &[CheckedDataUri],
    output: &RequestedOutputDuration,
) -> Result<(), Fault> {
    let videos = checked.iter();
    let videos = videos.filter(|one| one.found.rule.kind == MediaKind::Video);
    let (mut input, mut frame) = (0.0, 0.0_f64);
    for video in videos {
        check_stated(video)?;
        input += seconds(video);
        frame = frame.max(frame_seconds(video));
    }
    let most = output.max_with_videos.as_secs_f64();
    if input == 0.0 || input + output.seconds <= most + frame {
        return Ok(());
    }
    let RequestedOutputDuration { param, seconds, .. } = output;
    let message = format!(
        "`{param}`: {seconds} s of output and {} s of input video are more than {most} s, and one frame ({frame:.3} s); send shorter videos, or set a shorter duration",
        rounded(input)
    );
    Err(Fault::new(FaultKind::Invalid, message).param(param))
}

/// Checks that a file states its duration, which is limited.
fn check_stated(one: &CheckedDataUri) -> Result<(), Fault> {
    if !one.properties.lacks_duration(&one.content.content_type) {
        return Ok(());
    }
    let (param, role) = (&one.found.param, &one.found.role);
    let message = format!(
        "`{param}` does not state how long it is, and the duration of the role `{role}` is limited; convert it, for example to MP4 or WAV"
    );
    Err(Fault::new(FaultKind::Invalid, message).param(param))
}

/// With two decimals at most.
fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// The seconds of a frame.
fn frame_seconds(one: &CheckedDataUri) -> f64 {
    let rate = one.properties.frame_rate.filter(|rate| *rate >= 1.0);
    rate.map_or(FRAME_SECONDS, |rate| 1.0 / rate)
}

fn seconds(one: &CheckedDataUri) -> f64 {
    let duration = one.properties.duration.unwrap_or_default();
    duration.as_secs_f64()
}

fn exceeded(one: &CheckedDataUri, received: &str, expected: &str) -> Fault {
    let (param, role) = (&one.found.param, &one.found.role);
    let message =
        format!("`{param}` has {received}; {expected} are supported for the role `{role}`");
    Fault::new(FaultKind::Invalid, message).param(param)
}

//! Checks what media state of themselves: frame rates, dimensions, and durations with their totals.
//!
//! Figures are rounded to whole ones: a clip of 15 s may state 15.02 s, and 24 frames per second may be 23.976. What a
//! file does not state is left to the provider, as are files behind URLs.

use super::check::CheckedMedia;
use crate::protocol::fault::{Fault, FaultKind};
use crate::task::family::OutputDuration;
use crate::task::media_kind::MediaKind;
use std::collections::BTreeMap;

/// Checks the data URIs of a request against the rules of their roles.
///
/// # Errors
/// The first medium that exceeds a limit.
pub(super) fn check_limits(
    checked: &[CheckedMedia],
    output: &[OutputDuration],
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

fn check_frame_rate(one: &CheckedMedia) -> Result<(), Fault> {
    let rule = &one.found.rule;
    let Some(rate) = one.properties.frame_rate.map(f64::round) else {
        return Ok(());
    };
    let expected = match (rule.min_frame_rate, rule.max_frame_rate) {
        (Some(least), _) if rate < f64::from(least) => format!("at least {least}"),
        (_, Some(most)) if rate > f64::from(most) => format!("at most {most}"),
        _ => return Ok(()),
    };
    let received = format!("{rate} frames per second");
    Err(exceeded(one, &received, &expected))
}

fn check_pixels(one: &CheckedMedia) -> Result<(), Fault> {
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
fn check_totals(checked: &[CheckedMedia]) -> Result<(), Fault> {
    let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
    for one in checked {
        let (role, rule) = (&one.found.role, &one.found.rule);
        let total = totals.entry(role).or_default();
        *total += seconds(one);
        if let Some(most) = rule.max_total_duration.map(|most| most.as_secs_f64())
            && total.round() > most
        {
            let (param, kind) = (&one.found.param, rule.kind.name());
            let message = format!(
                "`{param}`: the {kind} of the role `{role}` is {} s long in all; it may be at most {most} s; send shorter or fewer files",
                total.round()
            );
            return Err(Fault::new(FaultKind::Invalid, message).param(param));
        }
    }
    Ok(())
}

fn check_with_output(checked: &[CheckedMedia], output: &OutputDuration) -> Result<(), Fault> {
    let videos = checked.iter();
    let videos = videos.filter(|one| one.found.rule.kind == MediaKind::Video);
    let input: f64 = videos.map(seconds).sum();
    let most = output.max_with_videos.as_secs_f64();
    if input == 0.0 || (input + output.seconds).round() <= most {
        return Ok(());
    }
    let OutputDuration { param, seconds, .. } = output;
    let message = format!(
        "`{param}`: {seconds} s of output and {} s of input video are more than {most} s; send shorter videos, or set a shorter duration",
        input.round()
    );
    Err(Fault::new(FaultKind::Invalid, message).param(param))
}

fn seconds(one: &CheckedMedia) -> f64 {
    let duration = one.properties.duration.unwrap_or_default();
    duration.as_secs_f64()
}

fn exceeded(one: &CheckedMedia, received: &str, expected: &str) -> Fault {
    let (param, role) = (&one.found.param, &one.found.role);
    let message =
        format!("`{param}` has {received}; {expected} are supported for the role `{role}`");
    Fault::new(FaultKind::Invalid, message).param(param)
}

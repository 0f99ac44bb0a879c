//! How events are delivered: signed by the Standard Webhooks specification, and tried ten times within a day.

use crate::catalog::webhook_secret::CallerDeliverySigningKey;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::time::Duration;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// The time between an attempt and the next one, in seconds: ten attempts within a day, at the times that the Standard
/// Webhooks specification suggests.
const RETRY_SECONDS: [u64; 9] = [5, 295, 1_500, 5_400, 10_800, 18_000, 14_400, 21_600, 14_400];
/// The longest `Retry-After` of a receiver that is followed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// An interval is lengthened by up to this share of it, so that receivers are not called in step.
const JITTER: f64 = 0.1;

/// The headers of an attempt at a time in Unix seconds. Without secrets there is no signature.
pub fn event_headers(
    secrets: &[CallerDeliverySigningKey],
    id: &str,
    timestamp: u64,
    body: &[u8],
) -> HeaderMap {
    let signatures = secrets
        .iter()
        .map(|secret| secret.sign(id, timestamp, body));
    let signatures: Vec<String> = signatures.collect();
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    headers.insert(WEBHOOK_TIMESTAMP, HeaderValue::from(timestamp));
    for (name, value) in [
        (WEBHOOK_ID, id.to_owned()),
        (WEBHOOK_SIGNATURE, signatures.join(" ")),
    ] {
        if let Ok(value) = HeaderValue::from_str(&value)
            && !value.is_empty()
        {
            headers.insert(name, value);
        }
    }
    headers
}

/// How long to wait after so many attempts, the last of which failed; `None` if it was the last one. `random` is from 0 to 1.
pub fn retry_delay(attempts: u32, retry_after: Option<Duration>, random: f64) -> Option<Duration> {
    let failed = usize::try_from(attempts).ok()?.checked_sub(1)?;
    let interval = Duration::from_secs(*RETRY_SECONDS.get(failed)?);
    let interval = interval.mul_f64(1.0 + JITTER * random);
    let requested = retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
    Some(interval.max(requested))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_spread_over_a_day_and_follow_retry_after() {
        let requested = Duration::from_secs(60);
        assert_eq!(retry_delay(1, Some(requested), 0.0), Some(requested));
        assert_eq!(
            retry_delay(1, Some(Duration::MAX), 0.0),
            Some(RETRY_AFTER_MAX)
        );
        let (mut attempts, mut total) = (1, Duration::ZERO);
        while let Some(delay) = retry_delay(attempts, None, 0.0) {
            assert!(retry_delay(attempts, None, 1.0).unwrap() > delay);
            total += delay;
            attempts += 1;
        }
        assert_eq!((attempts, total.as_secs()), (10, 24 * 60 * 60));
    }
}

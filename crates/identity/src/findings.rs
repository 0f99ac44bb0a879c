//! Findings about keys of callers: those that expire soon, and those whose holders are refused since they have expired.

use crate::key_usage::{KeyName, KeyUsage, KeyUsages};
use headgate_core::feature::FeatureTypeMap;
use headgate_core::feature::findings::FindingDetector;
use headgate_core::finding::code::FindingCode;
use headgate_core::finding::{FindingArea, FindingSeverity, LiveFinding};
use headgate_core::timestamp::rfc3339;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A key is reported this long before it expires, in seconds: 14 days.
const SHOWN_BEFORE: u64 = 14 * 24 * 3600;
/// Number of keys that are reported.
const KEYS_MAX: usize = 10;

pub(crate) const KEY_EXPIRES: FindingDetector = FindingDetector {
    area: FindingArea::Requests,
    alert: "HeadgateKeyExpires",
    code: FindingCode::new("key_expires", FindingSeverity::Warning),
    find: |values| expiring(values, SystemTime::now()),
};

/// The keys that expire first. One that nobody has used since the process started is nobody's loss.
fn expiring(values: &FeatureTypeMap, now: SystemTime) -> Vec<LiveFinding> {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let all = values.get::<KeyUsages>().list().into_iter();
    let is_used = |usage: &KeyUsage| usage.last_used().is_some();
    let mut soon: Vec<(u64, KeyName)> = all
        .filter(|(_, usage)| is_used(usage))
        .filter_map(|(name, usage)| Some((usage.expiry()?, name)))
        .filter(|(expiry, _)| *expiry < now + SHOWN_BEFORE)
        .collect();
    soon.sort_unstable();
    soon.truncate(KEYS_MAX);
    let findings = soon.into_iter();
    findings
        .map(|(expiry, name)| finding(expiry, &name, now))
        .collect()
}

fn finding(expiry: u64, name: &KeyName, now: u64) -> LiveFinding {
    let KeyName { caller, label } = name;
    let at = rfc3339(UNIX_EPOCH + Duration::from_secs(expiry));
    let (severity, verb) = match expiry <= now {
        true => (FindingSeverity::Notice, "has expired"),
        false => (FindingSeverity::Warning, "expires"),
    };
    LiveFinding {
        severity,
        code: "key_expires",
        subject: format!("key {label} of caller {caller}"),
        cause: format!("The key `{label}` of caller `{caller}`, which is in use, {verb} at {at}."),
        advice: format!(
            "`headgate key new --for {caller} --expires 90d` makes another one: add it to the caller's `keys`, and remove this one when it is no longer used."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::catalog::caller::{Caller, Callers, KeyDigest};
    use headgate_core::catalog::caller_key::CallerKey;
    use std::sync::Arc;

    #[test]
    fn a_key_in_use_is_reported_before_it_expires_and_afterwards() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let mut callers = Callers::default();
        let ann = Caller::new("ann", &[]);
        let expiry = SHOWN_BEFORE * 2;
        for label in ["used", "unused"] {
            let key = CallerKey {
                label: label.into(),
                not_after: Some(at(expiry)),
                ..CallerKey::default()
            };
            let digest = KeyDigest::from_key(label.as_bytes());
            callers.insert(digest, Arc::new(ann.with_key(Arc::new(key))));
        }
        let usages = Arc::<KeyUsages>::default();
        usages.adopt(&Arc::new(callers));
        usages.count(&KeyName {
            caller: "ann".into(),
            label: "used".into(),
        });
        let mut values = FeatureTypeMap::default();
        values.set(usages);
        for (now, expected) in [
            (SHOWN_BEFORE, None),
            (SHOWN_BEFORE + 1, Some(FindingSeverity::Warning)),
            (expiry - 1, Some(FindingSeverity::Warning)),
            (expiry, Some(FindingSeverity::Notice)),
        ] {
            let found = expiring(&values, at(now));
            let found = found
                .iter()
                .map(|finding| (finding.severity, &*finding.subject));
            let expected = expected.map(|severity| (severity, "key used of caller ann"));
            assert_eq!(found.collect::<Vec<_>>(), Vec::from_iter(expected), "{now}");
        }
    }
}

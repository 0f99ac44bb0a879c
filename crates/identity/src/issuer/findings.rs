//! Findings about issuers whose keys cannot be fetched.

use super::token_issuer::{TokenIssuer, TokenIssuers};
use headgate_core::feature::FeatureTypeMap;
use headgate_core::feature::findings::FindingDetector;
use headgate_core::finding::code::FindingCode;
use headgate_core::finding::{FindingArea, FindingSeverity, LiveFinding};

pub(crate) const ISSUER_KEYS: FindingDetector = FindingDetector {
    area: FindingArea::Requests,
    alert: "HeadgateIssuerKeys",
    code: FindingCode::new("issuer_keys", FindingSeverity::Critical),
    find: unfetched,
};

fn unfetched(values: &FeatureTypeMap) -> Vec<LiveFinding> {
    let issuers = values.get::<TokenIssuers>();
    let issuers = issuers.by_name.values();
    issuers.filter_map(|issuer| finding(issuer)).collect()
}

fn finding(issuer: &TokenIssuer) -> Option<LiveFinding> {
    let status = issuer.keys.status();
    let error = status.error?;
    let name = &issuer.name;
    let (severity, consequence) = match status.is_usable {
        true => (
            FindingSeverity::Warning,
            "tokens are verified with the keys that are known, for at most an hour",
        ),
        false => (
            FindingSeverity::Critical,
            "requests with its tokens get 503",
        ),
    };
    Some(LiveFinding {
        severity,
        code: "issuer_keys",
        subject: format!("issuer {name}"),
        cause: format!("The keys of issuer `{name}` cannot be fetched: {error}; {consequence}."),
        advice: format!(
            "Check that the gateway reaches {}, and that it is a JSON Web Key Set.",
            issuer.keys.source.url()
        ),
    })
}

//! `require_version`: 400 unless the messages protocol's version header is a date.

use headgate_core::filter::contract::RouteApiDescription;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, read_settings_or_default, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, HookResult};
use headgate_protocol::fault::{Fault, FaultKind};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "require_version",
    summary: "Requires a version header with a date `YYYY-MM-DD` (`anthropic-version`, or the one in `header`); any date is forwarded.",
    side: ChainSide::Request,
    placement: FilterChainRules::ALWAYS,
    settings: Some(settings_schema::<RequireVersionHeaderConfig>),
    bare: true,
    build: |settings, _| {
        let RequireVersionHeaderConfig { header } = read_settings_or_default(settings)?;
        Ok(Arc::new(RequireVersionHeaderFilter {
            header: header.to_ascii_lowercase(),
        }))
    },
};

/// Settings of `require_version`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RequireVersionHeaderConfig {
    /// Name of the version header. Default: anthropic-version.
    header: String,
}

struct RequireVersionHeaderFilter {
    header: String,
}

impl Default for RequireVersionHeaderConfig {
    fn default() -> Self {
        Self {
            header: "anthropic-version".into(),
        }
    }
}

impl Filter for RequireVersionHeaderFilter {
    fn add_to_contract(&self, contract: &mut RouteApiDescription) {
        contract.version_header = Some(self.header.clone());
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let name = &self.header;
        let fault = match request.header(name) {
            Some(version) if is_date(version) => return HookResult::next(),
            Some(_) => {
                format!("header `{name}` must be a date, YYYY-MM-DD, such as 2023-06-01")
            }
            None => format!("missing required header `{name}`; send a date such as 2023-06-01"),
        };
        HookResult::fail(Fault::new(FaultKind::BadHeader, fault).param(name))
    }
}

fn is_date(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| {
        let part = text.get(range)?;
        part.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| part.parse::<u16>().ok())?
    };
    text.len() == 10
        && text.as_bytes()[4] == b'-'
        && text.as_bytes()[7] == b'-'
        && digits(0..4).is_some()
        && digits(5..7).is_some_and(|month| (1..=12).contains(&month))
        && digits(8..10).is_some_and(|day| (1..=31).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::is_date;

    #[test]
    fn a_version_is_a_date() {
        for (text, date) in [
            ("2023-06-01", true),
            ("2026-10-21", true),
            ("2026-13-01", false),
            ("2026-00-10", false),
            ("2026-10-32", false),
            ("2026-1-1", false),
            ("2026/10/21", false),
            ("+026-10-21", false),
            ("latest", false),
            ("", false),
            ("2026-10-2é", false),
        ] {
            assert_eq!(is_date(text), date, "{text}");
        }
    }
}

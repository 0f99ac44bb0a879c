//! `rewrite_path`: rewrites the path that is sent to the provider.

use super::captures;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, InvalidSettings, read_settings, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, HookResult};
use headgate_protocol::fault::{Fault, FaultKind};
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "rewrite_path",
    summary: "Rewrites the path that is appended to the channel's `base_url`, by `{match: regex, to: /path/$1}`.",
    side: ChainSide::Request,
    placement: FilterChainRules::ANYWHERE,
    settings: Some(settings_schema::<RewritePathConfig>),
    bare: false,
    build: |settings, context| {
        let RewritePathConfig { r#match, to } = read_settings(settings)?;
        if !to.starts_with('/') {
            return Err(InvalidSettings::new("`to` must start with `/`").at("/to"));
        }
        let pattern = captures::pattern(&r#match).map_err(|invalid| invalid.at("/match"))?;
        captures::check(&pattern, &to, "to").map_err(|invalid| invalid.at("/to"))?;
        if let Some(warning) = unforwarded(&to) {
            context.warn(warning);
        }
        Ok(Arc::new(RewritePathFilter {
            pattern,
            template: to,
        }))
    },
};

/// Settings of `rewrite_path`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RewritePathConfig {
    /// Regular expression on the request path, unanchored; a path that does not match is not changed.
    r#match: String,
    /// The new path, beginning with `/`, with `$1` or `$name` for capture groups of `match`. `headgate check` warns
    /// about `?` or `#` in it, since such a path gets 400.
    to: String,
}

/// A warning if the template has a character that a path must not have.
fn unforwarded(template: &str) -> Option<InvalidSettings> {
    let fixed = captures::fixed_text(template);
    let refused = fixed
        .chars()
        .find(|character| !is_forwarded(*character))?
        .escape_default();
    let reason = format!(
        "`to` contains `{refused}`, which is not allowed in a path: every request that matches gets 400"
    );
    let hint = match refused.to_string().as_str() {
        "?" => "remove the query: the caller's own is appended to the new path",
        _ => "use letters, digits and punctuation other than `?` and `#`",
    };
    Some(InvalidSettings::new(reason).at("/to").hint(hint))
}

struct RewritePathFilter {
    pattern: Regex,
    template: String,
}

impl Filter for RewritePathFilter {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let Some(captures) = self.pattern.captures(&request.path) else {
            return HookResult::next();
        };
        let mut path = String::new();
        captures.expand(&self.template, &mut path);
        if path.chars().all(is_forwarded) {
            request.upstream_path = Some(path);
            HookResult::next()
        } else {
            HookResult::fail(Fault::new(
                FaultKind::BadHead,
                "the rewritten path has characters that are not allowed in a path; percent-encode them in the request",
            ))
        }
    }
}

/// Whether an upstream path may have this character.
pub(super) fn is_forwarded(character: char) -> bool {
    character.is_ascii_graphic() && !matches!(character, '?' | '#')
}

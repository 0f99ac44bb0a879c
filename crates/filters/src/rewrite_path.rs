//! `rewrite_path`: rewrites the path that is sent to the provider.

use super::captures;
use headgate_core::catalog::fixed_query::folded_name;
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
        let RewritePathConfig {
            r#match,
            to,
            remove_query,
        } = read_settings(settings)?;
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
            removed: folded_names(&remove_query),
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
    /// Names of parameters of the query that are removed if the path matches, such as `api-version` of an API that the
    /// provider does not have; `*` for all. Default: none.
    #[serde(default)]
    remove_query: Vec<String>,
}

fn folded_names(names: &[String]) -> Vec<Vec<u8>> {
    names.iter().map(|name| folded_name(name)).collect()
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
        "?" => {
            "remove the query: the caller's own is appended to the new path, without the parameters in `remove_query`"
        }
        _ => "use letters, digits and punctuation other than `?` and `#`",
    };
    Some(InvalidSettings::new(reason).at("/to").hint(hint))
}

struct RewritePathFilter {
    pattern: Regex,
    template: String,
    /// Names of parameters of the query, in lower case.
    removed: Vec<Vec<u8>>,
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
            if !self.removed.is_empty() {
                self.remove_parameters(request);
            }
            HookResult::next()
        } else {
            HookResult::fail(Fault::new(
                FaultKind::BadHead,
                "the rewritten path has characters that are not allowed in a path; percent-encode them in the request",
            ))
        }
    }
}

impl RewritePathFilter {
    fn remove_parameters(&self, request: &mut RequestView) {
        let Some(query) = &request.query else { return };
        let is_kept = |member: &&str| {
            let name = folded_name(member.trim_end_matches(['&', ';']));
            let mut removed = self.removed.iter();
            !removed.any(|removed| *removed == name || **removed == *b"*")
        };
        // Some servers accept a semicolon as separator too.
        let kept: String = query.split_inclusive(['&', ';']).filter(is_kept).collect();
        let kept = kept.trim_end_matches(['&', ';']);
        request.query = (!kept.is_empty()).then(|| kept.to_owned());
    }
}

/// Whether an upstream path may have this character.
pub(super) fn is_forwarded(character: char) -> bool {
    character.is_ascii_graphic() && !matches!(character, '?' | '#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, Method};

    fn query_after<const N: usize>(
        removed: [&str; N],
        path: &str,
        query: Option<&str>,
    ) -> Option<String> {
        let filter = RewritePathFilter {
            pattern: Regex::new("^/openai/(.+)$").unwrap(),
            template: "/v1/$1".into(),
            removed: folded_names(&removed.map(str::to_owned)),
        };
        let query = query.map(str::to_owned);
        let (method, headers) = (Method::GET, HeaderMap::new());
        let id = "req_1".into();
        let mut request =
            RequestView::new(id, method, path.into(), query, headers, Vec::new(), None);
        let _ = filter.on_head(&mut request);
        request.query
    }

    #[test]
    fn parameters_are_removed_by_name_where_the_path_matches() {
        for (removed, query, left) in [
            (["Api-Version"], "api-version=1", None),
            (
                ["api-version"],
                "stream=true&api-version=1&after=a%26b",
                Some("stream=true&after=a%26b"),
            ),
            (
                ["api-version"],
                "API%2DVersion=1&a;api-version[]=2&x=api-version",
                Some("a;x=api-version"),
            ),
            (
                ["api-version"],
                "api-versions=1&b",
                Some("api-versions=1&b"),
            ),
            (["*"], "a=1&b", None),
        ] {
            let rewritten = query_after(removed, "/openai/responses", Some(query));
            assert_eq!(rewritten.as_deref(), left, "{query}");
            for unchanged in [
                query_after(removed, "/v1/responses", Some(query)),
                query_after([], "/openai/responses", Some(query)),
            ] {
                assert_eq!(unchanged.as_deref(), Some(query));
            }
        }
        assert_eq!(query_after(["a"], "/openai/responses", None), None);
    }
}

//! Builds base URLs of channels, with the model in the path and the query that every request has.

use super::ProblemCollector;
use crate::channels::ChannelConfig;
use headgate_core::catalog::base_path::BasePath;
use headgate_core::catalog::base_url::{self, BaseUrl};
use headgate_core::catalog::fixed_query::{DuplicateMember, FixedQuery};
use headgate_core::catalog::path_segment::refused_part;
use headgate_core::pointer::child;
use headgate_protocol::Protocol;

/// A base URL and what belongs to it.
pub(super) struct ChannelBaseUrl {
    pub url: BaseUrl,
    pub path: BasePath,
    pub query: FixedQuery,
}

/// The base URL of the channel at `at`; `None` if it has problems.
pub(super) fn build(
    config: &ChannelConfig,
    protocols: &[Protocol],
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<ChannelBaseUrl> {
    let text = &config.base_url;
    let pointer = format!("{at}/base_url");
    let parsed = base_url::parse_with_query(text).map_err(|reason| {
        let with_scheme = format!("https://{text}");
        let is_meant = !text.contains("://") && base_url::parse_with_query(&with_scheme).is_ok();
        let hint = is_meant.then(|| format!("write `{with_scheme}`"));
        problems.error(&pointer, reason, hint.as_deref());
    });
    let (url, in_url) = parsed.ok()?;
    let members = config.query.iter();
    let members = members.map(|(name, value)| (&**name, &**value));
    let query = FixedQuery::new(in_url.as_deref(), members).map_err(|DuplicateMember(name)| {
        let reason = format!("the query of `base_url` and `query` have `{name}` more than once");
        problems.error(&pointer, reason, Some("keep one of them"));
    });
    let path = BasePath::parse(&url.path).map_err(|reason| {
        let hint = "write `{model}` where the provider has its name of the model";
        problems.error(&pointer, reason, Some(hint));
    });
    let (path, query) = path.ok().zip(query.ok())?;
    if config.query.contains_key("") {
        problems.error(&format!("{at}/query"), "a parameter has no name", None);
    }
    if path.names_model() {
        check_model_in_path(config, protocols, at, problems);
    }
    Some(ChannelBaseUrl { url, path, query })
}

/// Reports what cannot work on a channel with the model in its path: names that lead elsewhere, and requests that have
/// no model.
fn check_model_in_path(
    config: &ChannelConfig,
    protocols: &[Protocol],
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    for (model, name) in &config.models {
        if let Some(refused) = refused_part(name) {
            let at = child(&format!("{at}/models"), model);
            let reason = format!("a model in the path of `base_url` must not {refused}");
            problems.error(&at, reason, None);
        }
    }
    if config.health.probe.is_some() {
        problems.error(
            &format!("{at}/health/probe"),
            "a `base_url` with `{model}` cannot be probed: a probe requests the list of models, and names none",
            Some("remove `probe`: requests show the health of the channel"),
        );
    }
    let medium = |protocol: &Protocol| protocol.descriptor().medium;
    if protocols
        .iter()
        .any(|one| medium(one) == headgate_protocol::GenerationMedium::Video)
    {
        problems.error(
            &format!("{at}/base_url"),
            "a channel of videos cannot have `{model}` in its `base_url`: queries of tasks have no model",
            Some("write `{model}` in the `create` of a family of your own, see docs/families"),
        );
    }
}

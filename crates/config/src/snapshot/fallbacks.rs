//! Builds `fallback` of models, and checks that they lead to models that exist, and never back.

use super::ProblemCollector;
use crate::model_properties::{ModelFallbackConfig, ModelPropertiesConfig};
use headgate_core::catalog::Catalog;
use headgate_core::catalog::fallback::{FallbackCause, ModelFallbacks};
use headgate_core::catalog::model::Model;
use headgate_core::pointer::child;
use headgate_core::scalar::one_or_more::OneOrMore;
use headgate_protocol::nearest::nearest;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The fallbacks of one model.
pub(super) fn build(config: &ModelFallbackConfig) -> ModelFallbacks {
    let mut fallbacks = ModelFallbacks::default();
    for cause in FallbackCause::ALL {
        let own = models_for(config, cause);
        // A refused prompt is sent elsewhere only if the operator says so.
        let models = match (own.0.is_empty(), cause) {
            (true, FallbackCause::ContentPolicy) | (false, _) => own,
            (true, _) => &config.any,
        };
        let names = models.placed().map(|(_, name)| Arc::from(name));
        fallbacks.set(cause, names.collect());
    }
    fallbacks
}

fn models_for(config: &ModelFallbackConfig, cause: FallbackCause) -> &OneOrMore {
    match cause {
        FallbackCause::ContextTooLong => &config.context_too_long,
        FallbackCause::ContentPolicy => &config.content_policy,
        FallbackCause::Unavailable => &config.unavailable,
        FallbackCause::RateLimited => &config.rate_limited,
        FallbackCause::Account => &config.account,
    }
}

/// Reports fallbacks to models that do not exist or speak no protocol of the model, and those that lead back to it.
pub(super) fn check(
    configs: &BTreeMap<String, ModelPropertiesConfig>,
    catalog: &Catalog,
    problems: &mut ProblemCollector<'_>,
) {
    for (name, config) in configs {
        let at = child(&child("/models", name), "fallback");
        let any = std::iter::once(("any", &config.fallback.any));
        let by_cause =
            FallbackCause::ALL.map(|cause| (cause.name(), models_for(&config.fallback, cause)));
        for (key, models) in any.chain(by_cause) {
            for (end, to) in models.placed() {
                let at = format!("{}{end}", child(&at, key));
                check_one(name, to, catalog, &at, problems);
            }
        }
    }
}

fn check_one(
    from: &str,
    to: &str,
    catalog: &Catalog,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    if to.contains('*') {
        let reason = format!("`{to}` is a pattern: a request needs the name of one model");
        problems.error(at, reason, Some("write the name of a platform model"));
        return;
    }
    let Some(target) = catalog.get(to) else {
        let known = catalog.models().map(|model| &*model.name);
        let hint = match nearest(to, known, 1).first() {
            Some(known) => format!("did you mean `{known}`?"),
            None => "write the name of a platform model that a channel serves".into(),
        };
        problems.error(at, format!("no channel serves model `{to}`"), Some(&hint));
        return;
    };
    if let Some(model) = catalog.get(from)
        && !model.protocols().any(|protocol| target.supports(protocol))
    {
        let reason = format!("`{to}` supports no protocol of `{from}`");
        let hint = "choose a model that a channel with one of its protocols serves";
        problems.error(at, reason, Some(hint));
    }
    if let Some(way) = way_back(from, &target, catalog) {
        let reason = format!("fallbacks lead back to `{from}`: {}", way.join(" -> "));
        problems.error(at, reason, Some("remove one of them"));
    }
}

/// The names on a way from `target` to `from`, both included.
fn way_back(from: &str, target: &Arc<Model>, catalog: &Catalog) -> Option<Vec<String>> {
    let mut ways: Vec<Vec<Arc<Model>>> = vec![vec![target.clone()]];
    let mut seen = std::collections::BTreeSet::new();
    while let Some(way) = ways.pop() {
        let last = way.last()?;
        if *last.name == *from {
            let names = way.iter().map(|model| model.name.to_string());
            return Some(names.collect());
        }
        if !seen.insert(last.name.clone()) {
            continue;
        }
        for next in last.properties.fallbacks.all() {
            if let Some(next) = catalog.get(next) {
                ways.push(way.iter().cloned().chain([next]).collect());
            }
        }
    }
    None
}

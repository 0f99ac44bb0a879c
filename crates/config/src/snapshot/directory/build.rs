//! Builds callers of other sources than `routes.yaml` for a configuration.

use super::record::{CallerProblems, CallerSource};
use crate::callers::CallerConfig;
use crate::groups::CallerGroupConfig;
use crate::snapshot::budgets;
use crate::snapshot::caller_keys::{
    BuiltKey, check_any, check_certificates, check_key_routes, describe_duplicate,
};
use crate::snapshot::callers::{BuiltCaller, CallerBuildContext};
use headgate_core::catalog::caller::external_callers::ExternalCaller;
use headgate_core::catalog::caller::{Caller, Callers, KeyDigest};
use headgate_core::catalog::model::Model;
use headgate_core::feature::section::ConfigProblemSink;
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_protocol::nearest::nearest;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 128;
/// The label in metrics of all callers that they do not name.
const OTHER: &str = "other";

/// The parts of a configuration that callers are built with.
pub(crate) struct ExternalCallerContext {
    pub build: CallerBuildContext,
    pub groups: BTreeMap<String, CallerGroupConfig>,
    pub routes: Vec<Arc<str>>,
    /// The number of callers that metrics name.
    pub metric_names: usize,
    pub callers: Arc<Callers>,
    /// Whether the listener asks clients for certificates.
    pub asks_certificates: bool,
}

/// What callers share to save memory, and which of them metrics name. Outlives configurations.
#[derive(Default)]
pub(super) struct SharedCallerParts {
    models: HashMap<Vec<String>, Arc<[ModelPattern]>>,
    names: HashSet<Arc<str>>,
    other: Option<Arc<str>>,
}

impl ExternalCallerContext {
    /// Builds a caller; reports what is wrong with it alone, and keys of callers of `routes.yaml`.
    pub(super) fn build(
        &self,
        (source, config): (CallerSource, &CallerConfig),
        shared: &mut SharedCallerParts,
        problems: &mut CallerProblems,
    ) -> ExternalCaller {
        if let Some(reason) = find_name_problem(&config.name) {
            problems.add_error("/name", reason, Some("choose another name"));
        }
        // All keys of a caller of the store may be removed before it gets another one.
        if source == CallerSource::Folder {
            check_any(config, "", problems);
        }
        let BuiltCaller { mut caller, keys } = self.build.build(config, "", problems);
        let routes: Vec<&str> = self.routes.iter().map(|name| &**name).collect();
        check_key_routes(config, "", &routes, problems);
        if !self.asks_certificates {
            check_certificates(config, "", problems);
        }
        self.check_budgets(config, &caller, problems);
        let mut digests: Vec<KeyDigest> = Vec::new();
        for BuiltKey { at, digest, .. } in &keys {
            let reason = match self.callers.holder(*digest) {
                Some(_) => describe_duplicate(false),
                None if digests.contains(digest) => describe_duplicate(true),
                None => {
                    digests.push(*digest);
                    continue;
                }
            };
            problems.add_error(at, reason.into(), None);
        }
        let models = shared.share_models(config, &caller);
        let label = shared.metric_label(&caller.name, self.metric_names);
        let finish = |caller: &Caller| {
            let mut caller = caller.clone().with_models(models.clone());
            caller.metric_label.clone_from(&label);
            Arc::new(caller)
        };
        let whole = finish(&caller);
        let keys = keys
            .into_iter()
            .map(|key| match Arc::ptr_eq(&key.holder, &caller) {
                true => (key.digest, whole.clone()),
                false => (key.digest, finish(&key.holder)),
            });
        let keys = keys.collect();
        caller = whole;
        ExternalCaller { caller, keys }
    }

    /// Warns of models that no channel serves, as for callers of `routes.yaml`.
    pub(super) fn check_models(&self, config: &CallerConfig, problems: &mut CallerProblems) {
        let catalog = &self.build.catalog;
        let own = [("/models".to_owned(), &config.models)].into_iter();
        let keys = config.keys.iter().enumerate();
        let keys =
            keys.filter_map(|(at, key)| Some((format!("/keys/{at}/models"), key.models.as_ref()?)));
        for (at, models) in own.chain(keys) {
            for (index, name) in models.iter().enumerate() {
                if catalog.may_serve(&ModelPattern::new(name)) {
                    continue;
                }
                let known = catalog.models().map(|model| &*model.name);
                let hint = nearest(name, known, 1);
                let hint = hint.first().map(|known| format!("did you mean `{known}`?"));
                let reason = format!("no channel serves model `{name}`");
                problems.add_warning(&format!("{at}/{index}"), reason, hint.as_deref());
            }
        }
    }

    /// Reports money that cannot be counted, as for callers of `routes.yaml`.
    fn check_budgets(&self, config: &CallerConfig, caller: &Caller, problems: &mut CallerProblems) {
        let may_use = |model: &Model| caller.may_use_model(&model.name);
        let catalog = &self.build.catalog;
        budgets::check_limits(&config.limits, "/limits", may_use, catalog, problems);
        for (index, key) in config.keys.iter().enumerate() {
            let at = format!("/keys/{index}/budget");
            budgets::check_limits(&key.budget.limits(), &at, may_use, catalog, problems);
        }
        let group = config.group.as_ref().and_then(|name| self.groups.get(name));
        if let Some(group) = group {
            budgets::check_limits(&group.limits, "/group", may_use, catalog, problems);
        }
    }
}

impl SharedCallerParts {
    fn share_models(&mut self, config: &CallerConfig, caller: &Caller) -> Arc<[ModelPattern]> {
        if let Some(models) = self.models.get(&config.models) {
            return models.clone();
        }
        // Whoever gives each caller a list of its own shares nothing.
        if self.models.len() >= SHARED_LISTS_MAX {
            self.models.clear();
        }
        let models = caller.models().clone();
        self.models.insert(config.models.clone(), models.clone());
        models
    }

    /// The label of a caller in metrics, if it is not its name.
    fn metric_label(&mut self, name: &Arc<str>, most: usize) -> Option<Arc<str>> {
        if self.names.len() > most {
            self.names.clear();
        }
        if self.names.contains(name) {
            return None;
        }
        if self.names.len() < most {
            self.names.insert(name.clone());
            return None;
        }
        Some(self.other.get_or_insert_with(|| OTHER.into()).clone())
    }
}

/// Equal lists of models that are shared.
const SHARED_LISTS_MAX: usize = 1_000;

/// Why no external caller can have this name, if none can: it is that of something else, or no file can have it.
pub fn find_name_problem(name: &str) -> Option<String> {
    let is_allowed = |character: char| !character.is_control() && !":/\\\"`".contains(character);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.starts_with('.') {
        let reason = "bytes that does not begin with `.`";
        Some(format!("expected a name of 1 to {NAME_BYTES_MAX} {reason}"))
    } else if name == OTHER {
        let reason = "`other` is the name in metrics of callers that they do not name";
        Some(reason.into())
    } else if !name.chars().all(is_allowed) {
        let reason = "names with `:` are those of callers that tokens claim; `/`, `\\`, quotes and control characters are not allowed";
        Some(reason.into())
    } else {
        None
    }
}

//! What the registry knows of a filter: its name, its settings, its placement and how it is built.

use super::Filter;
use super::body_edit::CheckedBodyEditor;
use super::response_inputs::ResponseVaryInputs;
use crate::callout::CalloutServices;
use crate::catalog::Catalog;
use crate::catalog::caller::Callers;
use crate::catalog::channel::TimeoutOverrides;
use crate::catalog::egress::EgressPolicy;
use crate::catalog::public_url::PublicUrl;
use crate::feature_values::FeatureTypeMap;
use crate::state::StateStore;
use crate::task::TaskSettings;
use headgate_expression::EvaluationPhase;
use headgate_protocol::{GenerationMedium, Protocol, TaskApiFormat};
use headgate_schema::CompiledSchema;
use headgate_translate::TranslationPolicy;
use http::Method;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// A filter type: its name, its settings, its placement in a chain, and how it is built.
pub struct FilterDescriptor {
    pub name: &'static str,
    /// One sentence for the reference pages and for editors.
    pub summary: &'static str,
    pub side: ChainSide,
    pub placement: FilterChainRules,
    /// JSON Schema of the settings; `None` if the filter has no settings.
    pub settings: Option<fn() -> Value>,
    /// Whether the filter may be configured by its name alone, without settings.
    pub bare: bool,
    pub build: FilterBuildFn,
}

/// Builds a filter from its settings and the build context.
pub type FilterBuildFn = fn(&Value, &BuildContext<'_>) -> Result<Arc<dyn Filter>, InvalidSettings>;

/// The chains in which a filter may be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainSide {
    Request,
    Response,
    Either,
}

/// Where a filter may be placed among the filters of its route, checked when a snapshot is built
/// (`snapshot/routes/order.rs`). A rule about two filters applies only if a route has both.
pub struct FilterChainRules {
    /// Filters that must be placed before this one.
    pub after: &'static [&'static str],
    /// Filters that must be placed after this one.
    pub before: &'static [&'static str],
    /// Whether all other filters of the chain must be placed after this one.
    pub is_first: bool,
    /// Whether all other filters of the chain must be placed before this one.
    pub is_last: bool,
    /// What must be known before this filter's hooks run, and so which filters must be placed before it.
    pub needs: &'static [FilterPrerequisite],
    /// What is known after this filter ran.
    pub provides: &'static [FilterProvision],
    /// The end of the error message about a filter that is placed too early: "`x` requires an earlier `y`", then this.
    pub reason: &'static str,
    /// Where to move a filter that is placed too early, if not directly after the other one.
    pub hint: Option<&'static str>,
    /// Whether a step with this filter may have a condition.
    pub condition: ConditionSupport,
}

/// Which conditions (`if`) a step with a filter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionSupport {
    /// A condition that is evaluated once for each exchange: all hooks of the filter run, or none.
    Exchange,
    /// As [`Self::Exchange`], or one that names the attempt: the filter then acts on each attempt.
    Attempt,
    /// As [`Self::Exchange`], and in a response chain also one that names the response's body: the filter acts on complete
    /// response bodies only.
    ResponseBody,
    /// As [`Self::Attempt`] in a request chain, and as [`Self::ResponseBody`] in a response chain.
    AttemptOrBody,
    /// As [`Self::Exchange`], but the filter is a check: a request whose condition cannot be evaluated never passes
    /// unchecked (`on_error: skip` is refused).
    Check,
    /// As [`Self::Check`], and the filter enforces what callers must not avoid: a condition that callers decide is
    /// reported as a warning.
    Guard,
    /// None: the filter must run for every request.
    Never,
}

/// What a filter requires before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterPrerequisite {
    /// The whole body, scanned. A body that no filter needs is not scanned.
    Body,
    Caller,
    Model,
}

/// What a filter determines for all later filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterProvision {
    Caller,
    Model,
    /// The channel that the request goes to.
    Channel,
    /// The channel of requests whose route has this path parameter.
    ChannelOf(&'static str),
    /// Enforcement of the caller's limits.
    Limits,
    /// A local reply to every request.
    Reply,
    /// Identification of the sender by a token in the path, in place of a caller's key.
    PathToken,
    /// A record of each paid create, under which it is made once.
    CreateRecord,
    /// Reception of callbacks of providers.
    Callbacks,
    /// Delivery of the status changes of tasks to callers.
    Events,
    /// The files of the media store, by their URLs.
    Media,
}

/// What the configuration provides for building filters.
pub struct BuildContext<'a> {
    pub callers: &'a Arc<Callers>,
    pub catalog: &'a Arc<Catalog>,
    pub state: &'a Arc<dyn StateStore>,
    /// Whether the configured state survives the end of the process.
    pub state_survives: bool,
    pub schemas: &'a dyn SchemaLookup,
    pub tasks: &'a Arc<TaskSettings>,
    /// What features share between snapshots, and what they built for this one.
    pub features: &'a FeatureTypeMap,
    pub egress: &'a Arc<EgressPolicy>,
    /// The URL that others reach this gateway by; `None` if it is not configured.
    pub public_url: Option<&'a PublicUrl>,
    /// Services that filters may ask.
    pub services: &'a CalloutServices,
    pub endpoints: &'a Arc<[ModelNamingEndpoint]>,
    /// Whether a route whose path has this part provides something: the reception of callbacks, or stored media.
    pub is_provided_at: &'a dyn Fn(&str, FilterProvision) -> bool,
    /// Name of the route whose chain is built.
    pub route: &'a str,
    /// The SHA-256 of the route and of all chains as they are written: equal only if the filters are the same.
    pub route_fingerprint: &'a str,
    /// Its protocol.
    pub protocol: Option<Protocol>,
    /// What it translates.
    pub translation: &'a TranslationPolicy,
    /// Its timeouts, which precede those of channels.
    pub timeouts: TimeoutOverrides,
    pub side: ChainSide,
    /// What the filters of the route that are built already read of a request for attempts and responses: those of the
    /// response chain, and those before this one.
    pub response_inputs: &'a dyn Fn() -> ResponseVaryInputs,
    /// The filters of the chain before this one, in order.
    pub earlier_filters: &'a dyn Fn() -> Vec<Arc<dyn Filter>>,
    /// When the condition of the filter's step is evaluated; [`EvaluationPhase::Head`] if the step has none.
    pub condition_phase: EvaluationPhase,
    /// The paths of the route.
    pub paths: &'a [RoutePath],
    /// Whether every path of the route has a `{parameter}` of this name.
    pub has_parameter: &'a dyn Fn(&str) -> bool,
    /// Receives warnings about settings that are valid but have no effect.
    pub warnings: &'a RefCell<Vec<InvalidSettings>>,
}

/// A path of a route, such as `/v1/tasks/{id}`, and its methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePath {
    pub methods: Vec<Method>,
    pub path: String,
}

impl FilterDescriptor {
    /// Whether later filters can rely on this.
    pub fn provides(&self, provision: FilterProvision) -> bool {
        self.placement.provides.contains(&provision)
    }

    pub fn needs(&self, need: FilterPrerequisite) -> bool {
        self.placement.needs.contains(&need)
    }
}

impl FilterChainRules {
    /// For a filter without requirements and provisions.
    pub const ANYWHERE: Self = Self {
        after: &[],
        before: &[],
        is_first: false,
        is_last: false,
        needs: &[],
        provides: &[],
        reason: "",
        hint: None,
        condition: ConditionSupport::Exchange,
    };
    /// As [`Self::ANYWHERE`], for a filter that refuses requests.
    pub const CHECK: Self = Self {
        condition: ConditionSupport::Check,
        ..Self::ANYWHERE
    };
    /// As [`Self::CHECK`], for a filter that callers must not avoid.
    pub const GUARD: Self = Self {
        condition: ConditionSupport::Guard,
        ..Self::ANYWHERE
    };
    /// As [`Self::ANYWHERE`], for a filter that must run for every request.
    pub const ALWAYS: Self = Self {
        condition: ConditionSupport::Never,
        ..Self::ANYWHERE
    };
}

impl FilterPrerequisite {
    /// The provision that meets the need. No filter provides the body.
    pub fn satisfied_by(self) -> Option<FilterProvision> {
        match self {
            Self::Body => None,
            Self::Caller => Some(FilterProvision::Caller),
            Self::Model => Some(FilterProvision::Model),
        }
    }
}

impl BuildContext<'_> {
    /// Whether the route is for images.
    pub fn is_image_route(&self) -> bool {
        let medium = self.protocol.map(|protocol| protocol.descriptor().medium);
        medium == Some(GenerationMedium::Image)
    }

    /// Whether video tasks of the route are created in the generic format, for channels of any family.
    pub fn is_generic_task_route(&self) -> bool {
        self.protocol.is_none_or(|protocol| {
            let tasks = protocol.descriptor().tasks;
            tasks.is_some_and(TaskApiFormat::is_generic)
        })
    }

    /// Adds a warning to the report about the configuration; the filter is built nevertheless.
    pub fn warn(&self, warning: InvalidSettings) {
        self.warnings.borrow_mut().push(warning);
    }

    /// The editor of request bodies for the filter `name`, which this context is for.
    pub fn body_editor(&self, name: &'static str) -> CheckedBodyEditor {
        CheckedBodyEditor::new(name, (self.earlier_filters)())
    }
}

/// An endpoint of a protocol whose requests name a model.
#[derive(Debug)]
pub struct ModelNamingEndpoint {
    pub protocol: Protocol,
    /// Method and path, such as `POST /v1/images/edits`.
    pub pattern: String,
}

/// Compiled request schemas by their path in `routes.yaml`.
pub trait SchemaLookup {
    /// The schema at `path`, relative to the configuration's folder.
    ///
    /// # Errors
    /// Why the file cannot be read or is no schema, and what to do.
    fn schema(&self, path: &Path) -> Result<Arc<CompiledSchema>, InvalidSettings>;

    /// The schema of a protocol's requests.
    ///
    /// # Errors
    /// As [`Self::schema`].
    fn request_schema(&self, protocol: Protocol) -> Result<Arc<CompiledSchema>, InvalidSettings> {
        self.schema(Path::new(&format!(
            "schemas/{}.schema.json",
            protocol.name()
        )))
    }
}

/// An error in a filter's settings.
#[derive(Debug)]
pub struct InvalidSettings {
    /// JSON pointer within the settings; empty for the settings as a whole.
    pub pointer: String,
    pub reason: String,
    pub hint: Option<String>,
}

/// The JSON Schema of a settings type, for [`FilterDescriptor::settings`].
pub fn settings_schema<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

/// Parses settings that the schema accepted.
///
/// # Errors
/// The settings do not fit the type, where the schema is less strict; with serde's message.
pub fn read_settings<T: DeserializeOwned>(settings: &Value) -> Result<T, InvalidSettings> {
    serde_json::from_value(settings.clone())
        .map_err(|error| InvalidSettings::new(error.to_string()))
}

/// Like [`read_settings`], with the type's default if there are no settings.
///
/// # Errors
/// Like [`read_settings`].
pub fn read_settings_or_default<T: DeserializeOwned + Default>(
    settings: &Value,
) -> Result<T, InvalidSettings> {
    match settings {
        Value::Null => Ok(T::default()),
        _ => read_settings(settings),
    }
}

impl InvalidSettings {
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            pointer: String::new(),
            reason: reason.into(),
            hint: None,
        }
    }

    /// Sets the JSON pointer of the error.
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }

    /// Sets the hint: what to change.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

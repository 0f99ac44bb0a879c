//! What the registry knows of a filter: its name, its settings, its place and how it is built.

use super::Filter;
use crate::catalog::caller::Callers;
use crate::catalog::egress::EgressPolicy;
use crate::catalog::model::Catalog;
use crate::polls::TaskStatusPoller;
use crate::protocol::Protocol;
use crate::protocol::schema::CompiledSchema;
use crate::state::StateStore;
use crate::task::TaskSettings;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// A filter as the registry knows it: its name, its settings, where it may stand, and how it is built.
pub struct FilterKind {
    pub name: &'static str,
    /// One sentence for the reference and for editors.
    pub summary: &'static str,
    pub side: ChainSide,
    pub placement: FilterPlacement,
    /// JSON Schema of its settings; none if it takes none.
    pub settings: Option<fn() -> Value>,
    /// Whether it may be written without settings.
    pub bare: bool,
    pub build: FilterBuildFn,
}

/// Builds a filter from its settings and what the configuration offers.
pub type FilterBuildFn = fn(&Value, &BuildContext<'_>) -> Result<Arc<dyn Filter>, InvalidSettings>;

/// The chain that a filter may stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainSide {
    Request,
    Response,
    Either,
}

/// Where a filter may stand among those of its route, checked when a snapshot is built
/// (`snapshot/routes/order.rs`). All of it counts only where a route has both filters.
pub struct FilterPlacement {
    /// Filters that must stand before it.
    pub after: &'static [&'static str],
    /// What must be known before its hooks run, and so which filters must stand before it.
    pub needs: &'static [FilterNeed],
    /// What is known behind it.
    pub provides: &'static [FilterProvision],
    /// Ends the message of one that stands too early: "`x` requires an earlier `y`", then this.
    pub reason: &'static str,
    /// Where to put one that stands too early, if that is not just behind the other.
    pub hint: Option<&'static str>,
}

/// What a filter works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterNeed {
    /// The whole body, scanned: nobody reads a body that no filter needs.
    Body,
    Caller,
    Model,
}

/// What a filter finds out or decides for all behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterProvision {
    Caller,
    Model,
    /// Where the request goes.
    Channel,
    /// Where a request goes that has this parameter in its path.
    ChannelOf(&'static str),
    /// The caller's limits are kept.
    Limits,
    /// A reply to every request.
    Reply,
}

/// What a configuration offers to the filters built from it.
pub struct BuildContext<'a> {
    pub callers: &'a Arc<Callers>,
    pub catalog: &'a Arc<Catalog>,
    pub state: &'a Arc<dyn StateStore>,
    pub schemas: &'a dyn SchemaLookup,
    pub tasks: &'a Arc<TaskSettings>,
    pub polls: &'a Arc<TaskStatusPoller>,
    pub egress: &'a Arc<EgressPolicy>,
    pub endpoints: &'a Arc<[ModelEndpoint]>,
    /// Of the route whose chain is built.
    pub protocol: Option<Protocol>,
    pub side: ChainSide,
    /// Whether every path of the route has a `{parameter}` of this name.
    pub has_parameter: &'a dyn Fn(&str) -> bool,
    /// Where warnings go: settings that are allowed but cannot work.
    pub warnings: &'a RefCell<Vec<InvalidSettings>>,
}

impl FilterKind {
    /// Whether filters behind it can rely on this.
    pub fn provides(&self, provision: FilterProvision) -> bool {
        self.placement.provides.contains(&provision)
    }

    pub fn needs(&self, need: FilterNeed) -> bool {
        self.placement.needs.contains(&need)
    }
}

impl FilterPlacement {
    /// Of a filter that neither needs others nor is needed.
    pub const ANYWHERE: Self = Self {
        after: &[],
        needs: &[],
        provides: &[],
        reason: "",
        hint: None,
    };
}

impl FilterNeed {
    /// What meets it; a body needs no filter.
    pub fn satisfied_by(self) -> Option<FilterProvision> {
        match self {
            Self::Body => None,
            Self::Caller => Some(FilterProvision::Caller),
            Self::Model => Some(FilterProvision::Model),
        }
    }
}

impl BuildContext<'_> {
    /// Warns whoever checks the configuration; the filter is built all the same.
    pub fn warn(&self, warning: InvalidSettings) {
        self.warnings.borrow_mut().push(warning);
    }
}

/// Where requests of a protocol that name a model go.
#[derive(Debug)]
pub struct ModelEndpoint {
    pub protocol: Protocol,
    /// Method and path: `POST /v1/images/edits`.
    pub pattern: String,
}

/// Compiled request schemas, by the path they have in `routes.yaml`.
pub trait SchemaLookup {
    /// The schema at `path`, relative to the configuration's folder.
    ///
    /// # Errors
    /// A sentence that says why the file cannot be read or is no schema.
    fn schema(&self, path: &Path) -> Result<Arc<CompiledSchema>, String>;
}

/// Settings that a filter cannot be built from.
#[derive(Debug)]
pub struct InvalidSettings {
    /// JSON pointer within the settings; empty for the whole.
    pub pointer: String,
    pub reason: String,
    pub hint: Option<String>,
}

/// The JSON Schema of a settings type, for [`FilterKind::settings`].
pub fn settings_schema<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

/// Reads settings that the schema has accepted already.
///
/// # Errors
/// What serde says, where the schema was more lenient than the type.
pub fn read_settings<T: DeserializeOwned>(settings: &Value) -> Result<T, InvalidSettings> {
    serde_json::from_value(settings.clone())
        .map_err(|error| InvalidSettings::new(error.to_string()))
}

/// As [`read_settings`]; absent settings read as the type's default.
///
/// # Errors
/// As [`read_settings`].
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

    /// Says where in the settings.
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }

    /// Says what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

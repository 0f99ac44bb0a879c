//! Sections of `routes.yaml` that features bring: their schema, what builds them, and what reports their problems.

use crate::callout::CalloutServices;
use crate::finding::code::FindingCode;
use crate::state::StateStore;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// Keys at the top level of `routes.yaml`.
#[derive(Clone, Copy)]
pub struct FeatureSectionSchema {
    pub keys: &'static [&'static str],
    /// JSON Schema of an object with these keys, with its definitions in `$defs`.
    pub schema: fn() -> Value,
}

/// What sections are built from and with.
pub struct SectionBuildContext<'a> {
    /// The values of the feature's keys that are written; the schema accepts them, variables are replaced and secrets read.
    pub values: &'a Map<String, Value>,
    /// The folder of `routes.yaml`, where its relative paths begin.
    pub folder: &'a Path,
    pub state: &'a Arc<dyn StateStore>,
    /// Whether the state outlives the process, by `state`.
    pub state_survives: bool,
    /// The services of `services`.
    pub services: &'a CalloutServices,
    /// The name of the machine, which tells the gateways of a fleet apart; empty if it has none.
    pub gateway_name: &'a str,
    /// `server.listen`.
    pub listen: &'a str,
    /// The codes of all findings, of the gateway and of its features.
    pub finding_codes: &'a [FindingCode],
    /// `server.limits.plugin_memory`, in bytes.
    pub plugin_memory: Option<usize>,
}

/// Receives the problems of a configuration, each at the JSON pointer of a value.
pub trait ConfigProblemSink {
    /// Adds an error; a configuration with errors is refused.
    fn add_error(&mut self, pointer: &str, reason: String, hint: Option<&str>);

    /// Adds a warning: a value that is valid but probably not intended.
    fn add_warning(&mut self, pointer: &str, reason: String, hint: Option<&str>);

    /// The number of errors so far.
    fn errors(&self) -> usize;
}

impl SectionBuildContext<'_> {
    /// The sections as a type whose fields are their keys.
    pub fn read<T: DeserializeOwned>(&self, problems: &mut dyn ConfigProblemSink) -> Option<T> {
        let read = T::deserialize(self.values);
        // The schema is derived from the type, so that this fails only where they disagree.
        read.map_err(|_| {
            let reason = "internal error: the section is valid by its schema and cannot be loaded; report this to the project";
            problems.error("", reason, None);
        })
        .ok()
    }
}

impl dyn ConfigProblemSink + '_ {
    /// As [`ConfigProblemSink::add_error`].
    pub fn error(&mut self, pointer: &str, reason: impl Into<String>, hint: Option<&str>) {
        self.add_error(pointer, reason.into(), hint);
    }

    /// As [`ConfigProblemSink::add_warning`].
    pub fn warning(&mut self, pointer: &str, reason: impl Into<String>, hint: Option<&str>) {
        self.add_warning(pointer, reason.into(), hint);
    }
}

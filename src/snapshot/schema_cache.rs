//! Compiles request schemas from the configuration's folder or from the program's built-in files.

use crate::filter::kind::SchemaLookup;
use crate::protocol::json::{JsonDocument, JsonLimits};
use crate::protocol::schema::{CompiledSchema, InvalidSchema};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A built-in schema: name, path, text.
macro_rules! carried {
    ($name:literal) => {
        (
            $name,
            concat!("schemas/", $name, ".schema.json"),
            include_str!(concat!("../../schemas/", $name, ".schema.json")),
        )
    };
}

/// The built-in schemas: name, path in the repository, text.
const BUILT_IN: &[(&str, &str, &str)] = &[
    carried!("chat"),
    carried!("count_tokens"),
    carried!("family_a"),
    carried!("family_a/1.0-lite"),
    carried!("family_a/1.0-pro"),
    carried!("family_a/1.5-pro"),
    carried!("family_a/2.0"),
    carried!("family_a/2.0-fast"),
    carried!("family_a/2.5"),
    carried!("family_a/2.5-vendor"),
    carried!("family_b"),
    carried!("family_b/2.x"),
    carried!("family_b/3.0"),
    carried!("image_edit"),
    carried!("messages"),
    carried!("responses"),
    carried!("video"),
];

/// The names of the built-in schemas that are profiles of models: `<protocol>/<generation>`.
pub fn built_in_profiles() -> impl Iterator<Item = &'static str> {
    let names = BUILT_IN.iter().map(|(name, _, _)| *name);
    names.filter(|name| name.contains('/'))
}

/// Compiles each schema once per snapshot, and records the files it read or tried to read.
pub struct SchemaCache {
    folder: PathBuf,
    compiled: Mutex<HashMap<PathBuf, Arc<CompiledSchema>>>,
    files: Mutex<Vec<PathBuf>>,
}

impl SchemaCache {
    /// Paths are relative to `folder`, which contains `routes.yaml`.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            compiled: Mutex::default(),
            files: Mutex::default(),
        }
    }

    /// The files that were read, or could not be read.
    pub fn into_files(self) -> Vec<PathBuf> {
        self.files
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        let file = self.folder.join(path);
        self.files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(file.clone());
        match std::fs::read_to_string(&file) {
            Ok(text) => Ok(text),
            Err(error) => BUILT_IN
                .iter()
                .find(|(_, carried, _)| {
                    error.kind() == ErrorKind::NotFound && Path::new(carried) == path
                })
                .map(|(_, _, text)| text.to_string())
                .ok_or_else(|| format!("cannot read schema `{}`: {error}", file.display())),
        }
    }
}

impl SchemaLookup for SchemaCache {
    fn schema(&self, path: &Path) -> Result<Arc<CompiledSchema>, String> {
        let known = self
            .compiled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .cloned();
        if let Some(schema) = known {
            return Ok(schema);
        }
        let text = self.text(path)?;
        let value = serde_json::from_str(&text)
            .map_err(|error| format!("schema `{}` is not valid JSON: {error}", path.display()))?;
        let schema = CompiledSchema::compile(&value)
            .map(Arc::new)
            .map_err(|invalid| {
                format!(
                    "invalid JSON Schema `{}{}",
                    path.display(),
                    place_and_reason(text, &invalid)
                )
            })?;
        self.compiled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_path_buf(), schema.clone());
        Ok(schema)
    }
}

/// The line, column and pointer of what is wrong with a schema, and the reason.
fn place_and_reason(text: String, invalid: &InvalidSchema) -> String {
    let InvalidSchema { pointer, reason } = invalid;
    let document = JsonDocument::parse(text.clone().into(), &JsonLimits::default()).ok();
    let value = document
        .as_ref()
        .and_then(|document| document.root().pointer(pointer));
    let place = value.map(|value| {
        let before = &text[..value.span().start];
        let line = before.split('\n').count();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        format!(":{line}:{}", before[start..].chars().count() + 1)
    });
    format!("{}`, at `{pointer}`: {reason}", place.unwrap_or_default())
}

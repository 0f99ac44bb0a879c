//! Compiled request schemas: from the configuration's folder, or the ones this program carries.

use crate::filter::kind::Schemas;
use crate::protocol::schema::Schema;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The schemas that come with the program, by the path they have in its repository.
const CARRIED: &[(&str, &str)] = &[
    (
        "schemas/chat.schema.json",
        include_str!("../../schemas/chat.schema.json"),
    ),
    (
        "schemas/count_tokens.schema.json",
        include_str!("../../schemas/count_tokens.schema.json"),
    ),
    (
        "schemas/messages.schema.json",
        include_str!("../../schemas/messages.schema.json"),
    ),
    (
        "schemas/responses.schema.json",
        include_str!("../../schemas/responses.schema.json"),
    ),
];

/// Compiles each schema once per snapshot, and remembers which files it read, or wanted to.
pub struct Shelf {
    folder: PathBuf,
    compiled: Mutex<HashMap<PathBuf, Arc<Schema>>>,
    files: Mutex<Vec<PathBuf>>,
}

impl Shelf {
    /// Paths are relative to `folder`, where `routes.yaml` is.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            compiled: Mutex::default(),
            files: Mutex::default(),
        }
    }

    /// The files that were read, or wanted.
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
            Err(error) => CARRIED
                .iter()
                .find(|(carried, _)| {
                    error.kind() == ErrorKind::NotFound && Path::new(carried) == path
                })
                .map(|(_, text)| text.to_string())
                .ok_or_else(|| format!("schema `{}` cannot be read: {error}", file.display())),
        }
    }
}

impl Schemas for Shelf {
    fn schema(&self, path: &Path) -> Result<Arc<Schema>, String> {
        let known = self
            .compiled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .cloned();
        if let Some(schema) = known {
            return Ok(schema);
        }
        let value = serde_json::from_str(&self.text(path)?)
            .map_err(|error| format!("schema `{}` is not JSON: {error}", path.display()))?;
        let schema = Schema::compile(&value)
            .map(Arc::new)
            .map_err(|reason| format!("`{}` is not a JSON Schema: {reason}", path.display()))?;
        self.compiled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_path_buf(), schema.clone());
        Ok(schema)
    }
}

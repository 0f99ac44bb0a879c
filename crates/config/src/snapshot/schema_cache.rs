//! Compiles request schemas from the configuration's folder or from the program's built-in files.

use headgate_core::filter::descriptor::{InvalidSettings, SchemaLookup};
use headgate_core::regular_file;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::nearest::nearest;
use headgate_schema::{CompiledSchema, InvalidSchema};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest schema, in bytes.
pub const SCHEMA_BYTES_MAX: u64 = 16 << 20;

/// A built-in schema: name, path, text.
macro_rules! carried {
    ($name:literal) => {
        (
            $name,
            concat!("schemas/", $name, ".schema.json"),
            include_str!(concat!("../../../../schemas/", $name, ".schema.json")),
        )
    };
}

/// The built-in schemas: name, path in the repository, text.
const BUILT_IN: &[(&str, &str, &str)] = &[
    carried!("chat"),
    carried!("converse"),
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
    carried!("gemini"),
    carried!("image_edit"),
    carried!("messages"),
    carried!("responses"),
    carried!("video"),
    carried!("videos"),
];

/// The names of the built-in schemas that are profiles of models: `<protocol>/<generation>`.
pub fn built_in_profiles() -> impl Iterator<Item = &'static str> {
    let names = BUILT_IN.iter().map(|(name, _, _)| *name);
    names.filter(|name| name.contains('/'))
}

/// The text of the built-in schema with this path.
pub fn built_in(path: &Path) -> Option<&'static str> {
    let mut schemas = BUILT_IN.iter();
    let found = schemas.find(|(_, built_in, _)| Path::new(built_in) == path)?;
    Some(found.2)
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

    fn text(&self, path: &Path) -> Result<String, InvalidSettings> {
        let file = self.folder.join(path);
        self.files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(file.clone());
        let error = match regular_file::read_text(&file, SCHEMA_BYTES_MAX) {
            Ok(text) => return Ok(text),
            Err(error) => error,
        };
        let is_built_in = |built_in: &str| error.is_missing() && Path::new(built_in) == path;
        let mut built_in = BUILT_IN.iter();
        match built_in.find(|(_, built_in, _)| is_built_in(built_in)) {
            Some((_, _, text)) => Ok(text.to_string()),
            None => {
                let reason = format!("cannot read schema `{}`: {error}", path.display());
                let hint = match error.is_missing() {
                    true => path_hint(&self.folder, path),
                    false => "name a file with a JSON Schema".to_owned(),
                };
                Err(InvalidSettings::new(reason).hint(hint))
            }
        }
    }
}

impl SchemaLookup for SchemaCache {
    fn schema(&self, path: &Path) -> Result<Arc<CompiledSchema>, InvalidSettings> {
        let known = self
            .compiled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .cloned();
        if let Some(schema) = known {
            return Ok(schema);
        }
        let schema = Arc::new(compile(path, &self.text(path)?)?);
        self.compiled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_path_buf(), schema.clone());
        Ok(schema)
    }
}

fn compile(path: &Path, text: &str) -> Result<CompiledSchema, InvalidSettings> {
    let path = path.display();
    let value = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or_default();
        let words = words.replace("EOF while parsing", "the file ends within");
        InvalidSettings::new(format!(
            "schema `{path}:{line}:{column}` is not valid JSON: {words}"
        ))
        .hint(format!("fix line {line} of `{path}`"))
    })?;
    CompiledSchema::compile(&value).map_err(|invalid| {
        let InvalidSchema {
            pointer,
            reason,
            hint,
        } = &invalid;
        let place = line_and_column(text, pointer);
        let reason = format!("invalid JSON Schema `{path}{place}`, at `{pointer}`: {reason}");
        let hint = hint.clone();
        InvalidSettings::new(reason).hint(hint.unwrap_or_else(|| format!("fix `{path}{place}`")))
    })
}

/// A hint for the path of a schema that does not exist: a near one beside it, or a built-in one.
fn path_hint(folder: &Path, path: &Path) -> String {
    let given = path.to_string_lossy();
    let beside = path.parent().unwrap_or(Path::new(""));
    let files = std::fs::read_dir(folder.join(beside)).into_iter().flatten();
    let files = files.filter_map(|file| Some(beside.join(file.ok()?.file_name())));
    let files: Vec<String> = files
        .map(|file| file.to_string_lossy().into_owned())
        .collect();
    let built_in = BUILT_IN.iter().map(|(_, path, _)| *path);
    let known = files.iter().map(|file| &**file).chain(built_in);
    let near = nearest(&given, known, 1);
    let relative = "the path is relative to the folder of the configuration";
    match near.first() {
        Some(near) => format!("did you mean `{near}`? {relative}"),
        None => relative.to_owned(),
    }
}

/// The line and column of a value in a schema, as text that follows the file name.
fn line_and_column(text: &str, pointer: &str) -> String {
    let text = text.to_owned();
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
    place.unwrap_or_default()
}

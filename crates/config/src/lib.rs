//! `routes.yaml` as written: read once, checked whole, every problem with its place.
//!
//! Text → located tree (`syntax`, `node`) → values (`expand`) → check (`check`, `explain`) → types (`routes`).

pub mod admin;
pub mod affinity;
pub mod aws_credentials;
mod caller_file;
pub mod caller_limits;
mod caller_problem;
pub mod caller_sources;
pub mod callers;
pub mod channel_errors;
pub mod channels;
mod check;
pub mod client_address;
pub mod comparison;
mod decimal_places;
pub mod dialects;
pub mod document;
pub mod egress;
mod expand;
mod explain;
pub mod families;
pub mod family_file;
pub mod feature_sections;
pub mod groups;
pub mod hint;
pub mod images;
pub mod issued_credentials;
mod layout;
mod mask;
pub mod model_properties;
mod node;
pub mod prices;
pub mod problem;
pub mod protocols;
pub mod provider_cloud;
mod redactor;
pub mod reload;
pub mod renamed_keys;
mod render;
pub mod resilience;
pub mod routes;
pub mod run_limits;
pub mod schema;
pub mod secrets;
pub mod services;
pub mod settings_table;
mod simplify;
pub mod snapshot;
pub mod source;
pub mod state;
mod step;
mod syntax;
mod syntax_hint;
pub mod tracing;
pub mod translation;
pub mod websocket;

pub use snapshot::directory;

use comparison::ComparableValues;
use document::{ConfigDocument, PointerLocatedProblem};
use feature_sections::FeatureSectionValues;
use headgate_core::regular_file;
use headgate_core::regular_file::UnreadableFile;
use headgate_protocol::hex::HexDisplay;
use headgate_protocol::secret_shape;
use problem::{ConfigProblem, InvalidConfig};
use routes::GatewayConfig;
use schema::FeatureSchemas;
use serde_json::Value;
use sha2::{Digest, Sha256};
use source::ConfigText;
use std::path::{Path, PathBuf};

/// Largest configuration file, in bytes.
pub const CONFIG_BYTES_MAX: u64 = 16 << 20;

/// A configuration that the schema accepts.
#[derive(Debug)]
pub struct LoadedConfig {
    pub config: GatewayConfig,
    pub sections: FeatureSectionValues,
    /// For problems that only building finds.
    pub document: ConfigDocument,
    /// The first 12 hex digits of the file's SHA-256.
    pub revision: String,
    /// Files of secrets that were read.
    pub files: Vec<PathBuf>,
}

/// A configuration that the schema accepts, for comparisons with another one.
#[derive(Debug)]
pub struct ComparableConfig {
    pub values: ComparableValues,
    pub document: ConfigDocument,
    /// Files of secrets, whose contents are among the values.
    pub secret_files: Vec<PathBuf>,
}

/// The values of a text that the schema accepts, with all variables replaced and all secrets read.
struct SchemaCheckedValues {
    value: Value,
    /// The pointers of the secrets in the values.
    secrets: Vec<String>,
    document: ConfigDocument,
    files: Vec<PathBuf>,
}

/// Reads and checks a configuration file; `env` looks up environment variables.
///
/// # Errors
/// All that is wrong with the file, or why it could not be read.
pub fn load(
    path: &Path,
    features: &FeatureSchemas,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<LoadedConfig, InvalidConfig> {
    parse(path, &read_text(path)?, features, env)
}

/// As [`load`], for a comparison.
///
/// # Errors
/// As [`load`].
pub fn load_comparable(
    path: &Path,
    features: &FeatureSchemas,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<ComparableConfig, InvalidConfig> {
    parse_comparable(path, &read_text(path)?, features, env)
}

/// Checks a configuration that was read from `path`, which names it and is where its relative paths start.
///
/// # Errors
/// All that is wrong with the text.
pub fn parse(
    path: &Path,
    text: &str,
    features: &FeatureSchemas,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<LoadedConfig, InvalidConfig> {
    let mut checked = check_text(path, text, features, env)?;
    let sections = FeatureSectionValues::taken_from(&mut checked.value, features);
    Ok(LoadedConfig {
        config: typed(checked.value, &checked.document)?,
        sections,
        document: checked.document,
        revision: compute_revision(text.as_bytes()),
        files: checked.files,
    })
}

/// As [`parse`], for a comparison.
///
/// # Errors
/// As [`parse`].
pub fn parse_comparable(
    path: &Path,
    text: &str,
    features: &FeatureSchemas,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<ComparableConfig, InvalidConfig> {
    let checked = check_text(path, text, features, env)?;
    Ok(ComparableConfig {
        values: ComparableValues::new(checked.value, &checked.secrets),
        document: checked.document,
        secret_files: checked.files,
    })
}

/// The first 12 hex digits of a file's SHA-256: its name in logs, metrics and on the admin page.
pub fn compute_revision(bytes: &[u8]) -> String {
    HexDisplay(&Sha256::digest(bytes)[..6]).to_string()
}

fn read_text(path: &Path) -> Result<String, InvalidConfig> {
    let of_file = |reason, hint| {
        let problem = ConfigProblem::for_file(reason, hint);
        InvalidConfig::new(path.to_owned(), ConfigText::default(), vec![problem])
    };
    regular_file::read_text(path, CONFIG_BYTES_MAX).map_err(|error| match error {
        UnreadableFile::NotUtf8(_) => {
            of_file(error.to_string(), Some("save the file as UTF-8".into()))
        }
        _ => of_file(format!("cannot read the file: {error}"), None),
    })
}

fn check_text(
    path: &Path,
    text: &str,
    features: &FeatureSchemas,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<SchemaCheckedValues, InvalidConfig> {
    let mut document = read_document(path, text)?;
    let (mut value, mut findings) = expand_variables(&mut document, env);

    let mut schema = schema::routes_schema(features);
    protocols::restrict_names(&mut schema, &value);
    let secret_pointers = schema::secret_pointers(&schema, &value);
    document.mask_values(&secret_pointers);
    // A value that could not be expanded has its problem already.
    let skipped = findings.iter().map(|known| known.pointer.as_str());
    let checked = check::check(&mut value, &schema, &document, &skipped.collect());
    findings.extend(checked.findings);
    let folder = path.parent().unwrap_or(Path::new(""));
    let secrets = secrets::read_files(&mut value, &secret_pointers, folder);
    findings.extend(secrets.findings);
    for content in &secrets.contents {
        document.hide(content, secret_shape::MASK);
    }
    let files = secrets.files;
    if !findings.is_empty() {
        let invalid = document.invalid_findings(findings, checked.more);
        return Err(InvalidConfig { files, ..invalid });
    }
    Ok(SchemaCheckedValues {
        value,
        secrets: secret_pointers,
        document,
        files,
    })
}

/// The values of a document with all variables replaced, and what is wrong with variables.
fn expand_variables(
    document: &mut ConfigDocument,
    env: &dyn Fn(&str) -> Option<String>,
) -> (Value, Vec<PointerLocatedProblem>) {
    let expanded = expand::expand(document.root(), document.source(), env);
    document.set_expanded(expanded.pointers);
    for (name, value) in &expanded.variables {
        document.hide(value, &format!("${{{name}}}"));
    }
    (expanded.value, expanded.findings)
}

fn read_document(path: &Path, text: &str) -> Result<ConfigDocument, InvalidConfig> {
    let document = read_yaml(path, text, "add at least `channels` and `routes`")?;
    if is_litellm(document.root()) {
        let hint = format!(
            "convert it: headgate convert litellm {} --output routes.yaml",
            path.display()
        );
        let reason = "this is a configuration of LiteLLM";
        let problem = PointerLocatedProblem::key("/model_list", reason, Some(hint));
        return Err(document.invalid_findings(vec![problem], 0));
    }
    Ok(document)
}

/// The text as a located tree, its secrets masked from the start; `needs` is the hint for an empty one.
fn read_yaml(path: &Path, text: &str, needs: &str) -> Result<ConfigDocument, InvalidConfig> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut source = ConfigText::new(text);
    source.mask(secret_shape::in_text(text));
    let root = match syntax::read(&source) {
        Ok(root) => root,
        Err(finding) => {
            let nothing = node::YamlNode::nothing();
            let mut document = ConfigDocument::new(path, source, nothing);
            document.mask(mask::in_text(text));
            return Err(InvalidConfig {
                is_malformed: true,
                ..document.invalid_findings(vec![finding], 0)
            });
        }
    };
    let secrets = mask::in_tree(&root, text);
    let is_empty = matches!(root.content, node::YamlContent::Null);
    let mut document = ConfigDocument::new(path, source, root);
    document.mask(secrets);
    match is_empty {
        true => {
            let problem = ConfigProblem::for_file("the file is empty", Some(needs.into()));
            Err(document.invalid(vec![problem]))
        }
        false => Ok(document),
    }
}

fn is_litellm(root: &node::YamlNode) -> bool {
    let node::YamlContent::Map(entries) = &root.content else {
        return false;
    };
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    has("model_list") && !has("channels")
}

/// The schema is derived from the types, so that this fails only where they disagree.
fn typed(value: Value, document: &ConfigDocument) -> Result<GatewayConfig, InvalidConfig> {
    serde_json::from_value(value).map_err(|_| {
        let reason = "internal error: the file is valid by its schema and cannot be loaded; report this to the project";
        document.invalid(vec![document.locate(PointerLocatedProblem::value("", reason, None))])
    })
}

#[cfg(test)]
mod tests;

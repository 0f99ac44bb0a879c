//! `headgate family`: what the author of a video family needs, from a vendor's documentation to a tested definition.

mod case_file;
mod case_outcome;
mod cases;
mod check;
mod create;
mod example;
mod native_case;
mod provider_answer;
mod task_host;
#[cfg(test)]
mod tests;
mod uploads;

use super::{CommandError, examples};
use headgate_config::family_file;
use headgate_config::hint::did_you_mean;
use headgate_core::task::families::{SHIPPED, shipped};
use headgate_core::task::family::upload::UploadedMedium;
use headgate_core::task::family::{MappedRequest, UnsupportedFieldPolicy, VideoFamily};
use headgate_core::task::generic::{FieldError, GenericVideoRequest};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Map, Value, json};
use std::path::Path;

#[derive(clap::Subcommand)]
pub enum VideoFamilyCommand {
    /// Writes the definition of a family to start from, and test cases for it.
    #[command(after_help = examples::FAMILY_NEW)]
    New(create::FamilyNewArgs),
    /// Validates a definition; prints the request that it makes of each kind of create, and what it refuses.
    #[command(after_help = examples::FAMILY_CHECK)]
    Check(check::FamilyCheckArgs),
    /// Runs test cases without a network.
    #[command(after_help = examples::FAMILY_TEST)]
    Test(cases::FamilyTestArgs),
}

pub fn run(command: &VideoFamilyCommand) -> Result<(), CommandError> {
    match command {
        VideoFamilyCommand::New(args) => create::run(args),
        VideoFamilyCommand::Check(args) => check::run(args),
        VideoFamilyCommand::Test(args) => cases::run(args),
    }
}

/// The family of a file, or the built-in one if there is no file of that name.
fn load(source: &str, name: Option<&str>) -> Result<VideoFamily, CommandError> {
    let path = Path::new(source);
    if path.exists() {
        let env = |name: &str| std::env::var(name).ok();
        return Ok(family_file::load(path, name, &env)?);
    }
    if let Some(text) = shipped(source) {
        return Ok(family_file::parse(path, text, Some(source), &|_| None)?);
    }
    let hint = did_you_mean(source, SHIPPED.map(|(name, _)| name));
    let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
    Err(CommandError::new(format!(
        "error: there is no file and no built-in family `{source}`{hint}"
    )))
}

/// The family's request for a create in the generic shape, whose `model` is the channel's.
fn mapped(
    family: &VideoFamily,
    model: &str,
    create: &Map<String, Value>,
) -> Result<MappedRequest, FieldError> {
    mapped_with_uploads(family, model, create, &[])
}

/// As [`mapped`], with the ids of media that were uploaded.
fn mapped_with_uploads(
    family: &VideoFamily,
    model: &str,
    create: &Map<String, Value>,
    uploaded: &[UploadedMedium],
) -> Result<MappedRequest, FieldError> {
    let document = generic_document(model, create)?;
    let request = GenericVideoRequest::read(&document)?;
    family.request_with_uploads(&request, model, UnsupportedFieldPolicy::Refuse, uploaded)
}

/// A create in the generic shape with the channel's model.
fn generic_document(model: &str, create: &Map<String, Value>) -> Result<JsonDocument, FieldError> {
    let mut body = create.clone();
    body.insert("model".into(), json!(model));
    let body = Value::Object(body).to_string();
    let document = JsonDocument::parse(body.into(), &JsonLimits::default());
    document.map_err(|error| FieldError::new("", error.to_string()))
}

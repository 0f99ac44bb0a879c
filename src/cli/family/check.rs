//! `headgate family check`: validates a definition, and prints the request that it makes of each kind of create.

use super::example::{ExampleNote, ExampleNoteKind, ModeExample, refused_media};
use super::{CommandError, load};
use crate::cli::style::{self, styled};
use headgate_core::task::family::{RequestTemplate, VideoFamily};
use serde_json::Value;

#[derive(clap::Args)]
pub struct FamilyCheckArgs {
    /// Path of the definition, or the name of a built-in family.
    family: String,
    /// Name of the family [default: that of the file]. Of a routes.yaml, the family to check.
    #[arg(long)]
    name: Option<String>,
    /// The channel's model, for families whose models differ.
    #[arg(long, default_value = MODEL)]
    model: String,
}

/// A model of no family.
const MODEL: &str = "model";

/// The id in the paths that are printed.
const ID: &str = "ID";

pub fn run(args: &FamilyCheckArgs) -> Result<(), CommandError> {
    let family = load(&args.family, args.name.as_deref())?;
    let FamilyCheckArgs {
        family: source,
        model,
        ..
    } = args;
    let (name, valid) = (&family.name, styled(style::GOOD, "valid"));
    let vendor = family.vendor.as_ref();
    let vendor = vendor.map_or(String::new(), |vendor| format!(" of {vendor}"));
    let modes = family.modes().join(", ");
    anstream::println!("{source} is {valid}: family {name}{vendor}; modes {modes}");
    let patterns: Vec<String> = family.model_patterns().collect();
    if *model == MODEL && !patterns.is_empty() {
        println!(
            "for any model but {}: give one with --model",
            patterns.join(", ")
        );
    }
    let examples = ModeExample::all(&family, model);
    let notes = shared_notes(&examples);
    for example in &examples {
        print_example(&family, example, &notes);
    }
    print_end(&family, model, &notes);
    match examples.iter().any(|example| example.request.is_ok()) {
        true => Ok(()),
        false => Err(CommandError::new(format!(
            "error: family {name} refuses every example for the model `{model}`; give one of its models with --model"
        ))),
    }
}

/// The notes that all examples have.
fn shared_notes(examples: &[ModeExample]) -> Vec<ExampleNote> {
    let found = examples.iter().filter(|example| example.request.is_ok());
    let found: Vec<_> = found.collect();
    let first = found
        .first()
        .map_or(Vec::new(), |first| first.notes.clone());
    let is_shared = |note: &ExampleNote| found.iter().all(|example| example.notes.contains(note));
    first.into_iter().filter(is_shared).collect()
}

fn print_example(family: &VideoFamily, example: &ModeExample, shared: &[ExampleNote]) {
    anstream::println!("\n{}", styled(style::STRONG, example.mode));
    match &example.request {
        Ok(request) => {
            println!("  {}", Value::Object(example.create.clone()));
            let has_medium = example.create.contains_key("medias");
            if let Some(upload) = family.upload.as_ref().filter(|_| has_medium) {
                let call = &upload.call;
                println!(
                    "  {} {} for each medium, whose id is 0 below",
                    call.method,
                    call.path_text()
                );
            }
            let method = &family.create.call.method;
            println!("  {method} {}", request.path);
            print_headers(&family.create.call);
            for line in indented(&request.body).lines() {
                println!("  {line}");
            }
        }
        Err(refusal) => println!("  refused  {refusal}"),
    }
    let own = example.notes.iter().filter(|note| !shared.contains(note));
    own.for_each(print_note);
}

fn print_end(family: &VideoFamily, model: &str, shared: &[ExampleNote]) {
    let refused = refused_media(family, model);
    if !shared.is_empty() || !refused.is_empty() {
        anstream::println!("\n{}", styled(style::STRONG, "every mode"));
    }
    shared.iter().for_each(print_note);
    for message in refused {
        println!("  refused  {message}");
    }
    let rules = family.rule_descriptions(model);
    if !rules.is_empty() {
        anstream::println!("\n{}", styled(style::STRONG, "rules"));
    }
    for rule in rules {
        println!("  {rule}");
    }
    let query = &family.query.call;
    println!("\nquery   {} {}", query.method, query.path(ID));
    print_headers(query);
    if let Some(cancel) = &family.cancel {
        println!("cancel  {} {}", cancel.call.method, cancel.call.path(ID));
        print_headers(&cancel.call);
    }
    if let Some(result) = &family.result {
        println!("result  {} {}", result.method, result.path_text());
        print_headers(result);
    }
}

fn print_headers(call: &RequestTemplate) {
    for (name, value) in call.header_texts() {
        println!("  {name}: {value}");
    }
}

fn print_note(note: &ExampleNote) {
    let ExampleNote { kind, message } = note;
    let kind = match kind {
        ExampleNoteKind::Refused => "refused",
        ExampleNoteKind::Ignored => "ignored",
        ExampleNoteKind::Limited => "limited",
    };
    println!("  {kind}  {message}");
}

/// JSON with indentation, its members in their order.
fn indented(json: &[u8]) -> String {
    let mut text = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(json);
    let mut writer = serde_json::Serializer::pretty(&mut text);
    match serde_transcode::transcode(&mut reader, &mut writer) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => String::from_utf8_lossy(json).into_owned(),
    }
}

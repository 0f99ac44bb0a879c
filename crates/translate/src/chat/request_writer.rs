//! Writes a request in the chat protocol.

mod content;
mod messages;
mod reasoning;
mod settings;
mod tools;

use crate::context::ChannelSettings;
use crate::dialect::MemberRules;
use crate::json_writer::JsonWriter;
use crate::last_author::refuse_without_messages;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::Request;
use crate::typed_value::json_text;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use messages::write_messages;
use settings::write_settings;
use tools::write_tools;

/// Members that responses write as chat does.
const SHARED_WITH_RESPONSES: [&str; 5] = [
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "user",
];
/// Members of chat that are not part of the superset.
const OWN: [&str; 16] = [
    "audio",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "metadata",
    "modalities",
    "n",
    "prediction",
    "presence_penalty",
    "prompt_cache_options",
    "seed",
    "store",
    "stop",
    "top_logprobs",
    "verbosity",
    "web_search_options",
];

/// The provider's body for a request. What it cannot say is added to `ledger`.
pub(crate) fn write_request(
    request: &Request<'_>,
    channel: &ChannelSettings,
    ledger: &mut Ledger,
) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(request.estimated_bytes());
    json.begin_object();
    json.key("model").raw(&channel.model);
    let dialect = &channel.features.chat;
    let takes_custom = dialect.tools.free_text || request.protocol == ConversationFormat::Chat;
    write_messages(request, dialect, takes_custom, &mut json, ledger);
    if json.as_bytes().ends_with(b"[]") {
        refuse_without_messages(request, ProviderFormat::Chat, ledger);
    }
    let without_thoughts = write_tools(request, dialect, takes_custom, &mut json, ledger);
    note_marks_of_tools(request, ledger);
    write_settings(request, dialect, without_thoughts, &mut json, ledger);
    if request.stream.is_some() {
        json.key("stream").bool(true);
        if dialect.stream_options {
            json.key("stream_options").begin_object();
            json.key("include_usage").bool(true).end_object();
        }
    }
    copy_members(request, &dialect.members, &mut json, ledger);
    dialect.adds.write(&[], &mut json);
    json.end_object();
    json.into_bytes()
}

/// Copies members that the caller's protocol writes as this one does.
fn copy_members(
    request: &Request<'_>,
    members: &MemberRules,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let (shared, own): (&[&'static str], &[&'static str]) = match request.protocol {
        ConversationFormat::Messages => (&[], &[]),
        ConversationFormat::Responses => (&SHARED_WITH_RESPONSES, &[]),
        ConversationFormat::Chat => (&SHARED_WITH_RESPONSES, &OWN),
    };
    for name in shared.iter().chain(own) {
        let value = request.body.get(name).filter(|value| !value.is_null());
        if let Some(value) = value
            && members.begin(name, Some(value), json, ledger)
        {
            json.raw(json_text(value));
        }
    }
    if request.protocol == ConversationFormat::Responses {
        if let Some(verbosity) = request.body.pointer("/text/verbosity")
            && members.begin("verbosity", Some(verbosity), json, ledger)
        {
            json.raw(json_text(verbosity));
        }
        copy_cache_options(request, members, json, ledger);
    }
}

/// Of the options of responses, chat has two.
fn copy_cache_options(
    request: &Request<'_>,
    members: &MemberRules,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let options = request.body.get("prompt_cache_options");
    let Some(options) = options.filter(|options| !options.is_null()) else {
        return;
    };
    if !members.begin("prompt_cache_options", Some(options), json, ledger) {
        return;
    }
    json.begin_object();
    for name in ["mode", "ttl"] {
        if let Some(value) = options.get(name) {
            json.key(name).raw(json_text(value));
        }
    }
    json.end_object();
}

/// Tools have no marks in this protocol.
fn note_marks_of_tools(request: &Request<'_>, ledger: &mut Ledger) {
    for mark in request.tools.iter().filter_map(|tool| tool.cache.as_ref()) {
        let reason = "is left out, since the chat protocol has no mark in this place";
        ledger.add(mark.at, FieldOutcome::Dropped, reason);
    }
}

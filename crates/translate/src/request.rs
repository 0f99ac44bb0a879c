//! Translates a request.

#[cfg(test)]
pub(crate) mod tests;

use crate::context::{ChannelSettings, RenamedTool};
use crate::ledger::Ledger;
use crate::superset::Request;
use crate::thinking::{restore_kept, restore_thoughts};
use crate::tool_names::renamed_tools;
use crate::{ProtocolPair, chat, converse, fields, gemini, messages, responses};
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::JsonDocument;

/// A request in the channel's protocol.
#[derive(Debug)]
pub struct TranslatedRequest {
    pub body: Vec<u8>,
    /// What it does not carry exactly. The request must not be sent if it has a refusal.
    pub ledger: Ledger,
    /// Whether the caller wants a stream.
    pub is_stream: bool,
    /// Whether the caller wants usage in the stream, where that is optional.
    pub includes_usage: bool,
    /// Names of tools that take free text and became functions.
    pub custom_tools: Vec<Box<str>>,
    /// Tools that have another name for the provider than for the caller.
    pub renamed_tools: Vec<RenamedTool>,
    /// Members that a response repeats.
    pub repeated: Vec<(&'static str, Box<str>)>,
}

/// Translates `body`, a request in the protocol of the caller.
pub fn translate_request(
    pair: ProtocolPair,
    body: &JsonDocument,
    channel: &ChannelSettings,
) -> TranslatedRequest {
    let mut ledger = Ledger::default();
    fields::audit_request(pair, body.root(), &mut ledger);
    let mut request = read(pair.caller, body, &mut ledger);
    restore_kept(&mut request, channel.sealer.as_deref(), &mut ledger);
    restore_thoughts(&mut request, channel.sealer.as_deref(), &mut ledger);
    let body = write(pair.channel, &request, channel, &mut ledger);
    TranslatedRequest {
        body,
        is_stream: request.stream.is_some(),
        includes_usage: request.stream.is_some_and(|stream| stream.includes_usage),
        custom_tools: request.custom_tools(),
        renamed_tools: renamed_tools(&request, pair.channel),
        repeated: match pair.caller {
            ConversationFormat::Responses => responses::repeated_members(&request),
            ConversationFormat::Chat | ConversationFormat::Messages => Vec::new(),
        },
        ledger,
    }
}

fn read<'a>(
    format: ConversationFormat,
    body: &'a JsonDocument,
    ledger: &mut Ledger,
) -> Request<'a> {
    match format {
        ConversationFormat::Chat => chat::read_request(body, ledger),
        ConversationFormat::Messages => messages::read_request(body, ledger),
        ConversationFormat::Responses => responses::read_request(body, ledger),
    }
}

fn write(
    format: ProviderFormat,
    request: &Request<'_>,
    channel: &ChannelSettings,
    ledger: &mut Ledger,
) -> Vec<u8> {
    match format {
        ProviderFormat::Chat => chat::write_request(request, channel, ledger),
        ProviderFormat::Messages => messages::write_request(request, channel, ledger),
        ProviderFormat::Responses => responses::write_request(request, channel, ledger),
        ProviderFormat::Gemini => gemini::write_request(request, channel, ledger),
        ProviderFormat::Converse => converse::write_request(request, channel, ledger),
    }
}

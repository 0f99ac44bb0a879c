//! Translates a whole response.

use crate::context::ResponseContext;
use crate::further_choices::note_further_choices;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{FinishReason, OutputPart, Response};
use crate::thinking::seal_response;
use crate::{ProtocolPair, chat, converse, fields, gemini, messages, responses, tool_names};
use bytes::Bytes;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};

/// The provider's response is not of its protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the provider's response is not of the {protocol} protocol: {reason}")]
pub struct UnreadableResponse {
    pub protocol: &'static str,
    pub reason: String,
}

impl UnreadableResponse {
    pub(crate) fn from_channel(pair: ProtocolPair, reason: String) -> Self {
        Self {
            protocol: pair.channel.name(),
            reason,
        }
    }
}

/// # Errors
/// The body is no JSON.
pub(crate) fn parse_response(
    pair: ProtocolPair,
    body: &Bytes,
) -> Result<JsonDocument, UnreadableResponse> {
    JsonDocument::parse(body.clone(), &JsonLimits::default())
        .map_err(|error| UnreadableResponse::from_channel(pair, error.to_string()))
}

/// Translates a success. Members that the caller's protocol cannot say are added to `ledger`.
///
/// # Errors
/// The body is not of the channel's protocol.
pub fn translate_response(
    pair: ProtocolPair,
    body: &Bytes,
    context: &ResponseContext,
    ledger: &mut Ledger,
) -> Result<Vec<u8>, UnreadableResponse> {
    let unreadable = |reason| UnreadableResponse::from_channel(pair, reason);
    let document = parse_response(pair, body)?;
    let has_seals = context.sealer.is_some();
    fields::audit_response(pair, document.root(), has_seals, ledger);
    note_further_choices(pair.channel, document.root(), ledger);
    let mut response = read(pair.channel, document.root(), &context.id).map_err(unreadable)?;
    if let Some(usage) = response
        .usage
        .as_mut()
        .filter(|_| context.total_has_thoughts)
    {
        chat::add_hidden_thoughts(document.root(), usage);
    }
    for part in &mut response.parts {
        if let OutputPart::ToolCall { name, .. } = part {
            tool_names::restore(name, &context.renamed_tools);
        }
    }
    if pair.caller == ConversationFormat::Messages {
        leave_out_cut_calls(&mut response, pair.channel, ledger);
    }
    seal_response(&mut response, pair.caller, context.sealer.clone());
    Ok(match pair.caller {
        ConversationFormat::Chat => chat::write_response(&response, context).map_err(unreadable)?,
        ConversationFormat::Messages => {
            messages::write_response(&response, context).map_err(unreadable)?
        }
        ConversationFormat::Responses => {
            responses::write_response(&response, context).map_err(unreadable)?
        }
    })
}

/// Leaves out calls whose arguments the limit of the response has cut: in the messages protocol arguments are objects.
fn leave_out_cut_calls(response: &mut Response<'_>, channel: ProviderFormat, ledger: &mut Ledger) {
    let is_cut = matches!(
        response.finish,
        Some(FinishReason::Length | FinishReason::ContextWindow | FinishReason::ContentFilter)
    );
    if !is_cut {
        return;
    }
    response.parts.retain(|part| {
        let is_whole = match part {
            OutputPart::ToolCall { arguments, .. } => arguments.object().is_some(),
            OutputPart::Text(_)
            | OutputPart::Refusal(_)
            | OutputPart::Thinking { .. }
            | OutputPart::SealedThinking(_) => true,
        };
        if !is_whole {
            let path = match channel {
                ProviderFormat::Chat => "choices[].message.tool_calls[]",
                ProviderFormat::Messages => "content[]",
                ProviderFormat::Responses => "output[]",
                ProviderFormat::Gemini => "candidates[].content.parts[]",
                ProviderFormat::Converse => "output.message.content[]",
            };
            let reason = "is a call that the end of the response has cut";
            ledger.add_path(path.to_owned(), FieldOutcome::Dropped, reason);
        }
        is_whole
    });
}

/// `id` is part of the ids of calls to which the provider gives none.
fn read<'a>(
    format: ProviderFormat,
    root: DocumentNode<'a>,
    id: &str,
) -> Result<Response<'a>, String> {
    match format {
        ProviderFormat::Chat => chat::read_response(root),
        ProviderFormat::Messages => messages::read_response(root),
        ProviderFormat::Responses => responses::read_response(root),
        ProviderFormat::Gemini => gemini::read_response(root, id),
        ProviderFormat::Converse => converse::read_response(root),
    }
}

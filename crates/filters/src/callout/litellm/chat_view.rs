//! A request as chat completions write it, in which services find images, tools and the roles of messages.

use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind, quoted};
use headgate_translate::{ChannelSettings, ProtocolPair, translate_request};
use std::sync::Arc;

/// Parts of a request, each as JSON text.
#[derive(Default)]
pub struct ChatView {
    pub messages: Vec<Vec<u8>>,
    /// URLs, of which some have the image itself.
    pub images: Vec<Vec<u8>>,
    pub tools: Vec<Vec<u8>>,
    pub tool_calls: Vec<Vec<u8>>,
}

impl ChatView {
    /// The parts of a request in this format.
    pub fn from_request(format: ConversationFormat, document: &JsonDocument) -> Self {
        match format {
            ConversationFormat::Chat => Self::from_chat(document.root()),
            ConversationFormat::Messages | ConversationFormat::Responses => {
                Self::translated(format, document).unwrap_or_default()
            }
        }
    }

    /// Only these calls of tools.
    pub fn from_tool_calls(tool_calls: Vec<Vec<u8>>) -> Self {
        Self {
            tool_calls,
            ..Self::default()
        }
    }

    fn translated(caller: ConversationFormat, document: &JsonDocument) -> Option<Self> {
        let channel = ProviderFormat::Chat;
        let pair = ProtocolPair { caller, channel };
        let channel = ChannelSettings {
            model: quoted(""),
            max_output_tokens: 1,
            features: Arc::default(),
            has_call_ids: true,
            sealer: None,
        };
        // What a translation loses is no text: those are sent from the request itself.
        let chat = translate_request(pair, document, &channel).body;
        let chat = JsonDocument::parse(chat.into(), &JsonLimits::default()).ok()?;
        Some(Self::from_chat(chat.root()))
    }

    fn from_chat(root: DocumentNode<'_>) -> Self {
        let raw = |node: DocumentNode<'_>| node.raw().to_vec();
        let mut view = Self {
            tools: elements(root.get("tools")).map(raw).collect(),
            ..Self::default()
        };
        for message in elements(root.get("messages")) {
            view.messages.push(raw(message));
            let calls = elements(message.get("tool_calls"));
            view.tool_calls.extend(calls.map(raw));
            let parts = elements(message.get("content"));
            let images = parts.filter_map(|part| part.get("image_url"));
            let urls = images.filter_map(|image| match image.kind() {
                ValueKind::String => Some(image),
                _ => image.get("url"),
            });
            view.images.extend(urls.map(raw));
        }
        view
    }
}

fn elements<'d>(list: Option<DocumentNode<'d>>) -> impl Iterator<Item = DocumentNode<'d>> {
    list.into_iter().flat_map(DocumentNode::elements)
}

//! The protocols of the two sides of a translation.

use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::{ChannelProtocol, Protocol};
use std::fmt;

/// The protocols of the two sides of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolPair {
    pub caller: ConversationFormat,
    pub channel: ProviderFormat,
}

impl ProtocolPair {
    /// The pair of a caller's protocol and a channel's; `None` if there is no translation between them.
    pub fn between(caller: Protocol, channel: Protocol) -> Option<Self> {
        Self::with_channel(caller, ChannelProtocol::by_translation(channel))
    }

    /// The pair of a caller's protocol and that of a channel's requests.
    pub fn with_channel(caller: Protocol, channel: ChannelProtocol) -> Option<Self> {
        let pair = Self {
            caller: caller.descriptor().translation?.caller_format()?,
            channel: channel.descriptor().translation?,
        };
        (pair.caller.provider_format() != pair.channel).then_some(pair)
    }

    /// Such as `messages->chat`.
    pub fn name(self) -> &'static str {
        use ProviderFormat::{Chat, Converse, Gemini, Messages, Responses};
        match (self.caller, self.channel) {
            (ConversationFormat::Chat, Chat) => "chat->chat",
            (ConversationFormat::Chat, Messages) => "chat->messages",
            (ConversationFormat::Chat, Responses) => "chat->responses",
            (ConversationFormat::Chat, Gemini) => "chat->gemini",
            (ConversationFormat::Chat, Converse) => "chat->converse",
            (ConversationFormat::Messages, Chat) => "messages->chat",
            (ConversationFormat::Messages, Messages) => "messages->messages",
            (ConversationFormat::Messages, Responses) => "messages->responses",
            (ConversationFormat::Messages, Gemini) => "messages->gemini",
            (ConversationFormat::Messages, Converse) => "messages->converse",
            (ConversationFormat::Responses, Chat) => "responses->chat",
            (ConversationFormat::Responses, Messages) => "responses->messages",
            (ConversationFormat::Responses, Responses) => "responses->responses",
            (ConversationFormat::Responses, Gemini) => "responses->gemini",
            (ConversationFormat::Responses, Converse) => "responses->converse",
        }
    }
}

impl fmt::Display for ProtocolPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_the_names_of_its_protocols() {
        for caller in ConversationFormat::ALL {
            for channel in ProviderFormat::ALL {
                let expected = format!("{}->{}", caller.name(), channel.name());
                assert_eq!(ProtocolPair { caller, channel }.name(), expected);
            }
        }
    }
}

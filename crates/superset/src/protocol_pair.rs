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
}

/// Such as `messages->chat`.
impl fmt::Display for ProtocolPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", self.caller.name(), self.channel.name())
    }
}

//! The protocol of a channel, as a type of its own.

use super::{Protocol, ProtocolDescriptor, chat};
use crate::conversation::ProviderFormat;
use crate::response_verdict::SuccessShape;
use crate::usage::UsageShape;

/// The protocol in which a channel gets requests and responds.
///
/// It is another type than the caller's [`Protocol`], so that the compiler finds where one is taken for the other: what reads
/// a provider's response takes this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelProtocol(Protocol);

impl ChannelProtocol {
    /// That of the channels which serve a caller: the caller's own, unless a filter converts its requests.
    pub fn for_caller(caller: Protocol) -> Self {
        Self(caller.on_channels())
    }

    /// That of channels which serve a caller of another protocol by translation.
    pub fn by_translation(channel: Protocol) -> Self {
        Self(channel)
    }

    /// What a success has.
    pub fn success(self) -> &'static SuccessShape {
        &self.descriptor().success
    }

    /// How usage is reported.
    pub fn usage(self) -> &'static UsageShape {
        &self.descriptor().usage
    }

    /// How the provider at `host` reports usage.
    pub fn usage_at(self, host: &str) -> &'static UsageShape {
        match self.has_thoughts_in_total(host) {
            true => &chat::GOOGLE_USAGE,
            false => self.usage(),
        }
    }

    /// Whether the provider at `host` counts thoughts only in the total: Google's API for chat.
    pub fn has_thoughts_in_total(self, host: &str) -> bool {
        host.ends_with(".googleapis.com")
            && self.descriptor().translation == Some(ProviderFormat::Chat)
    }

    /// Whether its requests are WebSockets.
    pub fn has_sessions(self) -> bool {
        self.0.has_sessions()
    }

    /// Whether requests create what is paid for one by one: videos and images.
    pub fn creates_paid_work(self) -> bool {
        self.0.creates_paid_work()
    }

    /// What the gateway knows of this protocol.
    pub fn descriptor(self) -> &'static ProtocolDescriptor {
        self.0.descriptor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::{StreamUsageMeter, TokenUsage, from_json};

    #[test]
    fn thoughts_that_only_the_total_of_google_has_are_output() {
        let chat = ChannelProtocol::by_translation(Protocol::Chat);
        for (host, counts, output, reasoning) in [
            ("generativelanguage.googleapis.com", "", 27, Some(20)),
            ("us-aiplatform.googleapis.com", "", 27, Some(20)),
            (
                "generativelanguage.googleapis.com",
                r#","completion_tokens_details":{"reasoning_tokens":0}"#,
                27,
                Some(20),
            ),
            ("googleapis.com.example", "", 7, None),
            ("api.openai.com", "", 7, None),
        ] {
            let usage = format!(
                r#"{{"usage":{{"prompt_tokens":3,"completion_tokens":7,"total_tokens":30{counts}}}}}"#
            );
            let expected = TokenUsage {
                input_tokens: Some(3),
                output_tokens: Some(output),
                total_tokens: Some(30),
                reasoning_tokens: reasoning,
                ..TokenUsage::default()
            };
            let shape = chat.usage_at(host);
            assert_eq!(from_json(shape, usage.as_bytes()), Some(expected), "{host}");
            let mut meter = StreamUsageMeter::new(shape);
            meter.event(None, usage.as_bytes());
            assert_eq!(meter.usage(), Some(expected), "{host}");
        }
        let whole = br#"{"usage":{"prompt_tokens":3,"completion_tokens":7,"total_tokens":10}}"#;
        let usage = from_json(chat.usage_at("a.googleapis.com"), whole).unwrap();
        assert_eq!(
            (usage.output_tokens, usage.reasoning_tokens),
            (Some(7), None)
        );
    }
}

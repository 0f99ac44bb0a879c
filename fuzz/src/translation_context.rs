//! What targets of translations share: pairs of protocols by their names, and seals without keys.

use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_translate::{ProtocolPair, ThinkingSealer};

pub const CALLERS: [ConversationFormat; 3] = [
    ConversationFormat::Chat,
    ConversationFormat::Messages,
    ConversationFormat::Responses,
];
const CHANNELS: [ProviderFormat; 5] = [
    ProviderFormat::Chat,
    ProviderFormat::Messages,
    ProviderFormat::Responses,
    ProviderFormat::Gemini,
    ProviderFormat::Converse,
];
/// Before the content of each seal.
const SEAL_MARK: u8 = b's';
const HANDLE: &str = "0123456789abcdef";
/// What [`HANDLE`] stands for: the seal of a text without a proof, at the first place.
const STORED_SEAL: &str = "hgt1.cwAAAAAAAAACSG0";

/// The pair of this name, such as `messages->chat`; `None` for one protocol on both sides, which needs no translation.
pub fn find_pair(name: &str) -> Option<ProtocolPair> {
    let mut pairs = CALLERS.iter().flat_map(|caller| {
        CHANNELS.iter().map(|channel| ProtocolPair {
            caller: *caller,
            channel: *channel,
        })
    });
    let named = pairs.find(|pair| pair.name() == name);
    named.filter(|pair| pair.caller.provider_format() != pair.channel)
}

/// A sealer whose seals inputs can have, since it needs no key.
#[derive(Debug)]
pub struct KeylessSealer;

impl ThinkingSealer for KeylessSealer {
    fn seal(&self, content: &[u8]) -> Vec<u8> {
        [&[SEAL_MARK], content].concat()
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        sealed.strip_prefix(&[SEAL_MARK]).map(<[u8]>::to_vec)
    }

    fn keep(&self, _seals: String) -> Option<Box<str>> {
        Some(HANDLE.into())
    }

    fn find_kept(&self, handle: &str) -> Option<&str> {
        (handle == HANDLE).then_some(STORED_SEAL)
    }
}

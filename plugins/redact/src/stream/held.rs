//! Text that is held back, and the event by which it is sent if nothing follows it.

use super::delta::StringId;
use json_text::encode;

#[derive(Debug)]
pub struct HeldText {
    /// The string of which the text is the end so far.
    pub id: StringId,
    pub text: String,
    /// The event that the text came with, without its other deltas: before and after the text.
    pub head: String,
    pub tail: String,
}

impl HeldText {
    /// Writes the event with the text.
    pub fn write(&self, sent: &mut Vec<u8>) {
        let mut event = self.head.clone();
        encode(&self.text, &mut event);
        event.push_str(&self.tail);
        sent.extend_from_slice(event.as_bytes());
    }
}

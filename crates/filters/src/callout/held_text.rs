//! The text of a held stream: what is new since the last window, with the end of what came before it.

use bytes::Bytes;
use headgate_protocol::Protocol;
use headgate_protocol::json::escapes::JsonEscapeDecoder;
use headgate_protocol::response_text::{ResponseText, TextForm, TextPart, visit_texts};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

/// Maximum number of texts of a stream; one with more cannot be checked.
const PARTS_MAX: usize = 8192;

/// The texts of the streams that the filters of a request hold, by filter.
#[derive(Default)]
pub struct HeldStreamTextsByFilter(Vec<(usize, HeldStreamText)>);

/// The texts of one stream.
#[derive(Default)]
pub struct HeldStreamText {
    parts: BTreeMap<TextPart, PartTextWindow>,
    /// The parts with text that was not released, in the order in which it began.
    fresh: Vec<TextPart>,
    /// Whether an event of the window cannot be read.
    pub is_unreadable: bool,
    /// The number of windows so far.
    pub windows: u64,
}

/// One text, which may go on.
#[derive(Default)]
struct PartTextWindow {
    /// The end of the text that was released.
    tail: String,
    fresh: String,
    is_fresh: bool,
    decoder: JsonEscapeDecoder,
    length: usize,
    hasher: DefaultHasher,
}

impl HeldStreamTextsByFilter {
    /// The texts of the filter with this identity.
    pub fn get_mut(&mut self, filter: usize) -> &mut HeldStreamText {
        let known = self.0.iter().position(|(known, _)| *known == filter);
        let index = known.unwrap_or_else(|| {
            self.0.push((filter, HeldStreamText::default()));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }
}

impl HeldStreamText {
    /// Adds the texts in the data of an event; `overlap` as in [`Self::release`].
    pub fn add(&mut self, protocol: Option<Protocol>, data: &Bytes, overlap: usize) {
        let visited = visit_texts(
            protocol.map(|it| it.descriptor().texts),
            data,
            &mut |text| {
                self.add_text(&text, overlap);
            },
        );
        if visited.is_err() {
            self.is_unreadable = true;
        }
    }

    /// Whether there is anything to decide about.
    pub fn waits(&self) -> bool {
        !self.fresh.is_empty() || self.is_unreadable
    }

    /// The texts of the window: each part with the end of what came before.
    pub fn window(&self) -> Vec<String> {
        let parts = self.fresh.iter().filter_map(|part| self.parts.get(part));
        let texts =
            parts.map(|part| format!("{}{}{}", part.tail, part.fresh, part.decoder.pending()));
        texts.collect()
    }

    /// Begins the next window. At least the last `overlap` bytes of each text are kept for it.
    pub fn release(&mut self, overlap: usize) {
        for part in std::mem::take(&mut self.fresh) {
            if let Some(part) = self.parts.get_mut(&part) {
                let fresh = std::mem::take(&mut part.fresh);
                part.tail.push_str(&fresh);
                part.tail = text_suffix(&part.tail, overlap).to_owned();
                part.is_fresh = false;
            }
        }
        self.is_unreadable = false;
        self.windows += 1;
    }

    fn add_text(&mut self, piece: &ResponseText<'_>, overlap: usize) {
        let ResponseText {
            part, text, form, ..
        } = piece;
        let is_new = !self.parts.contains_key(part);
        if is_new && self.parts.len() >= PARTS_MAX {
            self.is_unreadable = true;
            return;
        }
        let mut new = PartTextWindow::default();
        let known = self.parts.get_mut(part);
        let decoder = known.map_or(&mut new.decoder, |known| &mut known.decoder);
        let text = match form {
            TextForm::Plain => Cow::Borrowed(&**text),
            TextForm::Json => Cow::Owned(decoder.push(text)),
        };
        // Some events repeat a whole text that was sent in pieces.
        let is_repeated = is_new && self.has_whole(&text);
        let known = self.parts.entry(*part).or_insert(new);
        known.length += text.len();
        known.hasher.write(text.as_bytes());
        if is_repeated {
            known.tail = text_suffix(&text, overlap).to_owned();
            return;
        }
        if !known.is_fresh {
            known.is_fresh = true;
            self.fresh.push(*part);
        }
        known.fresh.push_str(&text);
    }

    /// Whether a text so far is this one.
    fn has_whole(&self, text: &str) -> bool {
        let mut same_length = self
            .parts
            .values()
            .filter(|known| known.length == text.len())
            .peekable();
        if same_length.peek().is_none() {
            return false;
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(text.as_bytes());
        let hash = hasher.finish();
        same_length.any(|known| known.hasher.finish() == hash)
    }
}

/// The end of a text, of at least `bytes` bytes if it has as many.
fn text_suffix(text: &str, bytes: usize) -> &str {
    let start = text.len().saturating_sub(bytes);
    &text[text.floor_char_boundary(start)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(index: u64, text: &str) -> Bytes {
        let delta = serde_json::json!({"choices": [{"index": index, "delta": {"content": text}}]});
        delta.to_string().into()
    }

    #[test]
    fn a_text_that_is_cut_by_a_window_is_whole_in_the_next() {
        for overlap in [4, 5, 100] {
            let mut held = HeldStreamText::default();
            for (index, text) in [(0, "a forb"), (1, "other")] {
                held.add(Some(Protocol::Chat), &delta(index, text), overlap);
            }
            assert!(held.waits());
            assert_eq!(held.window(), ["a forb", "other"]);
            held.release(overlap);
            assert!(!held.waits() && held.window().is_empty());
            held.add(Some(Protocol::Chat), &delta(0, "idden é"), overlap);
            let window = held.window();
            assert!(window[0].ends_with("forbidden é"), "{window:?}, {overlap}");
            held.release(overlap);
            assert_eq!(held.windows, 2);
        }
    }

    #[test]
    fn a_repeated_text_is_not_new_but_what_follows_it_is() {
        let mut held = HeldStreamText::default();
        held.add(Some(Protocol::Chat), &delta(0, "forb"), 10);
        held.release(10);
        held.add(Some(Protocol::Chat), &delta(1, "forb"), 10);
        assert!(!held.waits());
        held.add(Some(Protocol::Chat), &delta(1, "idden"), 10);
        assert_eq!(held.window(), ["forbidden"]);
    }

    #[test]
    fn escapes_in_arguments_of_tools_are_decoded_across_events_and_windows() {
        let arguments = r#"{"\u0066orbi\u0064\u0064en":"\ud83d\ude00"}"#;
        let call = |arguments: &str| {
            let call = serde_json::json!({"index": 0, "function": {"arguments": arguments}});
            let event =
                serde_json::json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
            Bytes::from(event.to_string())
        };
        for cut in 0..arguments.len() {
            for is_released in [false, true] {
                let mut held = HeldStreamText::default();
                let (first, second) = arguments.split_at(cut);
                held.add(Some(Protocol::Chat), &call(first), 100);
                assert!(held.window().concat().len() <= first.len());
                if is_released {
                    held.release(100);
                }
                held.add(Some(Protocol::Chat), &call(second), 100);
                let window = held.window().join("\n");
                assert_eq!(window, "{\"forbidden\":\"😀\"}", "cut at {cut}");
            }
        }
    }

    #[test]
    fn an_event_that_cannot_be_read_waits() {
        let mut held = HeldStreamText::default();
        held.add(Some(Protocol::Chat), &Bytes::from_static(b"{"), 10);
        assert!(held.waits() && held.is_unreadable);
        held.release(10);
        assert!(!held.waits());
    }
}

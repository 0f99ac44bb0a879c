//! Token usage of a response: from whole bodies and from the events of a stream.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::Protocol;
use super::json::skim::{self, NestedMembers};

/// The token counts in a response; `None` for a count that the provider did not send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Includes tokens from the cache in the chat and responses protocols, but not in the messages protocol.
    pub input_tokens: Option<u64>,
    /// Includes tokens spent on reasoning.
    pub output_tokens: Option<u64>,
    /// Absent in the messages protocol.
    pub total_tokens: Option<u64>,
    /// Input tokens read from the provider's cache.
    pub cached_input_tokens: Option<u64>,
    /// Input tokens written to the provider's cache.
    pub cache_write_tokens: Option<u64>,
    pub reasoning_tokens: Option<u64>,
}

/// The names of the optional counts in a protocol's usage.
pub struct UsageDetailNames {
    /// Input tokens read from the provider's cache.
    pub cached: &'static str,
    /// Input tokens written to the provider's cache.
    pub cache_write: &'static str,
    pub reasoning: &'static str,
}

/// How much of the end of an oversize event is searched for its usage, in bytes.
const TAIL_BYTES: usize = 4096;

static USAGE_KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"usage\""));

/// The names in a protocol.
pub fn detail_names(protocol: Option<Protocol>) -> UsageDetailNames {
    match protocol {
        Some(Protocol::Messages) => UsageDetailNames {
            cached: "cache_read_input_tokens",
            cache_write: "cache_creation_input_tokens",
            reasoning: "thinking_tokens",
        },
        _ => UsageDetailNames {
            cached: "cached_tokens",
            cache_write: "cache_write_tokens",
            reasoning: "reasoning_tokens",
        },
    }
}

/// The usage in a complete response body that is not a stream.
pub fn from_json(protocol: Protocol, body: &[u8]) -> Option<TokenUsage> {
    // Most providers send it last. In text that a model wrote, the quotes of this key are escaped.
    let key = USAGE_KEY.find_iter(body).last()?;
    let key_end = key + USAGE_KEY.needle().len();
    let trailing = skim::trailing_object(body, key_end, |members| read(protocol, body, members));
    trailing.unwrap_or_else(|| read_at(protocol, body, skim::find(body, &["usage"])?))
}

/// Tracks the usage in a stream.
///
/// Counts replace earlier ones and are never added: providers repeat them, and those of the messages protocol are
/// cumulative.
#[derive(Debug)]
pub struct StreamUsageMeter {
    protocol: Protocol,
    /// The counts in the first event of a messages stream, in which the output is not yet final.
    at_start: Option<TokenUsage>,
    latest: Option<TokenUsage>,
    /// The end of an event that is too large to be parsed, as far as it has arrived.
    tail: Vec<u8>,
}

impl StreamUsageMeter {
    pub fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            at_start: None,
            latest: None,
            tail: Vec::new(),
        }
    }

    /// Records an event. An event without usage costs one search through its data.
    pub fn event(&mut self, _name: Option<&[u8]>, data: &[u8]) {
        // In text that a model wrote, the quotes of this key are escaped.
        if USAGE_KEY.find(data).is_none() {
            return;
        }
        match self.protocol {
            Protocol::Chat
            | Protocol::ImageEdit
            | Protocol::Video
            | Protocol::FamilyA
            | Protocol::FamilyB => self.note_latest(data, &["usage"]),
            Protocol::Responses => self.note_latest(data, &["response", "usage"]),
            Protocol::Messages => {
                self.note_start(data);
                self.note_latest(data, &["usage"]);
            }
        }
    }

    /// The usage so far.
    pub fn usage(&self) -> Option<TokenUsage> {
        match (self.latest, self.at_start) {
            (Some(latest), Some(at_start)) => Some(latest.over(at_start)),
            (latest, at_start) => latest.or(at_start),
        }
    }

    fn note_latest(&mut self, data: &[u8], path: &[&str]) {
        let found = skim::find(data, path).and_then(|range| read_at(self.protocol, data, range));
        if let Some(usage) = found {
            self.latest = Some(usage.over(self.latest.unwrap_or_default()));
        }
    }

    /// Records a piece of an event that is too large to be parsed, by the usage near its end: providers send it last.
    pub fn oversize_piece(&mut self, raw: &[u8]) {
        let mut tail = std::mem::take(&mut self.tail);
        if raw.len() >= TAIL_BYTES {
            tail.clear();
        }
        tail.extend_from_slice(&raw[raw.len().saturating_sub(TAIL_BYTES)..]);
        tail.drain(..tail.len().saturating_sub(TAIL_BYTES));
        if let Some(key) = USAGE_KEY.find_iter(&tail).last() {
            let after = key + USAGE_KEY.needle().len();
            let start = tail[after..].iter().position(|byte| *byte == b'{');
            let usage =
                start.and_then(|start| read_at(self.protocol, &tail, after + start..tail.len()));
            if let Some(usage) = usage {
                self.latest = Some(usage.over(self.latest.unwrap_or_default()));
            }
        }
        self.tail = tail;
    }

    /// Only the first start counts: a stream may repeat it after later counts.
    fn note_start(&mut self, data: &[u8]) {
        if self.at_start.is_none() {
            let found = skim::find(data, &["message", "usage"]);
            self.at_start = found.and_then(|range| read_at(self.protocol, data, range));
        }
    }
}

impl TokenUsage {
    /// All input tokens, including those read from and written to the cache.
    pub fn input_with_cache(&self, protocol: Option<Protocol>) -> Option<u64> {
        let cache = match protocol {
            Some(Protocol::Messages) => [self.cached_input_tokens, self.cache_write_tokens],
            _ => [None, None],
        };
        let cached = cache.into_iter().flatten().fold(0, u64::saturating_add);
        Some(self.input_tokens?.saturating_add(cached))
    }

    /// The total that the provider sent, or else the sum of the counts.
    pub fn total(&self, protocol: Option<Protocol>) -> u64 {
        self.total_tokens.unwrap_or_else(|| {
            let input = self.input_with_cache(protocol).unwrap_or(0);
            input.saturating_add(self.output_tokens.unwrap_or(0))
        })
    }

    /// These counts, with those of `earlier` where they are missing. Zero after a number is no report: providers send
    /// zeros in events whose counts they do not know.
    fn over(self, earlier: Self) -> Self {
        let count = |latest: Option<u64>, earlier: Option<u64>| match latest {
            Some(0) | None => earlier.or(latest),
            Some(_) => latest,
        };
        Self {
            input_tokens: count(self.input_tokens, earlier.input_tokens),
            output_tokens: count(self.output_tokens, earlier.output_tokens),
            total_tokens: count(self.total_tokens, earlier.total_tokens),
            cached_input_tokens: count(self.cached_input_tokens, earlier.cached_input_tokens),
            cache_write_tokens: count(self.cache_write_tokens, earlier.cache_write_tokens),
            reasoning_tokens: count(self.reasoning_tokens, earlier.reasoning_tokens),
        }
    }
}

/// Parses a usage object; `None` if it is null, not an object, or has no count.
fn read_at(protocol: Protocol, json: &[u8], range: Range<usize>) -> Option<TokenUsage> {
    read(protocol, json, &mut skim::nested_members(json, range))
}

fn read(protocol: Protocol, json: &[u8], members: &mut NestedMembers<'_>) -> Option<TokenUsage> {
    let mut usage = TokenUsage::default();
    for member in members {
        if let Some(slot) = usage.slot(protocol, member.object, member.key) {
            *slot = count(&json[member.value]);
        }
    }
    (usage != TokenUsage::default()).then_some(usage)
}

impl TokenUsage {
    /// The count that a member of a usage object has; `object` is the object within it that has the member, or empty.
    fn slot(&mut self, protocol: Protocol, object: &[u8], key: &[u8]) -> Option<&mut Option<u64>> {
        let slot = match protocol {
            Protocol::Chat => match (object, key) {
                (b"", b"prompt_tokens") => &mut self.input_tokens,
                (b"", b"completion_tokens") => &mut self.output_tokens,
                (b"", b"total_tokens") => &mut self.total_tokens,
                (b"prompt_tokens_details", b"cached_tokens") => &mut self.cached_input_tokens,
                (b"prompt_tokens_details", b"cache_write_tokens") => &mut self.cache_write_tokens,
                (b"completion_tokens_details", b"reasoning_tokens") => &mut self.reasoning_tokens,
                _ => return None,
            },
            Protocol::Messages => match (object, key) {
                (b"", b"input_tokens") => &mut self.input_tokens,
                (b"", b"output_tokens") => &mut self.output_tokens,
                (b"", b"cache_read_input_tokens") => &mut self.cached_input_tokens,
                (b"", b"cache_creation_input_tokens") => &mut self.cache_write_tokens,
                (b"output_tokens_details", b"thinking_tokens") => &mut self.reasoning_tokens,
                _ => return None,
            },
            Protocol::Responses | Protocol::ImageEdit => match (object, key) {
                (b"", b"input_tokens") => &mut self.input_tokens,
                (b"", b"output_tokens") => &mut self.output_tokens,
                (b"", b"total_tokens") => &mut self.total_tokens,
                (b"input_tokens_details", b"cached_tokens") => &mut self.cached_input_tokens,
                (b"input_tokens_details", b"cache_write_tokens") => &mut self.cache_write_tokens,
                (b"output_tokens_details", b"reasoning_tokens") => &mut self.reasoning_tokens,
                _ => return None,
            },
            // The tokens of a video are all output; family B counts seconds instead.
            Protocol::Video | Protocol::FamilyA | Protocol::FamilyB => match (object, key) {
                (b"", b"completion_tokens") => &mut self.output_tokens,
                (b"", b"total_tokens") => &mut self.total_tokens,
                _ => return None,
            },
        };
        Some(slot)
    }
}

/// A count, which some providers write as 12.0.
fn count(number: &[u8]) -> Option<u64> {
    let number = std::str::from_utf8(number).ok()?;
    let whole = |number: &f64| number.fract() == 0.0 && (0.0..1e15).contains(number);
    let rounded = || number.parse::<f64>().ok().filter(whole);
    number
        .parse()
        .ok()
        .or_else(|| rounded().map(|number| number as u64))
}

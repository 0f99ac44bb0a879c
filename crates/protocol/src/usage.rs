//! Token usage of a response: from whole bodies and from the events of a stream.

mod stream_meter;
#[cfg(test)]
mod tests;

pub use stream_meter::StreamUsageMeter;

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::digits::parse_digits;
use super::json::skim::{self, TwoLevelMembers};

/// The counts in a response, of tokens unless it says otherwise; `None` for one that the provider did not send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// As reported: see `input_excludes_cache`.
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
    /// Length of the audio that a provider bills by its seconds, in milliseconds.
    pub audio_ms: Option<NonZeroU32>,
    /// Whether tokens read from and written to the cache are not part of `input_tokens`, as in the messages protocol.
    pub input_excludes_cache: bool,
}

/// The most tokens that a response can have used: a hundred times the context of the largest models.
const TOKENS_MAX: u64 = 100_000_000;
/// The longest audio that one request can have: a day.
const AUDIO_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// How a protocol reports usage.
#[derive(Clone, Copy, Debug)]
pub struct UsageShape {
    /// Where a declared protocol has the usage object; `None` if it is the member `usage` of a response.
    pub own_place: Option<&'static UsageObjectPlace>,
    /// The usage object in events.
    pub in_event: &'static [&'static str],
    /// The usage object in the first event, in which the output is not yet final.
    pub in_first_event: Option<&'static [&'static str]>,
    /// The members that are counts: the object within the usage object, or empty, the member's name, and what it counts.
    pub counts: &'static [(&'static str, &'static str, UsageCount)],
    /// See [`TokenUsage::input_excludes_cache`].
    pub input_excludes_cache: bool,
    /// Whether streams report usage only to requests that ask for it with `stream_options`.
    pub is_optional_in_streams: bool,
}

/// The usage object of a declared protocol.
#[derive(Debug)]
pub struct UsageObjectPlace {
    /// The members that lead to it.
    pub path: &'static [&'static str],
    /// Finds the last of them, with its quotes.
    pub key: Finder<'static>,
    /// The members of a body that lead to the seconds of its audio, which count if no usage is reported; empty if there are none.
    pub duration: &'static [&'static str],
}

/// What a member of a usage object counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageCount {
    Input,
    Output,
    Total,
    /// All tokens, in a protocol whose other counts may leave out thoughts.
    TotalWithThoughts,
    CachedInput,
    CacheWrite,
    Reasoning,
    /// Tokens of the input that are not part of it as the provider counts.
    FurtherInput,
    /// Tokens spent on reasoning that are not part of the output as the provider counts.
    FurtherReasoning,
    /// Seconds of audio.
    AudioSeconds,
}

/// The names of the optional counts in a protocol's usage.
pub struct UsageDetailNames {
    /// Input tokens read from the provider's cache.
    pub cached: &'static str,
    /// Input tokens written to the provider's cache.
    pub cache_write: &'static str,
    pub reasoning: &'static str,
}

static USAGE_KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"usage\""));

impl UsageShape {
    /// No usage.
    pub const NONE: Self = Self {
        own_place: None,
        in_event: &["usage"],
        in_first_event: None,
        counts: &[],
        input_excludes_cache: false,
        is_optional_in_streams: false,
    };

    /// Whether seconds of audio are reported.
    pub fn counts_audio(&self) -> bool {
        let mut counts = self.counts.iter();
        counts.any(|(_, _, count)| *count == UsageCount::AudioSeconds) || self.has_duration()
    }

    /// Whether bodies without usage may have the seconds of their audio.
    fn has_duration(&self) -> bool {
        self.own_place.is_some_and(|own| !own.duration.is_empty())
    }

    /// Finds the name of the usage object. In text that a model wrote, the quotes of this key are escaped.
    fn key(&self) -> &Finder<'static> {
        self.own_place.map_or_else(|| &*USAGE_KEY, |own| &own.key)
    }

    /// The names of the optional counts. A protocol without such a count, and a declared one, has the names that most protocols
    /// have.
    pub fn detail_names(&self) -> UsageDetailNames {
        if self.own_place.is_some() {
            return UsageDetailNames::MOST;
        }
        let name = |count, most| {
            let row = self.counts.iter().find(|(_, _, counted)| *counted == count);
            row.map_or(most, |(_, name, _)| *name)
        };
        UsageDetailNames {
            cached: name(UsageCount::CachedInput, UsageDetailNames::MOST.cached),
            cache_write: name(UsageCount::CacheWrite, UsageDetailNames::MOST.cache_write),
            reasoning: name(UsageCount::Reasoning, UsageDetailNames::MOST.reasoning),
        }
    }
}

impl UsageDetailNames {
    /// The names in most protocols.
    pub const MOST: Self = Self {
        cached: "cached_tokens",
        cache_write: "cache_write_tokens",
        reasoning: "reasoning_tokens",
    };
}

/// The usage in a complete response body that is not a stream.
pub fn from_json(shape: &UsageShape, body: &[u8]) -> Option<TokenUsage> {
    if let Some(own) = shape.own_place {
        let object = skim::find(body, own.path);
        let is_reported = |object| reports_any(shape, body, object);
        return match object {
            Some(object) if own.duration.is_empty() || is_reported(object.clone()) => {
                read_at(shape, body, object)
            }
            _ => duration(own, body),
        };
    }
    // Most providers send it last. In text that a model wrote, the quotes of this key are escaped.
    let key = USAGE_KEY.find_iter(body).last()?;
    let key_end = key + USAGE_KEY.needle().len();
    let trailing = skim::trailing_object(body, key_end, |members| read(shape, body, members));
    trailing.unwrap_or_else(|| read_at(shape, body, skim::find(body, &["usage"])?))
}

impl TokenUsage {
    /// The first count that so many requests cannot have reached, by its name in the log.
    pub fn implausible_count(&self, requests: u64) -> Option<&'static str> {
        let is_beyond = |count: u64, most: u64| count > most.saturating_mul(requests);
        let is_too_long = self
            .audio_ms
            .is_some_and(|length| is_beyond(length.get().into(), AUDIO_MS_MAX));
        let mut counts = [
            ("input_tokens", self.input_tokens),
            ("output_tokens", self.output_tokens),
            ("total_tokens", self.total_tokens),
            ("cached_input_tokens", self.cached_input_tokens),
            ("cache_write_tokens", self.cache_write_tokens),
            ("reasoning_tokens", self.reasoning_tokens),
        ]
        .into_iter();
        let too_many =
            counts.find(|(_, count)| count.is_some_and(|count| is_beyond(count, TOKENS_MAX)));
        let too_many = too_many.map(|(name, _)| name);
        too_many.or(is_too_long.then_some("audio_seconds"))
    }

    /// Whether it counts tokens, and not only something else.
    pub fn counts_tokens(&self) -> bool {
        self.input_tokens.is_some() || self.output_tokens.is_some()
    }

    /// All input tokens, including those read from and written to the cache.
    pub fn input_with_cache(&self) -> Option<u64> {
        let cache = match self.input_excludes_cache {
            true => [self.cached_input_tokens, self.cache_write_tokens],
            false => [None, None],
        };
        let cached = cache.into_iter().flatten().fold(0, u64::saturating_add);
        Some(self.input_tokens?.saturating_add(cached))
    }

    /// The total that the provider sent, or else the sum of the counts.
    pub fn total(&self) -> u64 {
        self.total_tokens.unwrap_or_else(|| {
            let input = self.input_with_cache().unwrap_or(0);
            input.saturating_add(self.output_tokens.unwrap_or(0))
        })
    }

    /// The sums of these counts and others.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            total_tokens: sum(self.total_tokens, other.total_tokens),
            cached_input_tokens: sum(self.cached_input_tokens, other.cached_input_tokens),
            cache_write_tokens: sum(self.cache_write_tokens, other.cache_write_tokens),
            reasoning_tokens: sum(self.reasoning_tokens, other.reasoning_tokens),
            audio_ms: match (self.audio_ms, other.audio_ms) {
                (Some(one), Some(other)) => Some(one.saturating_add(other.get())),
                (one, other) => one.or(other),
            },
            input_excludes_cache: self.input_excludes_cache || other.input_excludes_cache,
        }
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
            audio_ms: self.audio_ms.or(earlier.audio_ms),
            input_excludes_cache: self.input_excludes_cache,
        }
    }
}

/// Parses a usage object; `None` if it is null, not an object, or has no count.
fn read_at(shape: &UsageShape, json: &[u8], range: Range<usize>) -> Option<TokenUsage> {
    read(shape, json, &mut skim::nested_members(json, range))
}

/// Whether a usage object has a count, be it zero.
fn reports_any(shape: &UsageShape, json: &[u8], range: Range<usize>) -> bool {
    let mut members = skim::nested_members(json, range);
    members.any(|member| {
        let count = find_count(shape, member.object, member.key);
        count.is_some() && &json[member.value] != b"null"
    })
}

/// The seconds of audio of a body without usage; some providers write them as a string.
fn duration(own: &UsageObjectPlace, body: &[u8]) -> Option<TokenUsage> {
    let path = Some(own.duration).filter(|path| !path.is_empty())?;
    let value = skim::find(body, path)?;
    let number = skim::plain_string(body, value.clone()).map(str::as_bytes);
    Some(TokenUsage {
        audio_ms: Some(milliseconds(number.unwrap_or(&body[value]))?),
        ..TokenUsage::default()
    })
}

fn read(shape: &UsageShape, json: &[u8], members: &mut TwoLevelMembers<'_>) -> Option<TokenUsage> {
    let mut usage = TokenUsage::default();
    let (mut further_input, mut further_output) = (None, None);
    let mut has_hidden_thoughts = false;
    for member in members {
        let number = &json[member.value];
        match find_count(shape, member.object, member.key) {
            Some(UsageCount::FurtherInput) => further_input = count(number),
            Some(UsageCount::FurtherReasoning) => further_output = count(number),
            Some(counted) => {
                has_hidden_thoughts |= counted == UsageCount::TotalWithThoughts;
                usage.set(counted, number);
            }
            None => {}
        }
    }
    if has_hidden_thoughts {
        further_output = usage.hidden_thoughts();
    }
    usage.input_tokens = sum(usage.input_tokens, further_input);
    usage.output_tokens = sum(usage.output_tokens, further_output);
    let reasoning = usage.reasoning_tokens;
    usage.reasoning_tokens = reasoning
        .filter(|count| *count > 0)
        .or(further_output)
        .or(reasoning);
    let is_counted = usage != TokenUsage::default();
    usage.input_excludes_cache = shape.input_excludes_cache;
    is_counted.then_some(usage)
}

/// What a member of a usage object counts; `object` is the object within it that has the member, or empty.
fn find_count(shape: &UsageShape, object: &[u8], key: &[u8]) -> Option<UsageCount> {
    let mut counts = shape.counts.iter();
    let found =
        counts.find(|(place, name, _)| name.as_bytes() == key && place.as_bytes() == object);
    found.map(|(_, _, count)| *count)
}

impl TokenUsage {
    /// Tokens that only the total has.
    fn hidden_thoughts(&self) -> Option<u64> {
        let counted = self
            .input_tokens?
            .saturating_add(self.output_tokens.unwrap_or(0));
        let hidden = self.total_tokens?.saturating_sub(counted);
        (hidden > 0).then_some(hidden)
    }

    fn set(&mut self, counted: UsageCount, number: &[u8]) {
        let slot = match counted {
            UsageCount::Input | UsageCount::FurtherInput => &mut self.input_tokens,
            UsageCount::Output => &mut self.output_tokens,
            UsageCount::Total | UsageCount::TotalWithThoughts => &mut self.total_tokens,
            UsageCount::CachedInput => &mut self.cached_input_tokens,
            UsageCount::CacheWrite => &mut self.cache_write_tokens,
            UsageCount::Reasoning | UsageCount::FurtherReasoning => &mut self.reasoning_tokens,
            UsageCount::AudioSeconds => {
                self.audio_ms = milliseconds(number);
                return;
            }
        };
        *slot = count(number);
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// A count, which some providers write as 12.0.
fn count(number: &[u8]) -> Option<u64> {
    let whole = |number: &f64| number.fract() == 0.0 && (0.0..1e15).contains(number);
    let rounded = || {
        let number = std::str::from_utf8(number).ok()?.parse().ok();
        number.filter(whole).map(|number| number as u64)
    };
    parse_digits(number).or_else(rounded)
}

/// A number of seconds, which may have decimal places, in milliseconds, at most those of 49 days; `None` for zero.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion to an integer ends at its bounds"
)]
fn milliseconds(number: &[u8]) -> Option<NonZeroU32> {
    let seconds: f64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    NonZeroU32::new((seconds * 1000.0).round() as u32)
}

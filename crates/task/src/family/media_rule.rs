//! What a medium in a role must be, and how long input and output may be together.

use crate::media_kind::MediaKind;
use headgate_scalar::ByteSize;
use std::time::Duration;

/// What a medium in a role must be. What is `None` has no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaRoleRule {
    pub kind: MediaKind,
    /// Largest decoded size of a data URI.
    pub max_size: ByteSize,
    /// How many media of the role a list may have, as URLs or data URIs.
    pub max_count: Option<usize>,
    /// Longest duration of all data URIs of the role together.
    pub max_total_duration: Option<Duration>,
    /// In frames per second.
    pub min_frame_rate: Option<u32>,
    pub max_frame_rate: Option<u32>,
    /// Largest product of width and height.
    pub max_pixels: Option<u64>,
}

/// Where requests have the duration of the output.
#[derive(Debug)]
pub(super) struct OutputDurationRule {
    /// Pointer of the field, whose value is in seconds.
    pub at: String,
    pub default: Duration,
    pub max_with_videos: Duration,
}

/// The duration that a create asks for.
#[derive(Debug)]
pub struct RequestedOutputDuration {
    /// The field, such as `parameters.duration`.
    pub param: String,
    pub seconds: f64,
    /// Longest duration of output and input videos together.
    pub max_with_videos: Duration,
}

impl MediaRoleRule {
    /// The rule that both rules allow. The kind is that of the first.
    pub fn strictest(self, other: Self) -> Self {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            kind: self.kind,
            max_size: self.max_size.min(other.max_size),
            max_count: least(self.max_count, other.max_count),
            max_total_duration: least(self.max_total_duration, other.max_total_duration),
            min_frame_rate: self.min_frame_rate.max(other.min_frame_rate),
            max_frame_rate: least(self.max_frame_rate, other.max_frame_rate),
            max_pixels: least(self.max_pixels, other.max_pixels),
        }
    }
}

//! Media in a family's definition: which data URIs the provider takes, and where requests have them.

use crate::media_kind::MediaKind;
use headgate_scalar::{ByteSize, HumanDuration};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Data URIs in creates, as the filter `store_media` treats them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct FamilyMediaConfig {
    /// Kinds whose data URIs are replaced by URLs of the media store. Default: none.
    pub hosted: Vec<MediaKind>,
    /// Kinds whose data URIs the provider takes, too: they are sent as they are if the gateway has no URL for them.
    /// Default: none.
    pub inline: Vec<MediaKind>,
    /// Roles of media, and what a medium in each must be. Data URIs in other roles get 400. Default: none; all data URIs
    /// are sent as they are.
    pub roles: BTreeMap<String, MediaRoleConfig>,
    /// Where requests in the family's own protocol have URLs of media. Default: none.
    pub places: Vec<NativeMediaPlaceConfig>,
    /// Largest request that the provider takes, with URLs in the place of data URIs; a larger one gets 413. Default:
    /// `64MiB`.
    pub max_request: Option<ByteSize>,
    /// The duration of the output, and how much it and all input videos may be together. Default: no limit.
    pub output_duration: Option<OutputDurationConfig>,
    /// Headers that the provider requires for URLs of a scheme. Default: none.
    pub url_headers: Vec<UrlSchemeHeaderConfig>,
}

/// What a medium in a role must be.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MediaRoleConfig {
    /// Kind of the medium.
    pub kind: MediaKind,
    /// Largest size of a data URI, decoded; a larger one gets 413.
    pub max_size: ByteSize,
    /// How many media of this role a request may have in one list, as URLs or data URIs; more get 400. Default: no limit.
    #[serde(default)]
    pub max_count: Option<usize>,
    /// Longest duration of all data URIs of this role together, in seconds; more get 400. Default: no limit.
    #[serde(default)]
    pub max_total_duration: Option<HumanDuration>,
    /// Lowest frame rate of a video, in frames per second; less gets 400. Default: no limit.
    #[serde(default)]
    pub min_frame_rate: Option<u32>,
    /// Highest frame rate of a video, in frames per second; more gets 400. Default: no limit.
    #[serde(default)]
    pub max_frame_rate: Option<u32>,
    /// Largest product of width and height, in pixels; more get 400. Default: no limit.
    #[serde(default)]
    pub max_pixels: Option<u64>,
}

/// The duration of the output, and how much it and all input videos may be together.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OutputDurationConfig {
    /// The field in requests of the family's own protocol, as a JSON pointer. Its value is in seconds.
    pub at: String,
    /// What the provider takes for an absent field.
    pub default: HumanDuration,
    /// Longest duration of the output and all input videos that are data URIs together; more get 400.
    pub max_with_videos: HumanDuration,
}

/// A place of URLs in a request.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct NativeMediaPlaceConfig {
    /// List whose elements have media, as a JSON pointer. Default: the request itself.
    pub each_of: Option<String>,
    /// The URL, as a JSON pointer within the element; empty if the elements of the list are URLs.
    pub url: String,
    /// The role, as a JSON pointer within the element. Default: none.
    pub role_at: Option<String>,
    /// Role of a medium without one. Default: none; a data URI without a role gets 400.
    pub role: Option<String>,
}

/// A header that the provider requires for URLs of a scheme.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct UrlSchemeHeaderConfig {
    /// Start of such URLs, such as `oss://`.
    pub prefix: String,
    /// Name of the header.
    pub header: String,
    /// Value of the header.
    pub value: String,
}

//! Media in a family's definition: which data URIs the provider takes, and where requests have them.

use crate::scalar::ByteSize;
use crate::task::media_kind::MediaKind;
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
    /// Roles of media, and what a medium in each must be. Data URIs in other roles are sent as they are. Default:
    /// none.
    pub roles: BTreeMap<String, MediaRoleConfig>,
    /// Where requests in the family's own protocol have URLs of media. Default: none.
    pub places: Vec<MediaPlaceConfig>,
    /// Largest request that the provider takes, with URLs in the place of data URIs; a larger one gets 413. Default:
    /// no limit.
    pub max_request: Option<ByteSize>,
    /// Headers that the provider requires for URLs of a scheme. Default: none.
    pub url_headers: Vec<UrlHeaderConfig>,
}

/// What a medium in a role must be.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MediaRoleConfig {
    /// Kind of the medium.
    pub kind: MediaKind,
    /// Largest size of a data URI, decoded; a larger one gets 413.
    pub max_size: ByteSize,
}

/// A place of URLs in a request.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MediaPlaceConfig {
    /// List whose elements have media, as a JSON pointer. Default: the request itself.
    pub each_of: Option<String>,
    /// The URL, as a JSON pointer within the element.
    pub url: String,
    /// The role, as a JSON pointer within the element. Default: none.
    pub role_at: Option<String>,
    /// Role of a medium without one. Default: none; such a medium is sent as it is.
    pub role: Option<String>,
}

/// A header that the provider requires for URLs of a scheme.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct UrlHeaderConfig {
    /// Start of such URLs, such as `oss://`.
    pub prefix: String,
    /// Name of the header.
    pub header: String,
    /// Value of the header.
    pub value: String,
}

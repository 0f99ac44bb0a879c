//! A bucket as it is written in `routes.yaml`.

use crate::BucketSettings;
use headgate_core::catalog::base_url;
use headgate_core::feature::section::ConfigProblemSink;
use headgate_core::scalar::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

const DEFAULT_REGION: &str = "us-east-1";
const NO_NAME: &str = "expected letters, digits, `.`, `_` and `-`";
const NO_KEY: &str = "a key has no spaces, line breaks or characters beyond ASCII";
const NO_KEY_HINT: &str =
    "a file or variable may end with a line break that is not part of the key";

/// A bucket of an S3-compatible server.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BucketConfig {
    /// URL of the server, without the bucket. Default: that of AWS for the region.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// Region of the bucket. Default: us-east-1.
    #[serde(default)]
    pub region: Option<String>,
    /// Name of the bucket, which must exist.
    #[schemars(length(min = 1))]
    pub bucket: String,
    /// What the names of all files begin with, such as `headgate`. Default: nothing.
    #[serde(default)]
    pub prefix: String,
    /// Whether URLs have the bucket in their path, not in their host. Default: true with `endpoint`, else false.
    #[serde(default)]
    pub path_style: Option<bool>,
    /// Id of the access key. Use a variable, such as `${S3_ACCESS_KEY_ID}`.
    pub access_key_id: Secret,
    /// The access key. Use a variable, such as `${S3_SECRET_ACCESS_KEY}`.
    pub secret_access_key: Secret,
}

impl BucketConfig {
    /// The bucket that the section at the JSON pointer `at` describes; `None` after problems.
    pub fn build(&self, at: &str, problems: &mut dyn ConfigProblemSink) -> Option<BucketSettings> {
        let region = self.region.as_deref().unwrap_or(DEFAULT_REGION);
        let has_bucket_in_path = self.path_style.unwrap_or(self.endpoint.is_some());
        let amazon = format!("https://s3.{region}.amazonaws.com");
        let endpoint_at = format!("{at}/endpoint");
        let server = base_url::parse(self.endpoint.as_deref().unwrap_or(&amazon));
        let server = server
            .map_err(|reason| problems.error(&endpoint_at, reason, None))
            .ok()?;
        if !server.path.is_empty() {
            let reason = "the endpoint must not have a path";
            problems.error(&endpoint_at, reason, Some("use `bucket` and `prefix`"));
            return None;
        }
        let scheme = if server.tls { "https" } else { "http" };
        let authority = server.authority.to_str().ok()?;
        let texts = [
            ("region", region, true),
            ("bucket", &*self.bucket, true),
            ("access_key_id", self.access_key_id.expose(), false),
            ("secret_access_key", self.secret_access_key.expose(), false),
        ];
        let mut wrong = texts
            .iter()
            .filter(|(_, text, is_name)| !is_sendable(text, *is_name));
        if let Some((name, _, is_name)) = wrong.next() {
            let (reason, hint) = match is_name {
                true => (NO_NAME, None),
                false => (NO_KEY, Some(NO_KEY_HINT)),
            };
            problems.error(&format!("{at}/{name}"), reason, hint);
            return None;
        }
        let bucket = &self.bucket;
        Some(BucketSettings {
            endpoint: match has_bucket_in_path {
                true => format!("{scheme}://{authority}"),
                false => format!("{scheme}://{bucket}.{authority}"),
            },
            region: region.to_owned(),
            bucket: bucket.clone(),
            prefix: self.prefix.trim_matches('/').to_owned(),
            has_bucket_in_path,
            access_key_id: self.access_key_id.expose().to_owned(),
            secret_access_key: self.secret_access_key.expose().to_owned(),
        })
    }
}

/// Whether a text can be in the URL or the headers of a request.
fn is_sendable(text: &str, is_name: bool) -> bool {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty()
        && text.bytes().all(|byte| match is_name {
            true => is_name_byte(byte),
            false => byte.is_ascii_graphic(),
        })
}

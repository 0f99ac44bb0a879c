//! Signatures of AWS: Signature Version 4, in the header `authorization`.

mod canonical_request;
mod clock_offset;
#[cfg(test)]
mod tests;

use crate::state::lock::lock;
use canonical_request::{CanonicalRequest, canonical_path, canonical_query};
use chrono::DateTime;
use clock_offset::ClockOffset;
use headgate_protocol::hex::HexDisplay;
use hmac::{Hmac, Mac};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Mutex;

/// Signs requests with the access key of one account, for one service in one region.
pub struct AwsSigner {
    access_key: AwsAccessKey,
    region: Box<str>,
    service: Box<str>,
    /// The key of the day of the last request.
    current: Mutex<Option<DerivedKey>>,
    clock: ClockOffset,
}

/// An access key as AWS issues it. All parts are visible ASCII.
pub struct AwsAccessKey {
    pub id: Box<str>,
    pub secret: Box<str>,
    /// That of temporary keys.
    pub session_token: Option<Box<str>>,
}

/// The key that signs the requests of one day.
struct DerivedKey {
    /// Such as `20150830`.
    day: String,
    key: [u8; 32],
}

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const X_AMZ_DATE: HeaderName = HeaderName::from_static("x-amz-date");
const X_AMZ_CONTENT_SHA256: HeaderName = HeaderName::from_static("x-amz-content-sha256");
const X_AMZ_SECURITY_TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");

impl AwsSigner {
    pub fn new(access_key: AwsAccessKey, region: &str, service: &str) -> Self {
        Self {
            access_key,
            region: region.into(),
            service: service.into(),
            current: Mutex::new(None),
            clock: ClockOffset::default(),
        }
    }

    pub fn access_key(&self) -> &AwsAccessKey {
        &self.access_key
    }

    /// Learns how far the clock of AWS is ahead, at most 15 minutes, from the `date` of an error response to a signed request
    /// that says so; `now_ms` is in Unix milliseconds. Returns whether the next signature has another time.
    pub fn learn_clock(&self, headers: &HeaderMap, error_body: &[u8], now_ms: u64) -> bool {
        self.clock.learn(headers, error_body, now_ms)
    }

    /// Adds the headers of a signature at `now_ms`, in Unix milliseconds, in place of earlier ones. `body` is the SHA-256 of
    /// the body. Signed are `host`, `content-type` and all of `x-amz-`; others may change on the way.
    pub fn sign(
        &self,
        method: &Method,
        target: &Uri,
        headers: &mut HeaderMap,
        body: [u8; 32],
        now_ms: u64,
    ) {
        let time = basic_time(self.clock.add_to(now_ms));
        let digest = HexDisplay(&body).to_string();
        headers.insert(X_AMZ_DATE, ascii(&time));
        headers.insert(X_AMZ_CONTENT_SHA256, ascii(&digest));
        headers.remove(X_AMZ_SECURITY_TOKEN);
        if let Some(token) = &self.access_key.session_token {
            headers.insert(X_AMZ_SECURITY_TOKEN, secret_value(token));
        }
        let is_signed = |name: &HeaderName| {
            *name == header::HOST
                || *name == header::CONTENT_TYPE
                || name.as_str().starts_with("x-amz-")
        };
        let signed = headers.iter().filter(|(name, _)| is_signed(name));
        let signed = signed.map(|(name, value)| (name.as_str(), value.as_bytes()));
        let request = CanonicalRequest::new(
            method.as_str(),
            &canonical_path(target.path()),
            &canonical_query(target.query().unwrap_or_default()),
            signed,
            &digest,
        );
        let authorization = self.authorization(&request, &time);
        headers.insert(header::AUTHORIZATION, secret_value(&authorization));
    }

    /// The value of `authorization`; `time` is that of `x-amz-date`.
    fn authorization(&self, request: &CanonicalRequest, time: &str) -> String {
        let day = &time[..8];
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let digest = Sha256::digest(&request.bytes);
        let digest = HexDisplay(&digest);
        let string_to_sign = format!("{ALGORITHM}\n{time}\n{scope}\n{digest}");
        let signature = hmac(&self.derived_key(day), &string_to_sign);
        let signature = HexDisplay(&signature);
        format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders={}, Signature={signature}",
            self.access_key.id, request.signed_headers
        )
    }

    fn derived_key(&self, day: &str) -> [u8; 32] {
        let mut current = lock(&self.current);
        if let Some(known) = current.as_ref().filter(|known| known.day == day) {
            return known.key;
        }
        let first = format!("AWS4{}", self.access_key.secret);
        let key = hmac(first.as_bytes(), day);
        let key = [&*self.region, &*self.service, "aws4_request"]
            .iter()
            .fold(key, |key, part| hmac(&key, part));
        *current = Some(DerivedKey {
            day: day.to_owned(),
            key,
        });
        key
    }
}

impl fmt::Debug for AwsSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsSigner")
    }
}

/// A time of ISO 8601 in its basic form, such as `20150830T123600Z`.
fn basic_time(now_ms: u64) -> String {
    let now = i64::try_from(now_ms).unwrap_or(i64::MAX);
    let now = DateTime::from_timestamp_millis(now).unwrap_or_default();
    now.format("%Y%m%dT%H%M%SZ").to_string()
}

fn hmac(key: &[u8], text: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().into()
}

fn ascii(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("parts of access keys, dates and digests are visible ASCII")
}

fn secret_value(text: &str) -> HeaderValue {
    let mut value = ascii(text);
    value.set_sensitive(true);
    value
}

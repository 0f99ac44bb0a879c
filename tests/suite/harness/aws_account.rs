//! An account of AWS, which verifies signatures as AWS documents them, from nothing but the bytes of a request.

use super::config::sha256;
use super::connection::find;
use chrono::{NaiveDateTime, Utc};
use headgate_protocol::percent_encoding::decoded_bytes;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

/// An account with one access key.
#[derive(Clone)]
pub struct AwsAccount {
    pub access_key_id: &'static str,
    pub secret_access_key: &'static str,
    pub session_token: Option<&'static str>,
    pub region: &'static str,
    pub service: &'static str,
}

/// The head of a request in parts.
struct RequestParts<'r> {
    method: &'r str,
    path: &'r str,
    query: &'r str,
    /// Names in lower case.
    headers: Vec<(String, &'r str)>,
    body: &'r [u8],
}

/// What `authorization` says.
struct Authorization<'r> {
    credential: &'r str,
    signed_headers: Vec<&'r str>,
    signature: &'r str,
}

impl AwsAccount {
    /// The credential of a channel that uses the account.
    pub fn credential(&self) -> Value {
        let mut credential = json!({
            "access_key_id": self.access_key_id,
            "secret_access_key": self.secret_access_key,
            "region": self.region,
        });
        if let Some(token) = self.session_token {
            credential["session_token"] = json!(token);
        }
        if self.service != "bedrock" {
            credential["service"] = json!(self.service);
        }
        json!({"aws": credential})
    }

    /// # Errors
    /// Why AWS refuses the request.
    pub fn verify(&self, request: &[u8]) -> Result<(), String> {
        let request = RequestParts::parse(request)?;
        let authorization = Authorization::parse(request.header("authorization")?)?;
        let time = request.header("x-amz-date")?;
        self.check_time(time)?;
        let scope = format!(
            "{}/{}/{}/aws4_request",
            &time[..8],
            self.region,
            self.service
        );
        if authorization.credential != format!("{}/{scope}", self.access_key_id) {
            return Err(format!("credential {}", authorization.credential));
        }
        if self.session_token != request.header("x-amz-security-token").ok() {
            return Err("The security token included in the request is invalid.".into());
        }
        let digest = sha256(request.body);
        if request.header("x-amz-content-sha256")? != digest {
            return Err("x-amz-content-sha256 is not that of the body".into());
        }
        let canonical = request.canonical(&authorization.signed_headers, &digest)?;
        let to_sign = format!(
            "AWS4-HMAC-SHA256\n{time}\n{scope}\n{}",
            sha256(canonical.as_bytes())
        );
        let first = format!("AWS4{}", self.secret_access_key).into_bytes();
        let mut key = first;
        for part in scope.split('/') {
            key = hmac(&key, part);
        }
        let signature = hmac(&key, &to_sign);
        let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        match signature == authorization.signature {
            true => Ok(()),
            false => Err(format!(
                "The request signature we calculated does not match: {canonical}"
            )),
        }
    }

    /// AWS takes times of the last and next five minutes.
    fn check_time(&self, time: &str) -> Result<(), String> {
        let parsed = NaiveDateTime::parse_from_str(time, "%Y%m%dT%H%M%SZ");
        let parsed = parsed.map_err(|error| format!("{time}: {error}"))?;
        let age = Utc::now().naive_utc() - parsed;
        match age.num_seconds().abs() <= 300 {
            true => Ok(()),
            false => Err(format!("Signature expired: {time}")),
        }
    }
}

impl<'r> RequestParts<'r> {
    fn parse(request: &'r [u8]) -> Result<Self, String> {
        let end = find(request, b"\r\n\r\n").ok_or("no head")?;
        let head = std::str::from_utf8(&request[..end]).map_err(|error| error.to_string())?;
        let (line, fields) = head.split_once("\r\n").ok_or("no headers")?;
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().ok_or("no target")?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let fields = fields
            .split("\r\n")
            .filter_map(|field| field.split_once(':'));
        let headers = fields.map(|(name, value)| (name.to_ascii_lowercase(), value.trim()));
        Ok(Self {
            method,
            path,
            query,
            headers: headers.collect(),
            body: &request[end + 4..],
        })
    }

    /// The one value of a header.
    fn header(&self, name: &str) -> Result<&'r str, String> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Ok(value),
            (None, _) => Err(format!("no `{name}`")),
            (Some(_), Some(_)) => Err(format!("`{name}` came twice")),
        }
    }

    fn canonical(&self, signed: &[&str], digest: &str) -> Result<String, String> {
        let must_be_signed =
            |name: &str| name == "host" || name == "content-type" || name.starts_with("x-amz-");
        let names = self.headers.iter().map(|(name, _)| &**name);
        let unsigned = names.filter(|name| must_be_signed(name) && !signed.contains(name));
        if let Some(name) = { unsigned }.next() {
            return Err(format!("`{name}` is not signed"));
        }
        if let Some(name) = signed.iter().find(|name| !must_be_signed(name)) {
            return Err(format!("`{name}` may change on the way"));
        }
        if !signed.is_sorted() {
            return Err("signed headers are not in order".into());
        }
        let mut lines = String::new();
        for name in signed {
            lines += &format!("{name}:{}\n", self.header(name)?);
        }
        // Each segment is decoded to what it means, and encoded twice.
        let segments = self.path.split('/');
        let segments = segments.map(|segment| {
            let once = encoded(&decoded_bytes(segment.as_bytes()));
            encoded(once.as_bytes())
        });
        let path = segments.collect::<Vec<_>>().join("/");
        let mut members: Vec<String> = self
            .query
            .split('&')
            .filter(|member| !member.is_empty())
            .map(|member| {
                let (name, value) = member.split_once('=').unwrap_or((member, ""));
                let part = |text: &str| encoded(&decoded_bytes(text.as_bytes()));
                format!("{}={}", part(name), part(value))
            })
            .collect();
        members.sort();
        Ok(format!(
            "{}\n{path}\n{}\n{lines}\n{}\n{digest}",
            self.method,
            members.join("&"),
            signed.join(";")
        ))
    }
}

impl<'r> Authorization<'r> {
    fn parse(value: &'r str) -> Result<Self, String> {
        let parts = value.strip_prefix("AWS4-HMAC-SHA256 ");
        let parts: Vec<&str> = parts.ok_or("another algorithm")?.split(", ").collect();
        let part = |at: usize, name: &str| {
            let part = parts.get(at).and_then(|part| part.strip_prefix(name));
            part.ok_or(format!("no `{name}` in {value}"))
        };
        Ok(Self {
            credential: part(0, "Credential=")?,
            signed_headers: part(1, "SignedHeaders=")?.split(';').collect(),
            signature: part(2, "Signature=")?,
        })
    }
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// `UriEncode` of the documentation.
fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(*byte));
            }
            other => text += &format!("%{other:02X}"),
        }
    }
    text
}

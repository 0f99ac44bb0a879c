//! The head of a request to a provider, and its form in each version of HTTP.

use bytes::Bytes;
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderValue, Method, Uri, Version, header};
use pingora_error::{Error, ErrorType, OrErr};
use pingora_http::RequestHeader;

const END_OF_LINE: &[u8] = b"\r\n";
const CHUNKED: &[u8] = b"transfer-encoding: chunked\r\n";
/// Bytes of a request line and of a whole head beside what varies.
const FIXED: usize = " HTTP/1.1\r\n".len() + " \r\n".len();

/// The head of a request.
pub struct RequestHead<'r> {
    pub method: &'r Method,
    /// Path and query.
    pub target: &'r Uri,
    /// With `host`.
    pub headers: &'r HeaderMap,
    pub scheme: Scheme,
    pub authority: &'r HeaderValue,
    /// The length of the body is not known.
    pub has_unknown_length: bool,
}

impl RequestHead<'_> {
    /// The head in HTTP/1.1 (RFC 9112, section 3). Neither names nor values of the crate `http` have line breaks.
    pub fn to_http1(&self) -> Bytes {
        let target = self.target.path_and_query();
        let target = target.map_or("/", |target| target.as_str());
        let fields = self.headers.iter();
        let fields: usize = fields
            .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len())
            .sum();
        let method = self.method.as_str();
        let framing = match self.has_unknown_length {
            true => CHUNKED,
            false => b"",
        };
        // The exact size: `Bytes` of a vector with more room need a second piece of memory.
        let size = method.len() + target.len() + fields + framing.len() + FIXED;
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(method.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(target.as_bytes());
        bytes.extend_from_slice(b" HTTP/1.1\r\n");
        for (name, value) in self.headers {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(END_OF_LINE);
        }
        bytes.extend_from_slice(framing);
        bytes.extend_from_slice(END_OF_LINE);
        bytes.into()
    }

    /// The head in HTTP/2, which has scheme and authority in place of `host`.
    ///
    /// # Errors
    /// The host is not a valid authority.
    pub fn to_http2(&self) -> Result<Box<RequestHeader>, Box<Error>> {
        let unsendable = || "a request without a valid host";
        let authority = Authority::try_from(self.authority.as_bytes());
        let mut uri = self.target.clone().into_parts();
        uri.scheme = Some(self.scheme.clone());
        uri.authority = Some(authority.or_err_with(ErrorType::InvalidHTTPHeader, unsendable)?);
        let (mut parts, ()) = http::Request::new(()).into_parts();
        parts.version = Version::HTTP_2;
        parts.method = self.method.clone();
        parts.headers = self.headers.clone();
        parts.headers.remove(header::HOST);
        parts.uri = Uri::from_parts(uri).or_err_with(ErrorType::InvalidHTTPHeader, unsendable)?;
        Ok(Box::new(RequestHeader::from(parts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_the_host_in_its_place() {
        let authority = HeaderValue::from_static("provider.example:8443");
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, authority.clone());
        headers.append("a", HeaderValue::from_static("b"));
        headers.append("a", HeaderValue::from_static("c"));
        let target = Uri::from_static("/v1/x?y=z");
        let mut head = RequestHead {
            method: &Method::POST,
            target: &target,
            headers: &headers,
            scheme: Scheme::HTTPS,
            authority: &authority,
            has_unknown_length: false,
        };
        let fields = "host: provider.example:8443\r\na: b\r\na: c\r\n";
        let line = "POST /v1/x?y=z HTTP/1.1\r\n";
        assert_eq!(head.to_http1(), format!("{line}{fields}\r\n"));
        head.has_unknown_length = true;
        let chunked = format!("{line}{fields}transfer-encoding: chunked\r\n\r\n");
        assert_eq!(head.to_http1(), chunked);
        let http2 = head.to_http2().unwrap();
        assert_eq!(http2.uri, "https://provider.example:8443/v1/x?y=z");
        assert!(!http2.headers.contains_key(header::HOST));
        assert_eq!(http2.headers.get_all("a").iter().count(), 2);
    }
}

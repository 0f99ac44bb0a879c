//! A proxy through which the gateway connects to providers: HTTP CONNECT (RFC 9110, section 9.3.6) or SOCKS5 (RFC 1928).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headgate_protocol::percent_encoding::decoded;
use std::fmt;
use std::sync::Arc;

/// The longest user name and password of SOCKS5, in bytes (RFC 1929).
const CREDENTIAL_BYTES_MAX: usize = 255;

/// An outbound proxy. It prints without its credential.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OutboundProxy {
    pub protocol: OutboundProxyProtocol,
    pub host: Arc<str>,
    pub port: u16,
    pub credential: Option<OutboundProxyCredential>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutboundProxyProtocol {
    HttpConnect,
    Socks5,
}

/// What the proxy identifies the gateway by.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OutboundProxyCredential {
    pub user: String,
    pub password: String,
}

impl OutboundProxy {
    /// Parses a URL such as `http://user:password@proxy.example:3128` or `socks5://proxy.example:1080`.
    ///
    /// # Errors
    /// A sentence that says what is wrong, without the URL, which may have a password.
    pub fn parse(url: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = url.split_once("://").ok_or(
            "a proxy is a URL such as `http://proxy.example:3128` or `socks5://proxy.example:1080`",
        )?;
        let protocol = match &*scheme.to_ascii_lowercase() {
            "http" => OutboundProxyProtocol::HttpConnect,
            "socks5" | "socks5h" => OutboundProxyProtocol::Socks5,
            "https" => {
                return Err(
                    "TLS to a proxy is not supported; write `http://` if the proxy takes CONNECT without TLS",
                );
            }
            _ => return Err("the scheme of a proxy is `http` or `socks5`"),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (credential, authority) = match rest.rsplit_once('@') {
            Some((credential, authority)) => (Some(parse_credential(credential)?), authority),
            None => (None, rest),
        };
        let (host, port) = parse_authority(authority)?;
        Ok(Self {
            protocol,
            host,
            port,
            credential,
        })
    }

    /// The value of `proxy-authorization` (RFC 7617), if the proxy has a credential.
    pub fn basic_authorization(&self) -> Option<String> {
        let OutboundProxyCredential { user, password } = self.credential.as_ref()?;
        let encoded = STANDARD.encode(format!("{user}:{password}"));
        Some(format!("Basic {encoded}"))
    }
}

fn parse_credential(text: &str) -> Result<OutboundProxyCredential, &'static str> {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    let (user, password) = (decoded(user), decoded(password));
    let is_bounded = |text: &str| text.len() <= CREDENTIAL_BYTES_MAX;
    if user.is_empty() || !is_bounded(&user) || !is_bounded(&password) {
        return Err("user and password of a proxy have 1 to 255 bytes");
    }
    if user.contains(':') || user.contains(char::is_control) || password.contains(char::is_control)
    {
        return Err(
            "user and password of a proxy must not have control characters, and the user no colon",
        );
    }
    Ok(OutboundProxyCredential {
        user: user.into_owned(),
        password: password.into_owned(),
    })
}

fn parse_authority(authority: &str) -> Result<(Arc<str>, u16), &'static str> {
    const PORT: &str = "a proxy needs a host and a port, as in `http://proxy.example:3128`";
    let (host, port) = authority.rsplit_once(':').ok_or(PORT)?;
    let port = port.parse().ok().filter(|port| *port > 0).ok_or(PORT)?;
    let bracketed = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_name = !host.is_empty() && host.bytes().all(is_part);
    match bracketed {
        Some(address) if address.parse::<std::net::Ipv6Addr>().is_ok() => {
            Ok((address.into(), port))
        }
        None if is_name => Ok((host.into(), port)),
        _ => Err("the host of a proxy is a name or an IP address"),
    }
}

impl fmt::Display for OutboundProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.protocol {
            OutboundProxyProtocol::HttpConnect => "http",
            OutboundProxyProtocol::Socks5 => "socks5",
        };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Debug for OutboundProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{OutboundProxy, OutboundProxyProtocol};

    #[test]
    fn a_proxy_is_taken_apart_and_prints_without_its_credential() {
        for (url, shown, user, password) in [
            (
                "http://proxy.example:3128",
                "http://proxy.example:3128",
                None,
                None,
            ),
            ("HTTP://10.0.0.1:80/", "http://10.0.0.1:80", None, None),
            ("http://u:p@proxy:1", "http://proxy:1", Some("u"), Some("p")),
            ("http://u@proxy:1", "http://proxy:1", Some("u"), Some("")),
            (
                "http://a%40b:p%3aq%2F@proxy:1",
                "http://proxy:1",
                Some("a@b"),
                Some("p:q/"),
            ),
            (
                "socks5://u:p@x@proxy:1080",
                "socks5://proxy:1080",
                Some("u"),
                Some("p@x"),
            ),
            ("socks5h://[::1]:1080", "socks5://[::1]:1080", None, None),
        ] {
            let proxy = OutboundProxy::parse(url).unwrap();
            assert_eq!(
                (proxy.to_string(), format!("{proxy:?}")),
                (shown.into(), shown.into())
            );
            let credential = proxy.credential.as_ref();
            assert_eq!(credential.map(|own| &*own.user), user, "{url}");
            assert_eq!(credential.map(|own| &*own.password), password, "{url}");
            let is_socks = url.starts_with("socks5");
            assert_eq!(proxy.protocol == OutboundProxyProtocol::Socks5, is_socks);
        }
        let proxy = OutboundProxy::parse("http://Aladdin:open%20sesame@p:1").unwrap();
        let value = proxy.basic_authorization().unwrap();
        assert_eq!(value, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    #[test]
    fn what_is_no_proxy_is_refused_without_its_password() {
        for url in [
            "",
            "proxy:3128",
            "http://proxy",
            "http://proxy:0",
            "http://proxy:70000",
            "http://proxy:3128/path",
            "http://:3128",
            "http://:secret@proxy:3128",
            "http://u:secret%0d%0a@proxy:3128",
            "http://u%3a:secret@proxy:3128",
            "http://u:secret@pro xy:3128",
            "http://u:secret@[proxy]:3128",
            "https://u:secret@proxy:3128",
            "socks4://u:secret@proxy:1080",
            "ftp://proxy:21",
        ] {
            let reason = OutboundProxy::parse(url).unwrap_err();
            assert!(!reason.contains("secret"), "{reason}");
        }
    }
}

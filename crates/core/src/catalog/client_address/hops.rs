//! Lists of hops in `X-Forwarded-For` and `Forwarded`, read from the right.
//!
//! Each proxy appends the address of its own peer, and a client can forge everything to the left of a trusted proxy's
//! entry.

use http::HeaderMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::from_utf8;

/// The syntax of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopListSyntax {
    /// Addresses separated by commas.
    XForwardedFor,
    /// Elements of RFC 7239, whose values may be quoted.
    Forwarded,
}

/// An address in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardedHop {
    /// Never an IPv4-mapped IPv6 address.
    pub address: IpAddr,
    pub port: Option<u16>,
}

/// The hops of all lines of the header as one list, the last one first; `None` for an unreadable hop.
pub fn hops_from_the_right(
    headers: &HeaderMap,
    syntax: HopListSyntax,
) -> impl Iterator<Item = Option<ForwardedHop>> {
    let lines = headers.get_all(syntax.header()).into_iter().rev();
    let elements = lines.flat_map(move |line| ReverseHopIterator {
        left: Some(line.as_bytes()),
        syntax,
    });
    // Empty list elements are ignored (RFC 9110, section 5.6.1).
    elements
        .filter(|element| !element.is_empty())
        .map(move |element| hop(element, syntax))
}

struct ReverseHopIterator<'l> {
    /// The part of the line that has not been read yet.
    left: Option<&'l [u8]>,
    syntax: HopListSyntax,
}

impl<'l> Iterator for ReverseHopIterator<'l> {
    type Item = &'l [u8];

    fn next(&mut self) -> Option<&'l [u8]> {
        let left = self.left?;
        let comma = match self.syntax {
            HopListSyntax::XForwardedFor => memchr::memrchr(b',', left),
            HopListSyntax::Forwarded => last_comma_outside_quotes(left),
        };
        let element = match comma {
            Some(comma) => {
                self.left = Some(&left[..comma]);
                &left[comma + 1..]
            }
            None => {
                self.left = None;
                left
            }
        };
        Some(element.trim_ascii())
    }
}

/// Searched from the right, so that an unclosed quote further left cannot swallow later elements.
fn last_comma_outside_quotes(line: &[u8]) -> Option<usize> {
    let mut is_quoted = false;
    for (at, byte) in line.iter().enumerate().rev() {
        match byte {
            b'"' => {
                let escapes = line[..at].iter().rev().take_while(|byte| **byte == b'\\');
                if escapes.count() % 2 == 0 {
                    is_quoted = !is_quoted;
                }
            }
            b',' if !is_quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn hop(element: &[u8], syntax: HopListSyntax) -> Option<ForwardedHop> {
    let element = from_utf8(element).ok()?;
    match syntax {
        HopListSyntax::XForwardedFor => node(element),
        HopListSyntax::Forwarded => {
            let mut pairs = element.split(';').filter_map(|pair| pair.split_once('='));
            let is_for = |(name, _): &(&str, &str)| name.trim().eq_ignore_ascii_case("for");
            let (_, value) = pairs.find(is_for)?;
            // An element with two `for` parameters is ambiguous.
            if pairs.any(|pair| is_for(&pair)) {
                return None;
            }
            node(unquoted(value.trim())?)
        }
    }
}

/// The text between quotes, or the value itself if it is not quoted. An address needs no escapes.
fn unquoted(value: &str) -> Option<&str> {
    let inner = match value.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"')?,
        None => value,
    };
    (!inner.contains(['"', '\\'])).then_some(inner)
}

/// Parses `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn node(text: &str) -> Option<ForwardedHop> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(ForwardedHop {
            address: address.to_canonical(),
            port: None,
        });
    }
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Some(ForwardedHop {
            address: socket.ip().to_canonical(),
            port: Some(socket.port()),
        });
    }
    let bracketed = text.strip_prefix('[')?.strip_suffix(']')?;
    Some(ForwardedHop {
        address: IpAddr::V6(bracketed.parse::<Ipv6Addr>().ok()?).to_canonical(),
        port: None,
    })
}

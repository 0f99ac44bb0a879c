//! Tests of the client's address, by tables of headers.

use super::*;

const PEER: &str = "10.0.0.1:4711";

fn headers(name: &HeaderName, lines: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
    }
    headers
}

fn addresses(source: AddressSource) -> ClientAddressResolver {
    let trusted = ["10.0.0.0/8", "fd00::/8"];
    ClientAddressResolver {
        source,
        trusted_proxies: trusted.map(|text| Network::parse(text).unwrap()).into(),
    }
}

fn client(source: AddressSource, peer: &str, headers: &HeaderMap) -> String {
    let client = addresses(source).resolve_client(peer.parse().unwrap(), headers);
    match client.port {
        Some(port) => SocketAddr::new(client.address, port).to_string(),
        None => client.address.to_string(),
    }
}

#[test]
fn the_rightmost_untrusted_hop_of_x_forwarded_for_is_the_client() {
    for (lines, expected) in [
        (&[][..], PEER),
        (&["203.0.113.7"], "203.0.113.7"),
        (&["192.0.2.9, 203.0.113.7"], "203.0.113.7"),
        (&["192.0.2.9, 203.0.113.7, 10.2.2.2"], "203.0.113.7"),
        (&["192.0.2.9", "203.0.113.7"], "203.0.113.7"),
        (
            &["192.0.2.9, 203.0.113.7", "10.2.2.2, 10.3.3.3"],
            "203.0.113.7",
        ),
        (&["203.0.113.7:8080"], "203.0.113.7:8080"),
        (&["2001:db8::7"], "2001:db8::7"),
        (&["[2001:db8::7]"], "2001:db8::7"),
        (&["[2001:db8::7]:443"], "[2001:db8::7]:443"),
        (&["::ffff:203.0.113.7"], "203.0.113.7"),
        (&["203.0.113.7, ::ffff:10.2.2.2"], "203.0.113.7"),
        (&["203.0.113.7, fd00::1"], "203.0.113.7"),
        (&["  203.0.113.7\t,\t10.2.2.2  "], "203.0.113.7"),
        (&["203.0.113.7,,", "", ", ,"], "203.0.113.7"),
        // If all hops are trusted proxies, the farthest one counts as the client.
        (&["10.9.9.9, 10.2.2.2"], "10.9.9.9"),
        (&["10.9.9.9"], "10.9.9.9"),
        // An unreadable hop ends the search at the last trusted one.
        (&["203.0.113.7, unknown"], PEER),
        (&["203.0.113.7, unknown, 10.2.2.2"], "10.2.2.2"),
        (&["203.0.113.7, 10.2.2.2, garbage"], PEER),
        (&["203.0.113.7 10.2.2.2"], PEER),
        (&["\"203.0.113.7\""], PEER),
        (&["203.0.113.007"], PEER),
        (&["203.0.113.7:99999"], PEER),
        (&["203.0.113.7:"], PEER),
        (&["for=203.0.113.7"], PEER),
        (&["[203.0.113.7]"], PEER),
        (&["2001:db8::7%eth0"], PEER),
        (&["203.0.113.7\u{e9}"], PEER),
    ] {
        let headers = headers(&X_FORWARDED_FOR, lines);
        let found = client(AddressSource::XForwardedFor, PEER, &headers);
        assert_eq!(found, expected, "{lines:?}");
    }
}

#[test]
fn the_rightmost_untrusted_hop_of_forwarded_is_the_client() {
    for (lines, expected) in [
        (&[][..], PEER),
        (&["for=203.0.113.7"], "203.0.113.7"),
        (&["For=203.0.113.7;proto=https;by=10.0.0.1"], "203.0.113.7"),
        (&["proto=https; for=203.0.113.7"], "203.0.113.7"),
        (&["for=\"203.0.113.7:8080\""], "203.0.113.7:8080"),
        (&["for=\"[2001:db8::7]\""], "2001:db8::7"),
        (&["for=\"[2001:db8::7]:443\""], "[2001:db8::7]:443"),
        (&["for=\"[::ffff:203.0.113.7]\""], "203.0.113.7"),
        (
            &["for=192.0.2.9, for=203.0.113.7, for=10.2.2.2"],
            "203.0.113.7",
        ),
        (
            &[
                "for=192.0.2.9",
                "for=203.0.113.7;by=\"a,b\"",
                "for=10.2.2.2",
            ],
            "203.0.113.7",
        ),
        // An unclosed quote of the client does not swallow what a proxy appended.
        (&["for=\"192.0.2.9, for=203.0.113.7"], "203.0.113.7"),
        (&["for=\"192.0.2.9, for=\"[2001:db8::7]\""], "2001:db8::7"),
        (&["for=\"192.0.2.9\\\", for=203.0.113.7"], "203.0.113.7"),
        (&["for=unknown"], PEER),
        (&["for=_hidden"], PEER),
        (&["for=203.0.113.7, for=unknown, for=10.2.2.2"], "10.2.2.2"),
        (&["for=203.0.113.7, by=10.2.2.2"], PEER),
        (&["for=203.0.113.7;for=192.0.2.9"], PEER),
        (&["for=\"203.0.113.7"], PEER),
        (&["for=203.0.113.7\""], PEER),
        (&["for=\"203.0.113\\.7\""], PEER),
        (&["203.0.113.7"], PEER),
    ] {
        let headers = headers(&http::header::FORWARDED, lines);
        let found = client(AddressSource::Forwarded, PEER, &headers);
        assert_eq!(found, expected, "{lines:?}");
    }
}

#[test]
fn only_the_named_source_counts_and_only_from_trusted_peers() {
    use AddressSource::{Forwarded, ProxyProtocol, Socket, XForwardedFor};
    let mut headers = headers(&X_FORWARDED_FOR, &["203.0.113.7"]);
    headers.insert("forwarded", HeaderValue::from_static("for=203.0.113.8"));
    headers.insert("x-real-ip", HeaderValue::from_static("203.0.113.9"));
    for (source, peer, expected) in [
        (Socket, PEER, PEER),
        (ProxyProtocol, PEER, PEER),
        (XForwardedFor, PEER, "203.0.113.7"),
        (Forwarded, PEER, "203.0.113.8"),
        (XForwardedFor, "[::ffff:10.0.0.1]:4711", "203.0.113.7"),
        (XForwardedFor, "192.0.2.1:4711", "192.0.2.1:4711"),
        (Forwarded, "192.0.2.1:4711", "192.0.2.1:4711"),
        (Socket, "[::ffff:192.0.2.1]:4711", "192.0.2.1:4711"),
    ] {
        let found = client(source, peer, &headers);
        assert_eq!(found, expected, "{source:?} {peer}");
    }
}

#[test]
fn forwarded_headers_follow_the_operators_policy() {
    use AddressSource::{Forwarded, Socket, XForwardedFor};
    use ForwardedPolicy::{Append, Off, Replace};
    let mut sent = headers(&X_FORWARDED_FOR, &["192.0.2.9, 203.0.113.7", "10.2.2.2"]);
    sent.insert("forwarded", HeaderValue::from_static("for=203.0.113.8"));
    let untrusted = "[2001:db8::1]:80";
    for (source, peer, policy, expected) in [
        (XForwardedFor, PEER, Off, None),
        (
            XForwardedFor,
            PEER,
            Append,
            Some("192.0.2.9, 203.0.113.7, 10.2.2.2, 10.0.0.1"),
        ),
        (XForwardedFor, PEER, Replace, Some("203.0.113.7")),
        (XForwardedFor, untrusted, Append, Some("2001:db8::1")),
        (XForwardedFor, untrusted, Replace, Some("2001:db8::1")),
        (
            Forwarded,
            PEER,
            Append,
            Some("for=203.0.113.8, for=10.0.0.1"),
        ),
        (Forwarded, PEER, Replace, Some("for=203.0.113.8")),
        (Forwarded, untrusted, Append, Some("for=\"[2001:db8::1]\"")),
        (Socket, PEER, Append, Some("10.0.0.1")),
        (Socket, PEER, Replace, Some("10.0.0.1")),
    ] {
        let client = addresses(source).resolve_client(peer.parse().unwrap(), &sent);
        let reported = client.forwarded(policy, &sent);
        let value = reported.as_ref().map(|(_, value)| value.to_str().unwrap());
        assert_eq!(value, expected, "{source:?} {peer} {policy:?}");
        let is_own = |(name, _): &(HeaderName, HeaderValue)| {
            (*name == http::header::FORWARDED) == (source == Forwarded)
        };
        assert!(reported.as_ref().is_none_or(is_own), "{source:?}");
    }
}

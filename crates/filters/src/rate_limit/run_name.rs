//! The run that a request names, and the caps that it sets for it, from its headers.

use headgate_core::catalog::run_limits::RunLimits;
use headgate_core::filter::view::RequestView;
use headgate_core::scalar::{HumanDuration, UnitPrice};
use headgate_core::state::calendar::whole_ms;
use headgate_core::state::run::{RunCap, RunCaps};
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderName};
use std::sync::Arc;

/// The header with the name of a run.
pub const RUN: HeaderName = HeaderName::from_static("x-headgate-run");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The headers that tighten the caps of a run.
const CAPS: [(RunCap, HeaderName, &str); 5] = [
    (
        RunCap::Calls,
        HeaderName::from_static("x-headgate-run-calls"),
        "a whole number of at least 1",
    ),
    (
        RunCap::Time,
        HeaderName::from_static("x-headgate-run-time"),
        "a duration above zero, such as `90s` or `10m`",
    ),
    (
        RunCap::Repeats,
        HeaderName::from_static("x-headgate-run-repeats"),
        "a whole number of at least 1",
    ),
    (
        RunCap::Tokens,
        HeaderName::from_static("x-headgate-run-tokens"),
        "a whole number of at least 1",
    ),
    (
        RunCap::Cost,
        HeaderName::from_static("x-headgate-run-cost"),
        "an amount with at most 9 decimal places, such as `0.50`",
    ),
];
/// The longest name of a run, in bytes.
const NAME_MAX: usize = 128;
/// How names of keys begin, which no log line must have.
const KEY_PREFIX: &str = "sk-";

/// What a request says of its run.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedRun {
    pub name: Arc<str>,
    /// The caps that the request sets.
    pub tightened: RunCaps,
}

impl NamedRun {
    /// The run that a request names; `None` if it names none.
    ///
    /// # Errors
    /// A header is malformed, or the name is missing.
    pub fn read(request: &RequestView, rules: &RunLimits) -> Result<Option<Self>, Fault> {
        let headers = &request.headers;
        let name = match only(headers, &RUN)? {
            Some(name) if is_name(name) => Some(name),
            Some(_) => {
                return Err(invalid(
                    &RUN,
                    &format!(
                        "a name of 1 to {NAME_MAX} letters, digits, `.`, `_`, `:` and `-` that begins with a letter or a digit, and is no key"
                    ),
                ));
            }
            None if rules.takes_trace_id => trace_id(headers),
            None => None,
        };
        let tightened = tightened(headers)?;
        match name {
            Some(name) => Ok(Some(Self {
                name: name.into(),
                tightened,
            })),
            None if rules.is_required || tightened != RunCaps::default() => Err(missing(rules)),
            None => Ok(None),
        }
    }
}

fn tightened(headers: &HeaderMap) -> Result<RunCaps, Fault> {
    let mut caps = RunCaps::default();
    for (cap, header, expected) in &CAPS {
        if let Some(text) = only(headers, header)? {
            let most = amount(*cap, text).ok_or_else(|| invalid(header, expected))?;
            caps.set(*cap, Some(most));
        }
    }
    Ok(caps)
}

fn amount(cap: RunCap, text: &str) -> Option<u64> {
    match cap {
        RunCap::Calls | RunCap::Repeats | RunCap::Tokens => {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = is_number.then(|| text.parse().ok())?;
            number.filter(|number| *number > 0)
        }
        RunCap::Time => {
            let time: HumanDuration = text.parse().ok()?;
            Some(whole_ms(time.duration()))
        }
        RunCap::Cost => text.parse().ok().map(UnitPrice::nanos),
    }
}

/// The text of a header that a request has at most once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Fault> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    match (value.to_str(), values.next()) {
        (Ok(text), None) => Ok(Some(text)),
        (Err(_), None) => Err(invalid(name, "ASCII characters")),
        (_, Some(_)) => Err(invalid(name, "one value")),
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    let is_key = name
        .get(..KEY_PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(KEY_PREFIX));
    name.len() <= NAME_MAX
        && name.bytes().all(is_plain)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !is_key
}

/// The trace id of a request; an invalid `traceparent` counts as none.
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let parent = only(headers, &TRACEPARENT).ok()??;
    let mut parts = parent.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let is_hex = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let is_valid = version.len() == 2
        && is_hex(version)
        && version != "ff"
        && trace.len() == 32
        && is_hex(trace)
        && trace.bytes().any(|byte| byte != b'0');
    is_valid.then_some(trace)
}

fn invalid(header: &HeaderName, expected: &str) -> Fault {
    let message = format!("invalid header `{header}`: expected {expected}");
    Fault::new(FaultKind::BadHeader, message).param(header.as_str())
}

fn missing(rules: &RunLimits) -> Fault {
    let or = match rules.takes_trace_id {
        true => ", or a `traceparent` with a trace id",
        false => "",
    };
    let message = format!(
        "missing header `{RUN}`: requests with this API key belong to a run; send the name of the run{or}"
    );
    Fault::new(FaultKind::BadHeader, message).param(RUN.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::Protocol;
    use http::{HeaderValue, Method};

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    fn read(headers: &[(&str, &str)], rules: &RunLimits) -> Result<Option<NamedRun>, Fault> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            map.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let request = RequestView::new(
            "req_1".into(),
            Method::POST,
            "/v1/chat/completions".into(),
            None,
            map,
            Vec::new(),
            Some(Protocol::Chat),
        );
        NamedRun::read(&request, rules)
    }

    fn rules(is_required: bool, takes_trace_id: bool) -> RunLimits {
        RunLimits {
            is_required,
            takes_trace_id,
            ..RunLimits::default()
        }
    }

    #[test]
    fn a_header_or_the_trace_id_names_a_run() {
        let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
        let long = "a".repeat(NAME_MAX);
        for (headers, takes_trace_id, expected) in [
            (&[][..], true, None),
            (
                &[("x-headgate-run", "job-7.b:2_c")],
                false,
                Some("job-7.b:2_c"),
            ),
            (
                &[("x-headgate-run", long.as_str())],
                false,
                Some(long.as_str()),
            ),
            (&[("traceparent", parent.as_str())], false, None),
            (&[("traceparent", parent.as_str())], true, Some(TRACE)),
            (
                &[("traceparent", parent.as_str()), ("x-headgate-run", "own")],
                true,
                Some("own"),
            ),
            (&[("traceparent", "00-0-b7ad6b7169203331-01")], true, None),
            (
                &[(
                    "traceparent",
                    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                )],
                true,
                None,
            ),
            (
                &[
                    ("traceparent", parent.as_str()),
                    ("traceparent", parent.as_str()),
                ],
                true,
                None,
            ),
        ] {
            let run = read(headers, &rules(false, takes_trace_id)).unwrap();
            assert_eq!(run.as_ref().map(|run| &*run.name), expected, "{headers:?}");
        }
    }

    #[test]
    fn a_hostile_name_or_a_malformed_cap_is_refused_with_its_header() {
        let long = "a".repeat(NAME_MAX + 1);
        let named = ("x-headgate-run", "r");
        for (headers, header) in [
            (&[("x-headgate-run", "")][..], "x-headgate-run"),
            (&[("x-headgate-run", long.as_str())], "x-headgate-run"),
            (&[("x-headgate-run", "../etc")], "x-headgate-run"),
            (&[("x-headgate-run", "..")], "x-headgate-run"),
            (&[("x-headgate-run", "a b")], "x-headgate-run"),
            (&[("x-headgate-run", "a/b")], "x-headgate-run"),
            (&[("x-headgate-run", "a}b{")], "x-headgate-run"),
            (&[("x-headgate-run", "<script>")], "x-headgate-run"),
            (&[("x-headgate-run", "a%2fb")], "x-headgate-run"),
            (&[("x-headgate-run", "größe")], "x-headgate-run"),
            (&[("x-headgate-run", "sk-secret")], "x-headgate-run"),
            (&[("x-headgate-run", "SK-secret")], "x-headgate-run"),
            (
                &[("x-headgate-run", "a"), ("x-headgate-run", "a")],
                "x-headgate-run",
            ),
            (
                &[named, ("x-headgate-run-calls", "0")],
                "x-headgate-run-calls",
            ),
            (
                &[named, ("x-headgate-run-calls", "-1")],
                "x-headgate-run-calls",
            ),
            (
                &[named, ("x-headgate-run-calls", "+1")],
                "x-headgate-run-calls",
            ),
            (
                &[named, ("x-headgate-run-calls", "1e3")],
                "x-headgate-run-calls",
            ),
            (
                &[named, ("x-headgate-run-calls", "99999999999999999999")],
                "x-headgate-run-calls",
            ),
            (
                &[
                    named,
                    ("x-headgate-run-calls", "1"),
                    ("x-headgate-run-calls", "2"),
                ],
                "x-headgate-run-calls",
            ),
            (
                &[named, ("x-headgate-run-repeats", "")],
                "x-headgate-run-repeats",
            ),
            (
                &[named, ("x-headgate-run-tokens", "many")],
                "x-headgate-run-tokens",
            ),
            (
                &[named, ("x-headgate-run-cost", "-0.5")],
                "x-headgate-run-cost",
            ),
            (
                &[named, ("x-headgate-run-cost", "0.0000000001")],
                "x-headgate-run-cost",
            ),
            (
                &[named, ("x-headgate-run-cost", "NaN")],
                "x-headgate-run-cost",
            ),
            (
                &[named, ("x-headgate-run-time", "0s")],
                "x-headgate-run-time",
            ),
            (
                &[named, ("x-headgate-run-time", "10")],
                "x-headgate-run-time",
            ),
            (&[("x-headgate-run-calls", "1")], "x-headgate-run"),
        ] {
            let fault = read(headers, &rules(false, false)).unwrap_err();
            assert_eq!(fault.kind, FaultKind::BadHeader, "{headers:?}");
            assert_eq!(fault.param.as_deref(), Some(header), "{headers:?}");
            assert!(fault.message.contains(header), "{}", fault.message);
        }
    }

    #[test]
    fn a_run_is_named_where_it_is_required() {
        for (takes_trace_id, hint) in [(false, "the run"), (true, "a trace id")] {
            let fault = read(&[], &rules(true, takes_trace_id)).unwrap_err();
            assert!(fault.message.ends_with(hint), "{}", fault.message);
            assert_eq!(fault.param.as_deref(), Some("x-headgate-run"));
        }
    }

    #[test]
    fn headers_set_caps_in_their_units() {
        let headers = [
            ("x-headgate-run", "r"),
            ("x-headgate-run-calls", "7"),
            ("x-headgate-run-time", "1m30s"),
            ("x-headgate-run-repeats", "3"),
            ("x-headgate-run-tokens", "5000"),
            ("x-headgate-run-cost", "0.5"),
        ];
        let run = read(&headers, &RunLimits::default()).unwrap().unwrap();
        let caps = RunCap::ALL.map(|cap| run.tightened.get(cap));
        let expected = [7, 90_000, 3, 5_000, 500_000_000].map(Some);
        assert_eq!(caps, expected);
    }
}

//! Tests of the W3C trace context.

use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_static(name);
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

fn context(lines: &[(&'static str, &str)]) -> Option<CallerTraceContext> {
    CallerTraceContext::from_headers(&headers(lines))
}

fn state(lines: &[&str]) -> Option<String> {
    let parent = format!("00-{TRACE}-{SPAN}-01");
    let mut all = vec![("traceparent", parent.as_str())];
    all.extend(lines.iter().map(|line| ("tracestate", *line)));
    let state = context(&all).expect("the parent is valid").state?;
    Some(state.to_str().unwrap().to_owned())
}

#[test]
fn a_valid_parent_is_read_with_its_flags() {
    for (value, flags) in [
        (format!("00-{TRACE}-{SPAN}-00"), 0),
        (format!("00-{TRACE}-{SPAN}-01"), 1),
        (format!("00-{TRACE}-{SPAN}-02"), 2),
        (format!("00-{TRACE}-{SPAN}-03"), 3),
        // Unknown flags are cleared.
        (format!("00-{TRACE}-{SPAN}-ff"), 3),
        (format!("00-{TRACE}-{SPAN}-08"), 0),
        (format!(" \t00-{TRACE}-{SPAN}-01\t "), 1),
        // Higher versions are read like version 00, and may be longer.
        (format!("01-{TRACE}-{SPAN}-01"), 1),
        (
            format!("cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like"),
            1,
        ),
        (format!("fe-{TRACE}-{SPAN}-03-"), 1),
    ] {
        let read = context(&[("traceparent", &value)]).expect(&value);
        assert_eq!(read.trace_id.to_string(), TRACE, "{value}");
        assert_eq!(read.span_id.to_string(), SPAN, "{value}");
        assert_eq!(read.flags.bits(), flags, "{value}");
        assert_eq!(read.state, None, "{value}");
    }
}

#[test]
fn an_invalid_parent_counts_as_none() {
    let zeros = "0".repeat(32);
    for value in [
        String::new(),
        "00".into(),
        format!("{TRACE}-{SPAN}-01"),
        format!("00-{TRACE}-{SPAN}"),
        format!("00-{TRACE}-{SPAN}-"),
        format!("00-{TRACE}-{SPAN}-1"),
        format!("00-{TRACE}-{SPAN}-001"),
        format!("00-{TRACE}-{SPAN}-01-"),
        format!("00-{TRACE}-{SPAN}-01-more"),
        format!("00-{TRACE}-{SPAN}-0x"),
        format!("00-{TRACE}-{SPAN}-.0"),
        format!("00-{zeros}-{SPAN}-01"),
        format!("00-{TRACE}-{}-01", &zeros[..16]),
        format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
        format!("00-{TRACE}-{}-01", SPAN.to_uppercase()),
        format!("00-{TRACE}-{SPAN}-0A"),
        format!("00-.{}-{SPAN}-01", &TRACE[1..]),
        format!("00-{}-{SPAN}-01", &TRACE[1..]),
        format!("00-{TRACE}0-{SPAN}-01"),
        format!("00-{TRACE}-{SPAN}0-01"),
        format!("00_{TRACE}_{SPAN}_01"),
        format!("0-{TRACE}-{SPAN}-01"),
        format!("000-{TRACE}-{SPAN}-01"),
        format!("0x-{TRACE}-{SPAN}-01"),
        format!("ff-{TRACE}-{SPAN}-01"),
        format!("FE-{TRACE}-{SPAN}-01"),
        format!("cc-{TRACE}-{SPAN}-01.what"),
        format!("cc-{TRACE}-{SPAN}-010"),
        format!("00-{TRACE}-{SPAN}-01,00-{TRACE}-{SPAN}-01"),
        format!("00-{}é-{SPAN}-01", &TRACE[2..]),
    ] {
        assert_eq!(context(&[("traceparent", &value)]), None, "{value}");
    }
}

#[test]
fn two_parents_count_as_none() {
    let parent = format!("00-{TRACE}-{SPAN}-01");
    let twice = [("traceparent", &*parent), ("traceparent", &*parent)];
    assert_eq!(context(&twice), None);
    assert_eq!(context(&[("tracestate", "a=1")]), None);
}

#[test]
fn a_valid_state_is_passed_on_as_one_header() {
    let full = |count: usize| {
        let members: Vec<String> = (0..count).map(|number| format!("k{number}=v")).collect();
        members.join(",")
    };
    let longest = format!("{}={}", "k".repeat(256), "v".repeat(255));
    for (lines, expected) in [
        (vec!["a=1"], Some("a=1")),
        (vec!["a=1,b=2"], Some("a=1,b=2")),
        (vec!["a=1", "b=2"], Some("a=1,b=2")),
        (vec![" a=1 ,\tb=2 ,, "], Some("a=1,b=2")),
        (
            vec!["fw529a3039@dt=x y,0a=1,a_-*/b=!"],
            Some("fw529a3039@dt=x y,0a=1,a_-*/b=!"),
        ),
        (vec![""], None),
        (vec![], None),
        (vec![&full(32)], Some(&*full(32))),
        (vec![&longest], Some(&*longest)),
    ] {
        assert_eq!(state(&lines).as_deref(), expected, "{lines:?}");
    }
}

#[test]
fn an_invalid_state_is_dropped_without_its_parent() {
    let many: Vec<String> = (0..33).map(|number| format!("k{number}=v")).collect();
    let long_key = format!("{}=v", "k".repeat(257));
    let long_value = format!("k={}", "v".repeat(257));
    for lines in [
        vec!["a"],
        vec!["a="],
        vec!["=1"],
        vec!["A=1"],
        vec!["_a=1"],
        vec!["a b=1"],
        vec!["a=b=c"],
        vec!["a=1,a=2"],
        vec!["a=1", "a=2"],
        vec!["a=é"],
        vec!["a=1,b"],
        vec![&*long_key],
        vec![&*long_value],
        vec![&*many.join(",")],
    ] {
        assert_eq!(state(&lines), None, "{lines:?}");
    }
}

#[test]
fn a_state_that_is_too_long_loses_long_members_first_and_then_the_last_ones() {
    let long = format!("long={}", "v".repeat(150));
    let members: Vec<String> = (0..10)
        .map(|n| format!("k{n}={}", "v".repeat(50)))
        .collect();
    let line = format!("{long},{}", members.join(","));
    let expected = members[..9].join(",");
    assert_eq!(state(&[&line]), Some(expected));
}

#[test]
fn what_is_sent_is_read_again() {
    for is_sampled in [false, true] {
        let (trace, span) = (TraceId::random(), SpanId::random());
        let flags = TraceFlags::for_new_trace().with_sampled(is_sampled);
        let sent = traceparent(trace, span, flags);
        let text = format!("00-{trace}-{span}-0{}", if is_sampled { 3 } else { 2 });
        assert_eq!(sent.to_str().unwrap(), text);
        let read = context(&[("traceparent", &text)]).unwrap();
        assert_eq!((read.trace_id, read.span_id), (trace, span));
        assert_eq!(read.flags.is_sampled(), is_sampled);
    }
}

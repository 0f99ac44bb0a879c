//! Tests of what `headgate check` reports about services and callouts.

use crate::configuration::check;
use crate::harness::service::SERVICE_KEY;

/// The valid file with a service, and with a step in the request or the response chain of the route `chat`.
fn with_step(services: &str, request: &str, response: &str) -> String {
    let file = check::GOOD.replace(
        "request: [{use: body}, validate]",
        &format!("request: [{{use: body}}, validate{request}]{response}"),
    );
    format!("{services}\n{file}")
}

const SERVICES: &str = "services: {moderation: {url: \"https://moderation.example/check\"}}";

#[test]
fn an_output_check_that_streams_would_pass_by_is_an_error() {
    for (response, reason) in [
        (
            "[{callout: {service: moderation}}]",
            Some("streams of this route would pass without a check"),
        ),
        ("[{callout: {service: moderation, hold: {}}}]", None),
        ("[{callout: {service: moderation, streams: refuse}}]", None),
        (
            "[{callout: {service: moderation, hold: {}, streams: refuse}}]",
            Some("mutually exclusive"),
        ),
    ] {
        let text = with_step(SERVICES, "", &format!("\n    response: {response}"));
        let output = check::check(&text);
        assert_eq!(
            output.success,
            reason.is_none(),
            "{}{}",
            output.stdout,
            output.stderr
        );
        if let Some(reason) = reason {
            assert!(output.stderr.contains(reason), "{}", output.stderr);
        }
    }
}

#[test]
fn a_route_that_admits_more_than_its_callout_can_be_shown_gets_a_warning() {
    for (limit, settings, is_warned) in [
        ("2MiB", "send: {fields: [/messages]}", true),
        ("1MiB", "send: {fields: [/messages]}", false),
        (
            "2MiB",
            "send: {fields: [/messages], max_bytes: 2MiB}",
            false,
        ),
        ("2MiB", "send: {headers: [x-tenant]}", false),
    ] {
        let steps =
            format!(", {{limit_body: {limit}}}, {{callout: {{service: moderation, {settings}}}}}");
        let output = check::check(&with_step(SERVICES, &steps, ""));
        let printed = format!("{}{}", output.stdout, output.stderr);
        assert!(output.success, "{printed}");
        let warning = "`callout` inspects up to 1048576 bytes of a request, and `limit_body` of this route admits 2097152";
        assert_eq!(
            printed.contains(warning),
            is_warned,
            "{limit} {settings}: {printed}"
        );
    }
}

#[test]
fn settings_that_cannot_work_are_reported_with_their_position() {
    for (settings, reason) in [
        ("service: moderatoin", "did you mean `moderation`?"),
        ("service: moderation, hold: {}", "for the response chain"),
        (
            "service: moderation, streams: refuse",
            "for the response chain",
        ),
        (
            "service: moderation, send: {headers: [authorization]}",
            "carries a credential",
        ),
        (
            "service: moderation, send: {headers: [X_Api_Key]}",
            "carries a credential",
        ),
        (
            "service: moderation, send: {headers: [cookie]}",
            "carries a credential",
        ),
        (
            "service: moderation, send: {fields: [messages]}",
            "write `/messages`",
        ),
        (
            "service: moderation, allow: {set_headers: [x-api-key]}",
            "carries a credential",
        ),
        (
            "service: moderation, allow: {set_headers: [host]}",
            "connection header",
        ),
        (
            "service: moderation, allow: {edit_body: [/model]}",
            "cannot set `/model`",
        ),
        ("service: moderation, on_failure: open", "on_failure"),
        ("service: moderation, timeout: 1s", "unknown key"),
    ] {
        let output = check::check(&with_step(
            SERVICES,
            &format!(", {{callout: {{{settings}}}}}"),
            "",
        ));
        assert!(!output.success, "{settings}");
        assert!(
            output.stderr.contains(reason),
            "{settings}: {}",
            output.stderr
        );
    }
    for (settings, reason) in [
        ("hold: {events: 0}", "events"),
        ("hold: {bytes: 17MiB}", "at most 16MiB"),
        ("hold: {time: 2m}", "at most 1m"),
        ("hold: {overlap: 65KiB}", "at most 64KiB"),
    ] {
        let response =
            format!("\n    response: [{{callout: {{service: moderation, {settings}}}}}]");
        let output = check::check(&with_step(SERVICES, "", &response));
        assert!(!output.success, "{settings}");
        assert!(
            output.stderr.contains(reason),
            "{settings}: {}",
            output.stderr
        );
    }
}

#[test]
fn services_that_cannot_work_are_reported_without_their_secrets() {
    let step = ", {callout: {service: moderation}}";
    for (service, reason) in [
        ("url: moderation.example".to_owned(), "must start with"),
        (
            "url: \"https://a:b@moderation.example\"".to_owned(),
            "must not contain a user",
        ),
        (
            format!("url: \"https://m.example\", headers: {{\"bad name\": {SERVICE_KEY}}}"),
            "is not a header name",
        ),
        (
            "url: \"http://m.example\", tls: {ca: ca.pem}".to_owned(),
            "requires a `url` with https",
        ),
        (
            "url: \"https://m.example\", concurrent: 0".to_owned(),
            "concurrent",
        ),
        (
            format!("url: \"https://m.example\", headers: {{x-key: {SERVICE_KEY}}}, timeuot: 1s"),
            "timeout",
        ),
    ] {
        let services = format!("services: {{moderation: {{{service}}}}}");
        let output = check::check(&with_step(&services, step, ""));
        assert!(!output.success, "{service}");
        let printed = format!("{}{}", output.stdout, output.stderr);
        assert!(printed.contains(reason), "{service}: {printed}");
        assert!(!printed.contains(SERVICE_KEY), "{printed}");
    }
    let unused = check::check(&with_step(SERVICES, "", ""));
    let printed = format!("{}{}", unused.stdout, unused.stderr);
    assert!(
        unused.success && printed.contains("service `moderation` is never used"),
        "{printed}"
    );
}

#[test]
fn settings_that_a_format_does_not_have_are_errors() {
    for (request, response, reason) in [
        ("format: litellm, send: {parameters: {a: [1]}}", "", None),
        ("format: litellm, allow: {edit_body: [/messages]}", "", None),
        (
            "send: {parameters: {a: 1}}",
            "",
            Some("`parameters` is for `format: litellm`"),
        ),
        (
            "format: litellm, allow: {set_headers: [x-a]}",
            "",
            Some("sets no headers"),
        ),
        (
            "",
            "format: litellm, hold: {}, send: {fields: [/choices]}",
            Some("all texts of a response are sent"),
        ),
        ("format: other", "", Some("unknown value `other`")),
    ] {
        let step = |settings: &str| format!("{{callout: {{service: moderation, {settings}}}}}");
        let request = match request {
            "" => String::new(),
            settings => format!(", {}", step(settings)),
        };
        let response = match response {
            "" => String::new(),
            settings => format!("\n    response: [{}]", step(settings)),
        };
        let output = check::check(&with_step(SERVICES, &request, &response));
        let printed = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.success, reason.is_none(), "{request}: {printed}");
        if let Some(reason) = reason {
            assert!(printed.contains(reason), "{printed}");
        }
    }
}

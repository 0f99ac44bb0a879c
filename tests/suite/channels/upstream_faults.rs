//! Tests of providers' faults: the caller gets an error in its own protocol, in time and without secrets.

use crate::harness::closed_port::ClosedPort;
use crate::harness::config::{self, CREDENTIALS};
use crate::harness::error_shape::{assert_error_body, assert_error_event};
use crate::harness::request::body_of;
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, Simulator, TestSetup,
};
use headgate_protocol::Protocol;
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_the_protocols_error_event_and_no_clean_end() {
    let world = TestSetup::with(|config| {
        for name in ["openai", "messages"] {
            config["channels"][name]["timeouts"] = json!({"idle": "1s"});
        }
    })
    .await;
    for protocol in PROTOCOLS {
        for directives in ["cut_after=2", "stall_after=2", "cut"] {
            let answer = world
                .ask(&Request::ask_stream(protocol).simulate(directives))
                .await;
            let reported = format!("{protocol:?} {directives}: {}", answer.text());
            assert_eq!((answer.status, answer.whole), (200, false), "{reported}");
            assert!(!answer.text().contains("[DONE]"), "{reported}");
            assert_error_event(protocol, &answer);
            let line = world.gateway.log_of(&answer).await;
            assert_eq!(line["settlement"], "upstream_cut", "{line}");
            let kind = match directives {
                "stall_after=2" => "upstream_timeout",
                _ => "upstream_error",
            };
            assert_eq!(line["error_code"], kind, "{line}");
        }
    }
}

#[tokio::test]
async fn an_error_event_of_the_provider_passes_as_it_is() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        for directives in ["error_event_first", "error_event_after=2"] {
            let answer = world
                .ask(&Request::ask_stream(protocol).simulate(directives))
                .await;
            assert_eq!((answer.status, answer.whole), (200, true));
            assert!(
                answer.text().contains("Simulated failure"),
                "{}",
                answer.text()
            );
            assert_eq!(answer.text().matches("Simulated failure").count(), 1);
        }
    }
}

#[tokio::test]
async fn a_json_answer_that_breaks_off_is_an_error() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        let answer = world.ask(&Request::ask(protocol).simulate("cut")).await;
        assert_error_body(protocol, &answer, 502);
        let line = world.gateway.log_of(&answer).await;
        assert_eq!(line["settlement"], "upstream_error", "{line}");
    }
}

#[tokio::test]
async fn a_json_answer_that_breaks_off_behind_what_was_sent_has_no_clean_end() {
    let start = format!(
        r#"{{"choices":[{{"message":{{"content":"{}"#,
        "x".repeat(100_000)
    );
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999999\r\n\r\n";
    let provider = ScriptedProvider::start(vec![
        ScriptedResponse::Send(format!("{head}{start}").into_bytes()),
        ScriptedResponse::Close,
    ])
    .await;
    let gateway = Gateway::start(&config::standard(&provider.url())).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!((answer.status, answer.whole), (200, false));
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["settlement"], "upstream_cut", "{line}");
}

#[tokio::test]
async fn an_error_of_the_provider_passes_without_its_credentials() {
    let world = TestSetup::with(config::without_cool_downs).await;
    for protocol in PROTOCOLS {
        for status in [400, 403, 404, 429, 500, 503, 529] {
            let directives = format!("status={status}; echo_credential; retry_after=7");
            let answer = world
                .ask(&Request::ask(protocol).simulate(&directives))
                .await;
            assert_eq!(answer.status, status);
            let text = answer.text();
            assert!(text.contains("Incorrect API key provided"), "{text}");
            assert!(
                CREDENTIALS.iter().all(|secret| !text.contains(secret)),
                "{text}"
            );
            assert_eq!(answer.headers.get("retry-after"), Some("7"));
            assert!(answer.json()["error"]["message"].is_string(), "{text}");
            let line = world.gateway.log_of(&answer).await;
            assert_eq!(line["settlement"], "upstream_error", "{line}");
        }
    }
}

#[tokio::test]
async fn an_html_error_page_becomes_a_protocol_error() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        for (directives, status) in [
            ("html", 502),
            ("html; status=503", 503),
            ("html; status=404", 404),
        ] {
            let request = Request::ask(protocol).simulate(directives);
            let answer = world.ask(&request).await;
            let message = assert_error_body(protocol, &answer, status);
            assert!(!message.contains('<'), "{message}");
            let line = world.gateway.log_of(&answer).await;
            assert_eq!(line["settlement"], "upstream_error", "{line}");
            let detail = line["error_detail"].as_str().unwrap_or_default();
            assert!(detail.contains("<!DOCTYPE"), "{line}");
        }
    }
}

#[tokio::test]
async fn json_that_is_cut_is_an_error_and_an_odd_event_passes_as_it_is() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        let request = Request::ask(protocol).simulate("malformed");
        let half = world.ask(&request).await;
        assert_error_body(protocol, &half, 502);
        let request = Request::ask_stream(protocol).simulate("malformed");
        let odd = world.ask(&request).await;
        // The event is forwarded; the protocol's last event is missing after it.
        assert_eq!((odd.status, odd.whole), (200, false));
        assert!(
            odd.text()
                .starts_with("data: {\"id\":\"simulated\",\"choices\":[{\n\n")
        );
    }
}

#[tokio::test]
async fn a_provider_that_never_answers_is_given_up_in_time() {
    let world = TestSetup::with(|config| {
        for name in ["openai", "messages"] {
            config["channels"][name]["timeouts"] = json!({"first_byte": "500ms"});
        }
    })
    .await;
    for protocol in PROTOCOLS {
        for request in [Request::ask(protocol), Request::ask_stream(protocol)] {
            let asked = Instant::now();
            let answer = world.ask(&request.simulate("stall")).await;
            assert!(asked.elapsed() >= Duration::from_millis(500));
            assert!(asked.elapsed() < Duration::from_secs(10));
            assert_error_body(protocol, &answer, 504);
        }
    }
}

#[tokio::test]
async fn an_unreachable_provider_is_reported_in_the_shape_of_the_protocol() {
    let nobody = ClosedPort::new();
    let gateway = Gateway::start(&config::standard(&nobody.url())).await;
    for protocol in PROTOCOLS {
        let answer = gateway.ask(&Request::ask(protocol)).await;
        assert_error_body(protocol, &answer, 502);
        assert!(!answer.text().contains("127.0.0.1"), "{}", answer.text());
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["error_code"], "upstream_unreachable", "{line}");
        assert_eq!(line["settlement"], "upstream_error", "{line}");
    }
}

#[tokio::test]
async fn a_response_that_is_not_http_is_reported_in_the_shape_of_the_protocol() {
    for acts in [
        vec![ScriptedResponse::Close],
        vec![ScriptedResponse::Reset],
        vec![
            ScriptedResponse::Send(b"SSH-2.0-OpenSSH\r\n\r\n".to_vec()),
            ScriptedResponse::Close,
        ],
        vec![
            ScriptedResponse::Send(b"HTTP/1.1 200 OK\r\nContent-Type: applic".to_vec()),
            ScriptedResponse::Close,
        ],
    ] {
        let provider = ScriptedProvider::start(acts).await;
        let gateway = Gateway::start(&config::standard(&provider.url())).await;
        for protocol in PROTOCOLS {
            let answer = gateway.ask(&Request::ask(protocol)).await;
            assert_error_body(protocol, &answer, 502);
        }
    }
}

#[tokio::test]
async fn the_next_channel_answers_where_the_first_one_cannot() {
    let good = Simulator::start().await;
    let nobody = ClosedPort::new();
    let mute =
        ScriptedProvider::start(vec![ScriptedResponse::Wait(Duration::from_secs(3600))]).await;
    let faulty = Simulator::start().await;
    for (first, attempt) in [
        (nobody.url(), "connect_error"),
        (faulty.url_obeying("status=503"), "rate_limited"),
        (faulty.url_obeying("status=429"), "rate_limited"),
        (faulty.url_obeying("status=500"), "server_error"),
        (faulty.url_obeying("status=401"), "refused_credential"),
        (mute.url(), "timeout"),
    ] {
        let mut config = config::standard(&good.url());
        for name in ["openai", "messages"] {
            config["channels"][name]["tier"] = 1.into();
            let mut bad = config["channels"][name].clone();
            bad["base_url"] = first.clone().into();
            bad["tier"] = 0.into();
            bad["timeouts"] = json!({"first_byte": "300ms"});
            config["channels"][format!("{name}-bad")] = bad;
        }
        config::without_cool_downs(&mut config);
        let gateway = Gateway::start(&config).await;
        for protocol in PROTOCOLS {
            for stream in [false, true] {
                let mut body = body_of(protocol);
                body["stream"] = stream.into();
                if protocol == Protocol::Responses {
                    // A stored request would not fail over after a timeout.
                    body["store"] = false.into();
                }
                let answer = gateway.ask(&Request::to(protocol, body.to_string())).await;
                assert_eq!(
                    (answer.status, answer.whole),
                    (200, true),
                    "{attempt}: {}",
                    answer.text()
                );
                let line = gateway.log_of(&answer).await;
                assert_eq!(line["attempts"], 2, "{line}");
                assert!(
                    !line["channel"].as_str().unwrap().ends_with("-bad"),
                    "{line}"
                );
            }
        }
        let metrics = gateway.metrics().await;
        assert_eq!(
            metrics.sum("headgate_attempts_total", &[("outcome", attempt)]),
            6.0
        );
        assert_eq!(
            metrics.sum("headgate_attempts_total", &[("outcome", "success")]),
            6.0
        );
    }
}

#[tokio::test]
async fn the_last_channels_refusal_reaches_the_caller() {
    let world = TestSetup::between(|config, simulator| {
        let mut second = config["channels"]["openai"].clone();
        second["base_url"] = simulator.url_obeying("status=503").into();
        second["tier"] = 1.into();
        config["channels"]["openai"]["base_url"] = simulator.url_obeying("status=429").into();
        config["channels"]["second"] = second;
    })
    .await;
    let answer = world.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 503);
    assert_eq!(world.simulator.records().await.len(), 2);
}

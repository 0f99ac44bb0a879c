//! Tests of a model's profile, which is checked in addition to the protocol's schema.

use crate::harness::config::{caller, channel};
use crate::harness::error_shape::assert_error_body;
use crate::harness::folder::Folder;
use crate::harness::request::ANN;
use crate::harness::{Gateway, Request, ScriptedProvider, body_of, path_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{\"id\":\"t-1\"}";
const PAID: [Protocol; 4] = [
    Protocol::ImageEdit,
    Protocol::Video,
    Protocol::FamilyA,
    Protocol::FamilyB,
];

fn config(providers: &[&ScriptedProvider], profile: Option<&str>) -> Value {
    let names = PAID.map(Protocol::name);
    let channels: serde_json::Map<String, Value> = providers
        .iter()
        .enumerate()
        .map(|(tier, provider)| {
            let mut channel = channel(&provider.url(), &names, json!({"bearer": "sk-canary"}));
            channel["tier"] = tier.into();
            channel["models"] = json!({"demo-large": "theirs"});
            (format!("channel-{tier}"), channel)
        })
        .collect();
    let routes: Vec<Value> = PAID
        .iter()
        .map(|protocol| {
            json!({
                "name": protocol.name(),
                "match": format!("POST {}", path_of(*protocol)),
                "protocol": protocol.name(),
                "request": ["require_json", "authenticate", "route_model", "validate"],
            })
        })
        .collect();
    let mut config = json!({
        "server": {"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "workers": 2},
        "callers": [caller("ann", ANN, &["*"])],
        "channels": channels,
        "routes": routes,
    });
    if let Some(profile) = profile {
        config["models"] = json!({"demo-large": {"profile": profile}});
    }
    config
}

fn with(protocol: Protocol, members: &Value) -> Request {
    let mut body = body_of(protocol);
    for (key, value) in members.as_object().unwrap() {
        body[key] = value.clone();
    }
    Request::to(protocol, body.to_string())
}

#[tokio::test]
async fn a_profile_narrows_the_requests_of_its_protocol_and_of_no_other() {
    let provider = ScriptedProvider::answering(OK).await;
    let gateway = Gateway::start(&config(&[&provider], Some("family_a/2.0"))).await;
    for (protocol, members, refused) in [
        (Protocol::FamilyA, json!({"resolution": "4k"}), None),
        (
            Protocol::FamilyA,
            json!({"resolution": "8k"}),
            Some("resolution"),
        ),
        (
            Protocol::FamilyA,
            json!({"seed": 7}),
            Some("`seed` is not supported by generation 2.0; remove it"),
        ),
        (Protocol::Video, json!({"seed": 7}), None),
    ] {
        let answer = gateway.ask(&with(protocol, &members)).await;
        match refused {
            None => assert_eq!(answer.status, 200, "{members}: {}", answer.text()),
            Some(words) => {
                let message = assert_error_body(protocol, &answer, 400);
                assert!(message.contains(words), "{message}");
            }
        }
    }
    assert_eq!(provider.requests().len(), 2);
}

#[tokio::test]
async fn without_a_profile_only_what_all_generations_share_is_checked() {
    let provider = ScriptedProvider::answering(OK).await;
    let gateway = Gateway::start(&config(&[&provider], None)).await;
    for protocol in PAID {
        let answer = gateway.ask(&Request::ask(protocol)).await;
        assert_eq!(answer.status, 200, "{protocol:?}: {}", answer.text());
    }
    let answer = gateway
        .ask(&with(Protocol::FamilyA, &json!({"seed": 7})))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let long = with(Protocol::FamilyA, &json!({"seed": 4_294_967_296_u64}));
    assert_error_body(Protocol::FamilyA, &gateway.ask(&long).await, 400);
}

#[tokio::test]
async fn a_file_beside_the_configuration_is_a_profile_too() {
    let provider = ScriptedProvider::answering(OK).await;
    let folder = Folder::new();
    let schemas = folder.path().join("schemas/family_a");
    std::fs::create_dir_all(&schemas).unwrap();
    let mine = json!({"properties": {"ratio": {"enum": ["1:1"], "errorMessage": "squares only"}}});
    std::fs::write(schemas.join("9.0.schema.json"), mine.to_string()).unwrap();
    let config = config(&[&provider], Some("family_a/9.0"));
    let gateway = Gateway::start_in(folder, &format!("{config:#}")).await;
    for (ratio, status) in [("1:1", 200), ("16:9", 400)] {
        let answer = gateway
            .ask(&with(Protocol::FamilyA, &json!({"ratio": ratio})))
            .await;
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!(answer.text().contains("squares only"), status == 400);
    }
}

#[tokio::test]
async fn each_error_of_a_body_comes_with_its_own_words_and_place() {
    let provider = ScriptedProvider::answering(OK).await;
    let gateway = Gateway::start(&config(&[&provider], Some("family_b/3.0"))).await;
    let request = with(
        Protocol::FamilyB,
        &json!({
            "input": {"media": [{"type": "file", "url": "https://x.example/a.pdf"}, {"type": "link", "url": "https://x.example"}]},
            "parameters": {"prompt_extend": false},
        }),
    );
    let answer = gateway.ask(&request).await;
    let message = assert_error_body(Protocol::FamilyB, &answer, 400);
    for words in [
        "a `file` and a `link` cannot be combined (at `input.media[1].type`)",
        "`parameters.prompt_extend` must be true or absent",
    ] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(answer.json()["code"], "InvalidParameter");
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn what_is_paid_for_is_never_asked_for_twice_where_it_may_have_been_accepted() {
    let broken = |status: &str| {
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
        )
    };
    for (first, goes_on) in [
        (broken("500 Internal Server Error"), false),
        (broken("503 Service Unavailable"), false),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 3\r\n\r\n<p>"
                .to_string(),
            false,
        ),
        (String::new(), false),
        (broken("400 Bad Request"), false),
        (broken("429 Too Many Requests"), true),
        (broken("401 Unauthorized"), true),
    ] {
        let failing = match first.is_empty() {
            true => ScriptedProvider::start(vec![crate::harness::ScriptedResponse::Close]).await,
            false => ScriptedProvider::answering(first.as_str()).await,
        };
        let next = ScriptedProvider::answering(OK).await;
        let mut config = config(&[&failing, &next], None);
        crate::harness::config::without_cool_downs(&mut config);
        let gateway = Gateway::start(&config).await;
        for protocol in PAID {
            let answer = gateway.ask(&Request::ask(protocol)).await;
            let reported = format!("{protocol:?} behind {first:?}: {}", answer.text());
            assert_eq!(answer.status == 200, goes_on, "{reported}");
        }
        assert_eq!(failing.requests().len(), PAID.len(), "{first:?}");
        let further = if goes_on { PAID.len() } else { 0 };
        assert_eq!(next.requests().len(), further, "{first:?}");
    }
}

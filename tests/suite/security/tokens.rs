//! Tests of tokens of issuers: whose they are, what they may do, and the life of an issuer's keys.

use crate::configuration::check::check;
use crate::harness::request::{ANN, BOB, body_of};
use crate::harness::token_issuer::{FakeIssuer, TokenSetup, TokenSigner, claims, claims_with, now};
use crate::harness::{Request, WholeResponse, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

async fn ask(world: &TokenSetup, key: &str) -> WholeResponse {
    world
        .gateway
        .ask(&Request::ask(Protocol::Chat).key(key))
        .await
}

#[tokio::test]
async fn a_token_authenticates_the_caller_that_it_claims_beside_keys_on_the_same_route() {
    let signers = [
        TokenSigner::rsa("rsa"),
        TokenSigner::p256("p256"),
        TokenSigner::ed25519("ed", 1),
    ];
    let world = TokenSetup::start(&signers.each_ref()).await;
    for signer in &signers {
        let token = signer.token(&claims());
        for _ in 0..2 {
            let answer = ask(&world, &token).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let line = world.gateway.log_of(&answer).await;
            assert_eq!(line["caller"], "corp:alice");
            assert_eq!(line["key"], format!("corp/{}", signer.id));
        }
    }
    let list = claims_with(json!({"aud": ["other", "headgate"], "typ": "x"}));
    assert_eq!(ask(&world, &signers[2].token(&list)).await.status, 200);
    assert_eq!(ask(&world, ANN).await.status, 200);
    assert_eq!(ask(&world, "sk-unknown").await.status, 401);
    assert_eq!(world.issuer.fetches(), 1, "keys are fetched once");
    let metrics = world.gateway.metrics().await;
    let tokens = |outcome| {
        metrics.sum(
            "headgate_issuer_tokens_total",
            &[("issuer", "corp"), ("outcome", outcome)],
        )
    };
    assert_eq!((tokens("accepted"), tokens("refused")), (7.0, 0.0));
    assert_eq!(
        metrics.sum("headgate_issuer_keys_usable", &[("issuer", "corp")]),
        1.0
    );
    let tokens_never_leave = world.simulator.records().await;
    assert!(
        tokens_never_leave
            .iter()
            .all(|record| !record.to_string().contains("eyJ"))
    );
}

#[tokio::test]
async fn claims_choose_what_a_caller_may_do_and_whose_limits_count() {
    let signer = TokenSigner::ed25519("ed", 1);
    let world = TokenSetup::with(&[&signer], |config, _| {
        config["issuers"]["corp"]["admit"] = json!([
            {"when": "\"ops\" in json(\"/groups\")", "as": "ann"},
            {"when": "\"ml\" in json(\"/groups\")", "like": "bob"},
        ]);
        config["issuers"]["corp"]["models"] =
            json!("has(json(\"/scope\")) ? json(\"/scope\") : \"*\"");
        config["issuers"]["corp"]["metric_names"] = json!(1);
        config["callers"][1]["limits"] = json!({"requests_per_minute": 1});
        let chat = config::route(config, "chat");
        chat["request"]
            .as_array_mut()
            .unwrap()
            .push("rate_limit".into());
    })
    .await;
    let send = async |sub: &str, groups: Value, scope: Value, model: &str| {
        let changes = json!({"sub": sub, "groups": groups, "scope": scope});
        let mut body = body_of(Protocol::Chat);
        body["model"] = model.into();
        let token = signer.token(&claims_with(changes));
        let request = Request::to(Protocol::Chat, body.to_string()).key(&token);
        let answer = world.gateway.ask(&request).await;
        let line = world.gateway.log_of(&answer).await;
        (
            answer.status,
            line["caller"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let expect = |status, caller: &str| (status, caller.to_owned());
    let (ops, ml) = (json!(["ops"]), json!(["ml", "x"]));
    assert_eq!(
        send("o", ops.clone(), Value::Null, "demo-large").await,
        expect(200, "ann")
    );
    assert_eq!(
        send("o", ops, json!("demo-small x"), "demo-large").await,
        expect(403, "ann")
    );
    let small = "demo-small";
    assert_eq!(
        send("a", ml.clone(), Value::Null, "demo-large").await.0,
        403
    );
    assert_eq!(
        send("a", ml.clone(), Value::Null, small).await,
        expect(200, "corp:a")
    );
    assert_eq!(
        send("a", ml.clone(), Value::Null, small).await,
        expect(429, "corp:a")
    );
    assert_eq!(
        send("b", ml, json!([small]), small).await,
        expect(200, "corp:b")
    );
    assert_eq!(
        ask_small(&world, BOB).await,
        200,
        "the limits of Bob are his own"
    );
    assert_eq!(
        send("c", json!(["x"]), Value::Null, small).await,
        expect(403, "")
    );
    assert_eq!(
        send("d", Value::Null, Value::Null, small).await,
        expect(403, "")
    );
    let metrics = world.gateway.metrics().await;
    for (caller, refused) in [("corp:a", 1.0), ("other", 0.0)] {
        assert_eq!(
            metrics.sum("headgate_rate_limited_total", &[("caller", caller)]),
            refused
        );
    }
    let text = world.gateway.page("GET", "/metrics").await.text();
    assert!(
        text.contains("caller=\"other\"") && !text.contains("corp:b"),
        "{text}"
    );
}

async fn ask_small(world: &TokenSetup, key: &str) -> u16 {
    let mut body = body_of(Protocol::Chat);
    body["model"] = "demo-small".into();
    let request = Request::to(Protocol::Chat, body.to_string()).key(key);
    world.gateway.ask(&request).await.status
}

#[tokio::test]
async fn a_rotated_key_is_fetched_once_and_a_removed_one_is_refused() {
    let (old, new) = (
        TokenSigner::ed25519("old", 1),
        TokenSigner::ed25519("new", 2),
    );
    let world = TokenSetup::start(&[&old]).await;
    let of_old = old.token(&claims());
    assert_eq!(ask(&world, &of_old).await.status, 200);
    world.issuer.publish(&[&new]);
    assert_eq!(ask(&world, &of_old).await.status, 200, "the keys are fresh");
    let token = new.token(&claims());
    for answer in [ask(&world, &token), ask(&world, &token)] {
        assert_eq!(answer.await.status, 200);
    }
    assert_eq!(world.issuer.fetches(), 2);
    // A token that was verified with a key is refused when the issuer has removed that.
    assert_eq!(ask(&world, &of_old).await.status, 401);
    let stranger = TokenSigner::ed25519("stranger", 3);
    for _ in 0..5 {
        assert_eq!(ask(&world, &stranger.token(&claims())).await.status, 401);
    }
    assert_eq!(
        world.issuer.fetches(),
        2,
        "one fetch a minute for unknown keys"
    );
}

#[tokio::test]
async fn without_keys_tokens_get_503_and_a_finding_while_keys_of_callers_serve() {
    let signer = TokenSigner::ed25519("ed", 1);
    let world = TokenSetup::with(&[], |_, _| {}).await;
    let answer = ask(&world, &signer.token(&claims())).await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.json()["error"]["code"], "check_unavailable");
    let line = world.gateway.log_of(&answer).await;
    assert_eq!(
        line["error_detail"],
        "there are no usable keys of issuer `corp`"
    );
    assert_eq!(ask(&world, ANN).await.status, 200);
    let findings = eventually("the finding", async || {
        let page = world.gateway.page("GET", "/findings").await.text();
        page.contains("issuer_keys").then_some(page)
    })
    .await;
    assert!(findings.contains("status 503"), "{findings}");
    assert_eq!(world.simulator.records().await.len(), 1);
}

#[tokio::test]
async fn the_clock_of_an_issuer_may_be_a_minute_off() {
    let signer = TokenSigner::ed25519("ed", 1);
    let world = TokenSetup::start(&[&signer]).await;
    for (name, value, status) in [
        ("exp", now() - 40, 200),
        ("exp", now() - 80, 401),
        ("nbf", now() + 40, 200),
        ("nbf", now() + 80, 401),
        ("iat", now() + 40, 200),
        ("iat", now() + 80, 401),
    ] {
        let token = signer.token(&claims_with(json!({ name: value })));
        assert_eq!(ask(&world, &token).await.status, status, "{name}");
    }
}

#[tokio::test]
async fn keys_are_found_by_discovery_if_its_document_is_that_of_the_issuer() {
    let signer = TokenSigner::ed25519("ed", 1);
    for (suffix, status) in [("", 200), ("/other", 503)] {
        let mut issuer = String::new();
        let world = TokenSetup::with(&[], |config, fake: &FakeIssuer| {
            issuer = fake.url();
            // Both documents in one: the members of the other do not matter.
            fake.respond(Some(json!({
                "issuer": format!("{issuer}{suffix}"), "jwks_uri": format!("{issuer}/keys"),
                "keys": [signer.published()],
            })));
            let entry = config["issuers"]["corp"].as_object_mut().unwrap();
            entry.remove("jwks");
            entry.insert("issuer".into(), json!(issuer));
        })
        .await;
        let token = signer.token(&claims_with(json!({"iss": issuer})));
        let answer = ask(&world, &token).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        let first = world.issuer.server.requests()[0].clone();
        assert!(
            first.starts_with("GET /.well-known/openid-configuration "),
            "{first}"
        );
    }
}

#[tokio::test]
async fn settings_of_issuers_are_checked() {
    let issuer = FakeIssuer::start().await;
    for (pointer, value, wanted) in [
        (
            "/issuers/corp/jwks",
            json!("http://keys.example/k"),
            "https only",
        ),
        ("/issuers/corp/algorithms", json!(["HS256"]), "HS256"),
        ("/issuers/corp/algorithms", json!(["none"]), "none"),
        ("/issuers/corp/clock_skew", json!("6m"), "at most 5m"),
        ("/issuers/corp/audience", json!([]), "must not be empty"),
        (
            "/issuers/corp/caller",
            json!("request.path"),
            "nothing but claims",
        ),
        (
            "/issuers/corp/admit/0/like",
            json!("anna"),
            "unknown caller `anna`",
        ),
        (
            "/issuers/corp/admit/0/as",
            json!("ann"),
            "one of `as` and `like`",
        ),
        ("/issuers/corp/admit/0/when", json!("1 +"), "when"),
        ("/callers/1/name", json!("corp:bob"), "can claim"),
        (
            "/chains/body/1/authenticate/jwt/0",
            json!("crop"),
            "did you mean `corp`?",
        ),
    ] {
        let mut config = config::standard("http://127.0.0.1:9");
        config["issuers"] = json!({"corp": issuer.entry()});
        config["chains"]["body"][1] = json!({"authenticate": {"jwt": ["corp"]}});
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        let parent = config.pointer_mut(parent).unwrap();
        match parent.as_array_mut() {
            Some(list) => list[member.parse::<usize>().unwrap()] = value,
            None => parent[member] = value,
        }
        let printed = check(&config.to_string());
        let text = &printed.stderr;
        assert!(
            !printed.success && text.contains(wanted),
            "{pointer}: {text}"
        );
    }
}

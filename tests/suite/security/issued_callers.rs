//! Tests of callers that the admin pages make: what is stored, used, repeated and logged.

use crate::harness::admin::audit_lines;
use crate::harness::issuance::{ISSUER, ask, chat, config, make, new_key, request};
use crate::harness::state_file::StateFile;
use crate::harness::{Gateway, RedisServer, Request, Simulator};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

#[tokio::test]
async fn a_caller_is_made_used_changed_and_deleted_and_survives_restarts() {
    let (redis, file) = (RedisServer::start(), StateFile::new());
    for state in ["memory".to_owned(), file.url(), redis.url()] {
        let simulator = Simulator::start().await;
        let config = config(&simulator.url(), &state, "a");
        let gateway = Gateway::start(&config).await;
        let body = json!({
            "name": "carl", "models": ["*"], "group": "team", "limits": {"requests_per_minute": 100},
            "keys": [{"label": "first"}, {"label": "second", "not_after": "2020-01-01T00:00:00Z"}],
            "webhook_secrets": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw1234567890ab"]
        });
        let made = ask(&gateway, "POST", "/callers", body).await;
        assert_eq!(made.status, 201, "{}", made.text());
        assert_eq!(made.headers.get("location"), Some("/callers/carl"));
        let page = made.json();
        let [first, expired] = [0, 1].map(|index| page["new_keys"][index]["key"].as_str().unwrap());
        assert_eq!(chat(&gateway, first).await, 200, "{state}");
        assert_eq!(chat(&gateway, expired).await, 401);
        assert_eq!(chat(&gateway, &format!("{first}x")).await, 401);

        let shown = ask(&gateway, "GET", "/callers/carl", Value::Null).await;
        assert_eq!(shown.json()["group"], "team");
        assert_eq!(shown.json()["keys"][0], json!({"label": "first"}));
        let listed = ask(&gateway, "GET", "/callers", Value::Null).await;
        assert_eq!(listed.json()["callers"], json!([shown.json()]));
        for page in [&shown, &listed] {
            for hidden in [first, "whsec_", "sha256", "MfKQ"] {
                assert!(!page.text().contains(hidden), "{hidden}: {}", page.text());
            }
        }

        let patch = json!({"keys": {"first": null, "third": {}}, "group": null});
        let changed = ask(&gateway, "PATCH", "/callers/carl", patch).await;
        assert_eq!(changed.status, 200, "{}", changed.text());
        let third = new_key(&changed);
        assert_eq!(
            (chat(&gateway, first).await, chat(&gateway, &third).await),
            (401, 200)
        );
        assert_eq!(
            changed.json()["limits"],
            json!({"requests_per_minute": 100})
        );
        assert_eq!(changed.json()["group"], Value::Null);

        let gateway = match state.as_str() {
            "memory" => gateway,
            _ => {
                drop(gateway);
                Gateway::start(&config).await
            }
        };
        assert_eq!(
            (chat(&gateway, first).await, chat(&gateway, &third).await),
            (401, 200)
        );
        let deleted = ask(&gateway, "DELETE", "/callers/carl", Value::Null).await;
        assert_eq!(deleted.status, 200, "{}", deleted.text());
        assert_eq!(chat(&gateway, &third).await, 401);
        for method in ["GET", "DELETE", "PATCH"] {
            let body = if method == "PATCH" {
                json!({})
            } else {
                Value::Null
            };
            let gone = ask(&gateway, method, "/callers/carl", body).await;
            assert_eq!(gone.status, 404, "{method} {}", gone.text());
        }
        // Another one of the name has nothing of the first.
        let again = ask(
            &gateway,
            "POST",
            "/callers",
            json!({"name": "carl", "models": ["*"]}),
        )
        .await;
        assert_eq!(again.json()["identity"], "carl~2", "{}", again.text());
        assert_ne!(again.json()["id"], page["id"]);
        let response = gateway
            .ask(&Request::ask(Protocol::Chat).key(&new_key(&again)))
            .await;
        assert_eq!(response.status, 200);
        assert_eq!(gateway.log_of(&response).await["caller"], "carl~2");
        assert_eq!(chat(&gateway, &third).await, 401);
    }
}

#[tokio::test]
async fn a_repeated_request_changes_nothing_more_and_shows_no_key_again() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config(&simulator.url(), "memory", "a")).await;
    let ask = async |method: &str, path: &str, body: Value, key: &str| {
        let request = request(&gateway, method, path, &body).header("Idempotency-Key", key);
        gateway.ask_admin(&request).await
    };
    let body = json!({"name": "carl", "models": ["*"]});
    let first = ask("POST", "/callers", body.clone(), "k1").await;
    let repeated = ask("POST", "/callers", body.clone(), "k1").await;
    assert_eq!(
        (first.status, repeated.status),
        (201, 200),
        "{}",
        repeated.text()
    );
    let (first, repeated) = (first.json(), repeated.json());
    assert_eq!(repeated["new_keys"], json!([]));
    assert_eq!(repeated["repeated"], true);
    for member in ["id", "version", "keys"] {
        assert_eq!(repeated[member], first[member], "{member}");
    }
    let other = json!({"name": "carl", "models": ["demo-small"]});
    assert_eq!(ask("POST", "/callers", other, "k1").await.status, 422);
    assert_eq!(
        ask("POST", "/callers", body.clone(), "k2").await.status,
        409
    );
    let patch = json!({"keys": {"more": {}}});
    let changed = ask("PATCH", "/callers/carl", patch.clone(), "k3").await;
    let again = ask("PATCH", "/callers/carl", patch.clone(), "k3").await;
    assert_eq!((changed.status, again.status), (200, 200));
    assert_eq!(again.json()["new_keys"], json!([]));
    assert_eq!(again.json()["keys"].as_array().unwrap().len(), 2);
    assert_eq!(
        ask("PATCH", "/callers/carl", json!({}), "k3").await.status,
        422
    );
    for _ in 0..2 {
        let deleted = ask("DELETE", "/callers/carl", Value::Null, "k4").await;
        assert_eq!(
            (deleted.status, &deleted.json()["deleted"]),
            (200, &json!(true))
        );
    }
    // A repetition that comes late makes no caller anew.
    let late = ask("POST", "/callers", body.clone(), "k1").await;
    assert_eq!(late.status, 409, "{}", late.text());
    assert_eq!(ask("POST", "/callers", body, "k5").await.status, 201);
    for key in ["", &"k".repeat(256)] {
        let refused = ask(
            "POST",
            "/callers",
            json!({"name": "dora", "models": []}),
            key,
        )
        .await;
        assert_eq!(refused.status, 400, "{key:.20}: {}", refused.text());
    }
}

#[tokio::test]
async fn a_change_of_another_version_than_the_one_that_was_read_is_refused() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config(&simulator.url(), "memory", "a")).await;
    make(&gateway, "carl").await;
    let read = ask(&gateway, "GET", "/callers/carl", Value::Null).await;
    let tag = read.headers.get("etag").unwrap().to_owned();
    let change = async |tag: &str| {
        let body = json!({"models": ["demo-small"]});
        let request = request(&gateway, "PATCH", "/callers/carl", &body);
        gateway
            .ask_admin(&request.header("If-Match", tag))
            .await
            .status
    };
    assert_eq!((change(&tag).await, change(&tag).await), (200, 412));
    assert_eq!((change("*").await, change("12").await), (400, 400));
}

#[tokio::test]
async fn the_audit_log_has_a_line_of_each_change_with_the_name_and_without_keys() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config(&simulator.url(), "memory", "a")).await;
    let key = make(&gateway, "carl").await;
    ask(
        &gateway,
        "POST",
        "/callers",
        json!({"name": "carl", "models": ["*"]}),
    )
    .await;
    ask(
        &gateway,
        "PATCH",
        "/callers/carl",
        json!({"limits": {"concurrent": 3}}),
    )
    .await;
    let denied = gateway.page("DELETE", "/callers/carl").await;
    assert_eq!(denied.status, 403);
    ask(&gateway, "DELETE", "/callers/carl", Value::Null).await;
    let lines = audit_lines(&gateway, 5).await;
    assert_eq!(
        lines,
        [
            json!(["create_caller", "carl", "issuer", "done", 201]),
            json!(["create_caller", "carl", "issuer", "refused", 409]),
            json!(["change_caller", "carl", "issuer", "done", 200]),
            json!(["delete_caller", "carl", "operator", "denied", 403]),
            json!(["delete_caller", "carl", "issuer", "done", 200]),
        ]
    );
    for line in gateway.process.stderr.all() {
        assert!(!line.contains(&key) && !line.contains(ISSUER), "{line}");
    }
}

#[tokio::test]
async fn a_stored_caller_whose_name_routes_yaml_takes_is_shown_and_deleted_and_its_key_does_not_come_back()
 {
    let simulator = Simulator::start().await;
    let with = |name: Option<&str>| {
        let mut config = config(&simulator.url(), "memory", "a");
        if let Some(name) = name {
            let taken = crate::harness::config::caller(name, "sk-taken", &["*"]);
            config["callers"].as_array_mut().unwrap().push(taken);
        }
        config
    };
    let gateway = Gateway::start(&with(None)).await;
    let key = make(&gateway, "carl").await;
    gateway.reload(&with(Some("carl"))).await;
    let shown = ask(&gateway, "GET", "/callers/carl", Value::Null).await;
    assert_eq!(shown.status, 200, "{}", shown.text());
    assert_eq!(shown.json()["shadowed_by"], "routes.yaml");
    make(&gateway, "dora").await;
    let listed = ask(&gateway, "GET", "/callers", Value::Null).await.json();
    let listed = listed["callers"].as_array().unwrap().iter();
    let listed: Vec<_> = listed
        .map(|caller| json!([caller["name"], caller["shadowed_by"]]))
        .collect();
    assert_eq!(
        listed,
        [json!(["carl", "routes.yaml"]), json!(["dora", null])]
    );
    let changed = ask(&gateway, "PATCH", "/callers/carl", json!({"models": []})).await;
    assert_eq!(changed.status, 409, "{}", changed.text());
    let deleted = ask(&gateway, "DELETE", "/callers/carl", Value::Null).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    let taken = Request::ask(Protocol::Chat).key("sk-taken");
    assert_eq!(gateway.ask(&taken).await.status, 200);
    gateway.reload(&with(None)).await;
    let stale = Request::ask(Protocol::Chat).key(&key);
    assert_eq!(gateway.ask(&stale).await.status, 401);
}

#[tokio::test]
async fn the_only_key_of_a_caller_is_removed_and_another_one_is_made_later() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config(&simulator.url(), "memory", "a")).await;
    let key = make(&gateway, "carl").await;
    let shown = ask(&gateway, "GET", "/callers/carl", Value::Null).await;
    let label = shown.json()["keys"][0]["label"]
        .as_str()
        .unwrap()
        .to_owned();
    for (change, status) in [(Value::Null, 401), (json!({}), 401)] {
        let body = json!({"keys": {&label: change}});
        let changed = ask(&gateway, "PATCH", "/callers/carl", body).await;
        assert_eq!(changed.status, 200, "{}", changed.text());
        let request = Request::ask(Protocol::Chat).key(&key);
        assert_eq!(gateway.ask(&request).await.status, status);
        for made in changed.json()["new_keys"].as_array().unwrap() {
            let request = Request::ask(Protocol::Chat).key(made["key"].as_str().unwrap());
            assert_eq!(gateway.ask(&request).await.status, 200);
        }
    }
    let findings = gateway.page("GET", "/findings").await.text();
    assert!(!findings.contains("caller_refused"), "{findings}");
}

#[tokio::test]
async fn a_gateway_without_the_section_keeps_no_callers() {
    let simulator = Simulator::start().await;
    let mut config = config(&simulator.url(), "memory", "a");
    config.as_object_mut().unwrap().remove("caller_sources");
    let gateway = Gateway::start(&config).await;
    let body = json!({"name": "carl", "models": []});
    for (method, path, body) in [("POST", "/callers", body), ("GET", "/callers", Value::Null)] {
        let received = ask(&gateway, method, path, body).await;
        assert_eq!(received.status, 409, "{}", received.text());
        let words = "`caller_sources: {store: {}}`";
        assert!(received.text().contains(words), "{}", received.text());
    }
}

#[tokio::test]
async fn a_store_that_is_full_takes_a_caller_again_once_one_is_deleted() {
    let simulator = Simulator::start().await;
    let mut config = config(&simulator.url(), "memory", "a");
    config["caller_sources"] = json!({"store": {"most": 2}});
    let gateway = Gateway::start(&config).await;
    make(&gateway, "carl").await;
    make(&gateway, "dora").await;
    let body = json!({"name": "emma", "models": ["*"]});
    let refused = ask(&gateway, "POST", "/callers", body.clone()).await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("2 callers"), "{}", refused.text());
    ask(&gateway, "DELETE", "/callers/carl", Value::Null).await;
    let made = ask(&gateway, "POST", "/callers", body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    // A page has at most as many as were requested, and says where the next one begins.
    let first = ask(&gateway, "GET", "/callers?limit=1", Value::Null)
        .await
        .json();
    assert_eq!(
        (&first["callers"][0]["name"], &first["next"]),
        (&json!("dora"), &json!("dora"))
    );
    let second = ask(&gateway, "GET", "/callers?limit=1&after=dora", Value::Null)
        .await
        .json();
    assert_eq!(
        (&second["callers"][0]["name"], &second["next"]),
        (&json!("emma"), &Value::Null)
    );
    for limit in ["0", "201", "x"] {
        let path = format!("/callers?limit={limit}");
        assert_eq!(
            ask(&gateway, "GET", &path, Value::Null).await.status,
            400,
            "{limit}"
        );
    }
}

//! Tests of responses to paid creates: which lead to failover, which are errors, and whether SDKs may retry.

use crate::harness::http_response::typed_response;
use crate::harness::video::{FAMILY_A, FAMILY_B, GENERIC, create, creates, video_config};
use crate::harness::{
    Gateway, ScriptedProvider, ScriptedResponse, Simulator, WholeResponse, config,
};
use serde_json::json;

/// The two families' own routes and the generic one, each with its model and its channel.
const WAYS: [(&str, &str, &str); 3] = [
    (GENERIC, "demo-video-a", "a"),
    (FAMILY_A, "demo-video-a", "a"),
    (FAMILY_B, "demo-video-b", "b"),
];

fn answering(status: u16, content_type: &str, body: &str) -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(typed_response(
        status,
        content_type,
        body,
    ))]
}

/// The response for a create whose first channel responds with `acts`, and the number of creates at the second one.
async fn first_answering(
    way: (&str, &str, &str),
    acts: Vec<ScriptedResponse>,
) -> (WholeResponse, usize) {
    let (path, model, channel) = way;
    let (provider, simulator) = (
        ScriptedProvider::start(acts).await,
        Simulator::start().await,
    );
    let mut config = video_config(&simulator, "");
    let mut second = config["channels"][channel].clone();
    second["tier"] = json!(1);
    config["channels"]["second"] = second;
    config["channels"][channel]["base_url"] = json!(format!("http://{}/api", provider.address));
    config::without_cool_downs(&mut config);
    let gateway = Gateway::start(&config).await;
    let answer = create(&gateway, path, model).await;
    assert_eq!(provider.requests().len(), 1, "{path}");
    (answer, creates(&simulator).await)
}

#[tokio::test]
async fn a_code_that_the_family_lists_goes_elsewhere_and_no_other() {
    for (way, status, body, elsewhere) in [
        (
            WAYS[0],
            403,
            r#"{"error":{"code":"AccessDenied","message":"m"}}"#,
            1,
        ),
        (
            WAYS[1],
            403,
            r#"{"error":{"code":"OperationDenied.PermissionDenied","message":"m"}}"#,
            1,
        ),
        (
            WAYS[2],
            403,
            r#"{"code":"AccessDenied.Unlisted","message":"m"}"#,
            1,
        ),
        (
            WAYS[0],
            403,
            r#"{"error":{"code":"OperationDenied.InvalidState","message":"m"}}"#,
            0,
        ),
        (
            WAYS[2],
            400,
            r#"{"code":"InvalidParameter","message":"m"}"#,
            0,
        ),
        // A provider that failed may have accepted the create, whatever its response says.
        (
            WAYS[0],
            500,
            r#"{"error":{"code":"AccessDenied","message":"m"}}"#,
            0,
        ),
    ] {
        let acts = answering(status, "application/json", body);
        let (answer, second) = first_answering(way, acts).await;
        assert_eq!(second, elsewhere, "{status} {body}: {}", answer.text());
        assert_eq!(answer.status == 200, elsewhere == 1, "{}", answer.text());
    }
}

#[tokio::test]
async fn a_response_of_an_unexpected_type_is_a_502_without_its_content() {
    for way in WAYS {
        for (content_type, body) in [
            ("text/event-stream", "data: {\"id\":\"cgt-1\"}\n\n"),
            ("text/html", "<html>cgt-1</html>"),
            ("text/plain", "cgt-1"),
        ] {
            let acts = answering(200, content_type, body);
            let (answer, second) = first_answering(way, acts).await;
            let reported = format!("{way:?} {content_type}: {}", answer.text());
            assert_eq!((answer.status, second), (502, 0), "{reported}");
            assert!(!answer.text().contains("cgt-1"), "{reported}");
            assert!(!answer.text().contains("try again"), "{reported}");
            if way.0 != FAMILY_B {
                let code = &answer.json()["error"]["code"];
                assert_eq!(code, "invalid_upstream_response", "{reported}");
            }
        }
    }
}

#[tokio::test]
async fn sdks_do_not_retry_a_create_that_may_have_been_accepted() {
    let json = "application/json";
    for way in WAYS {
        for (acts, has_no_task) in [
            (answering(500, json, "{}"), true),
            (answering(200, json, "{}"), true),
            (answering(200, "text/html", "<html>"), true),
            (vec![ScriptedResponse::Reset], true),
            (answering(408, json, "{}"), true),
            (answering(409, json, "{}"), true),
            (answering(400, json, "{}"), false),
        ] {
            let (answer, _) = first_answering(way, acts).await;
            let advice = answer.headers.get("x-should-retry");
            let reported = format!("{way:?} {}: {}", answer.status, answer.text());
            assert_eq!(advice, has_no_task.then_some("false"), "{reported}");
        }
    }
}

//! Two callers with each other's ids, in every format and for every operation: none reaches a provider.

use crate::harness::request::{ANN, BOB};
use crate::harness::video::{
    FAMILY_A, FAMILY_B, GENERIC, OPENAI, ask, cancel_request, create_body, openai_config,
    operations,
};
use crate::harness::{Gateway, Request, Simulator};

const FORMATS: [(&str, &str); 4] = [
    (GENERIC, "demo-video-a"),
    (FAMILY_A, "demo-video-a"),
    (FAMILY_B, "demo-video-b"),
    (OPENAI, "demo-video-b"),
];

/// The id of a task that `key` creates.
async fn create(gateway: &Gateway, path: &str, model: &str, key: &str) -> String {
    let mut body = create_body(path, model);
    if path == OPENAI {
        body = serde_json::json!({"model": model, "prompt": "a gate", "seconds": "5"});
    }
    let created = gateway
        .ask(&Request::post(path, body.to_string()).key(key))
        .await;
    assert_eq!(created.status, 200, "{path}: {}", created.text());
    let created = created.json();
    let places = ["/task_id", "/id", "/output/task_id"];
    let id = places
        .iter()
        .find_map(|place| created.pointer(place)?.as_str());
    id.unwrap_or_else(|| panic!("{created}")).to_owned()
}

/// Every request about a task.
fn requests(id: &str) -> Vec<Request> {
    let mut requests = vec![
        Request::get(&format!("{OPENAI}/{id}/content")),
        Request::get(&format!("{OPENAI}/{id}/content?variant=video")).header("Range", "bytes=0-9"),
    ];
    for (path, _) in FORMATS {
        requests.push(Request::get(&format!("{path}/{id}")));
        requests.push(cancel_request(path, id));
    }
    requests
}

#[tokio::test]
async fn ids_of_another_caller_and_ids_made_of_two_are_unknown_in_every_format() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&openai_config(&simulator, "queue=5m")).await;
    let mut ids = Vec::new();
    for (path, model) in FORMATS {
        ids.push((
            path,
            create(&gateway, path, model, ANN).await,
            create(&gateway, path, model, BOB).await,
        ));
    }
    let before = operations(&simulator).await.len();
    let mut refused = 0;
    for (path, anns, bobs) in &ids {
        let middle = anns.len() / 2;
        let spliced = [
            format!("{}{}", &anns[..middle], &bobs[middle..]),
            format!("{}{}", &bobs[..middle], &anns[middle..]),
        ];
        let both = [ANN, BOB].map(|key| spliced.iter().map(move |id| (key, id)));
        let swapped = [(ANN, bobs), (BOB, anns)];
        for (key, id) in swapped.into_iter().chain(both.into_iter().flatten()) {
            for request in requests(id) {
                let line = format!("{} {}, made as {path}", request.method, request.target);
                let response = gateway.ask(&request.key(key)).await;
                assert_eq!(response.status, 404, "{line}: {}", response.text());
                refused += 1;
            }
        }
    }
    assert_eq!(operations(&simulator).await.len(), before);
    println!("{refused} requests with ids of others: 404, none reached a provider");
    // The true owners have their tasks, unchanged.
    for (path, anns, _) in &ids {
        let status = ask(&gateway, path, anns).await;
        assert_eq!(status.status, 200, "{path}: {}", status.text());
    }
}

//! Tests of batches of files, from the upload to the output.

use crate::harness::batches::{
    BATCHES, batch_config, batch_gateway, create, id_in, line, received, upload, upload_for,
    upload_lines,
};
use crate::harness::connection::find;
use crate::harness::request::BOB;
use crate::harness::{Gateway, Request, Simulator};
use serde_json::{Value, json};

fn batch(id: &str) -> Request {
    Request::get(&format!("{BATCHES}/{id}"))
}

/// The content of the file in the last request as the provider received it.
async fn sent_file(simulator: &Simulator) -> String {
    let form = simulator.last_body().await;
    let start = find(&form, b"application/jsonl\r\n\r\n").unwrap() + 21;
    let end = find(&form[start..], b"\r\n--gate-7f").unwrap();
    String::from_utf8(form[start..start + end].to_vec()).unwrap()
}

#[tokio::test]
async fn a_batch_runs_from_the_upload_to_the_output() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let file = upload_lines(
        &gateway,
        &[line("a", "demo-large"), line("b", "demo-small")],
    )
    .await;
    let made = gateway.ask(&create(&file)).await;
    let id = id_in(&made);
    assert_eq!(made.json()["status"], "validating");
    let foreign = gateway.ask(&batch(&id).key(BOB)).await;
    assert_eq!(foreign.status, 404, "{}", foreign.text());
    assert_eq!(
        gateway.ask(&batch(&id)).await.json()["status"],
        "in_progress"
    );
    let done = gateway.ask(&batch(&id)).await.json();
    assert_eq!(done["status"], "completed");
    let output = format!(
        "/v1/files/{}/content",
        done["output_file_id"].as_str().unwrap()
    );
    let foreign = gateway.ask(&Request::get(&output).key(BOB)).await;
    assert_eq!(foreign.status, 404, "{}", foreign.text());
    let output = gateway.ask(&Request::get(&output)).await;
    assert_eq!(output.status, 200, "{}", output.text());
    let lines: Vec<Value> = output
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let found: Vec<(&Value, &Value)> = lines
        .iter()
        .map(|line| (&line["custom_id"], &line["response"]["body"]["model"]))
        .collect();
    assert_eq!(
        found,
        [
            (&json!("a"), &json!("demo-large")),
            (&json!("b"), &json!("demo-small")),
        ]
    );
}

#[tokio::test]
async fn a_batch_can_be_cancelled_by_its_caller_alone() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let file = upload_lines(&gateway, &[line("a", "demo-small")]).await;
    let id = id_in(&gateway.ask(&create(&file)).await);
    let cancel = Request::new("POST", &format!("{BATCHES}/{id}/cancel"));
    let cancel = cancel.header("Content-Length", "0");
    let foreign = gateway.ask(&cancel.clone().key(BOB)).await;
    assert_eq!(foreign.status, 404, "{}", foreign.text());
    let cancelled = gateway.ask(&cancel).await;
    assert_eq!(
        cancelled.json()["status"],
        "cancelling",
        "{}",
        cancelled.text()
    );
    assert_eq!(gateway.ask(&batch(&id)).await.json()["status"], "cancelled");
}

#[tokio::test]
async fn the_provider_gets_the_bytes_of_the_caller_but_for_the_models() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let plain = line("a", "demo-large");
    let escaped = line("b\u{e4}\\\"", "demo-large").replace("demo-large", "demo\\u002dlarge");
    let spaced = line("c", "demo-small").replace("\"model\":\"demo", "\"model\" :\t\"demo");
    for (file, lines) in [
        (format!("{plain}\n{escaped}\n{spaced}"), 3),
        (format!("{plain}\r\n{spaced}\r\n"), 2),
        (format!("\n{plain}\n \n\n"), 1),
        (format!("  {plain} \t\n"), 1),
        // The name of a model as a text of the caller.
        (
            plain.replace("Hello", "\\\"model\\\":\\\"demo-large\\\""),
            1,
        ),
    ] {
        let made = gateway.ask(&upload(&file)).await;
        assert_eq!(made.status, 200, "{file}: {}", made.text());
        let expected = file
            .replace("\"demo\\u002dlarge\"", "\"sim-large-2026-08\"")
            .replace(
                "\"model\":\"demo-large\"",
                "\"model\":\"sim-large-2026-08\"",
            )
            .replace("\t\"demo-small\"", "\t\"sim-small-2026-08\"");
        assert_eq!(sent_file(&simulator).await, expected);
        let batch = gateway.ask(&create(&id_in(&made))).await;
        assert_eq!(
            batch.json()["request_counts"]["total"],
            lines,
            "{}",
            batch.text()
        );
    }
}

#[tokio::test]
async fn a_second_account_gets_its_own_names_of_models() {
    let (broken, simulator) = (Simulator::start().await, Simulator::start().await);
    let first = broken.url_obeying("status=503");
    let gateway = Gateway::start(&batch_config(&first, &simulator.url())).await;
    let lines = [line("a", "demo-large"), line("b", "demo-small")];
    let file = upload_lines(&gateway, &lines).await;
    assert_eq!(received(&broken).await, 1);
    let expected = lines.join("\n").replace("demo-", "other-");
    assert_eq!(sent_file(&simulator).await, expected);
    // The file binds the batch to this account, and so does the batch its polls.
    let id = id_in(&gateway.ask(&create(&file)).await);
    assert_eq!(gateway.ask(&batch(&id)).await.status, 200);
    assert_eq!(received(&broken).await, 1);
}

#[tokio::test]
async fn a_list_has_the_batches_of_its_caller_and_their_output() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let list = Request::get(BATCHES);
    let mut made = Vec::new();
    for (key, model) in [
        (None, "demo-large"),
        (Some(BOB), "demo-small"),
        (None, "demo-small"),
    ] {
        let own = |request: Request| match key {
            Some(key) => request.key(key),
            None => request,
        };
        let file = id_in(&gateway.ask(&own(upload(line("a", model)))).await);
        made.push(id_in(&gateway.ask(&own(create(&file))).await));
    }
    let ids = |list: &Value| -> Vec<String> {
        let data = list["data"].as_array().unwrap().iter();
        data.map(|batch| batch["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let ann = gateway.ask(&list).await.json();
    assert_eq!(ids(&ann), [made[2].clone(), made[0].clone()]);
    assert_eq!(
        (&ann["first_id"], &ann["last_id"], &ann["has_more"]),
        (&json!(made[2]), &json!(made[0]), &json!(false))
    );
    let bob = gateway.ask(&list.clone().key(BOB)).await.json();
    assert_eq!(ids(&bob), [made[1].clone()]);
    // The provider ends the batch while nobody polls it here: the list is the first to have its output.
    let direct = format!("/v1/batches/{}", made[0]);
    let mut provider = crate::harness::Connection::to(simulator.address).await;
    for _ in 0..2 {
        let polled = provider.ask(&Request::get(&direct).key("sk-first")).await;
        assert_eq!(polled.status, 200, "{}", polled.text());
    }
    let ann = gateway.ask(&list).await.json();
    let output = ann["data"][1]["output_file_id"].as_str().unwrap();
    let content = format!("/v1/files/{output}/content");
    assert_eq!(gateway.ask(&Request::get(&content)).await.status, 200);
    let foreign = gateway.ask(&Request::get(&content).key(BOB)).await;
    assert_eq!(foreign.status, 404, "{}", foreign.text());
}

#[tokio::test]
async fn a_page_without_a_batch_of_the_caller_leads_to_the_next_one() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let mut made = Vec::new();
    for key in [None, None, Some(BOB), Some(BOB), Some(BOB)] {
        let own = |request: Request| match key {
            Some(key) => request.key(key),
            None => request,
        };
        let file = id_in(&gateway.ask(&own(upload(line("a", "demo-small")))).await);
        made.push(id_in(&gateway.ask(&own(create(&file))).await));
    }
    let first = Request::get(&format!("{BATCHES}?limit=1"));
    let page = gateway.ask(&first).await.json();
    assert_eq!(page["data"].as_array().unwrap().len(), 1, "{page}");
    assert_eq!(
        (&page["last_id"], &page["has_more"]),
        (&json!(made[1]), &json!(true))
    );
    let second = format!("{BATCHES}?limit=1&after={}", made[1]);
    let page = gateway.ask(&Request::get(&second)).await.json();
    assert_eq!(
        (&page["first_id"], &page["has_more"]),
        (&json!(made[0]), &json!(false))
    );
    // Another caller's batch is no place from which a caller can continue.
    let foreign = format!("{BATCHES}?limit=1&after={}", made[4]);
    let refused = gateway.ask(&Request::get(&foreign)).await;
    assert_eq!(refused.status, 404, "{}", refused.text());
}

#[tokio::test]
async fn files_for_other_purposes_pass_unread() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    for (purpose, file) in [
        ("user_data", "no JSON"),
        ("batches", "{}"),
        ("assistants", ""),
    ] {
        let made = gateway.ask(&upload_for(purpose, file)).await;
        let id = id_in(&made);
        let before = received(&simulator).await;
        let refused = gateway.ask(&create(&id)).await;
        assert_eq!(refused.status, 400, "{purpose}: {}", refused.text());
        assert_eq!(refused.json()["error"]["param"], "input_file_id");
        assert_eq!(received(&simulator).await, before);
    }
}

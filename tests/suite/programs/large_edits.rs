//! Tests of edits of large bodies: everything else arrives byte for byte, and the memory of the gateway is bounded.
//!
//! The figures are printed (`cargo test --test suite programs::large_edits -- --nocapture`).

use crate::harness::config::{self, route};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::json_response;
use crate::harness::{
    Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, WholeResponse,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Escapes and numbers that another writer of JSON would write in another way.
const TEXT: &str = "caf\\u00e9 \\/ 1.0 ";
const TEXTS: usize = 1 << 20;
/// The memory that an edit may take.
const MEMORY_MAX: u64 = (TEXT.len() * TEXTS) as u64 * 5 / 2;

/// A chat request of about 17 MiB, with a member to edit after the large text.
fn body(user: &str) -> String {
    let text = TEXT.repeat(TEXTS);
    format!(
        "{{ \"model\":\"demo-large\",\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}],{user}\t\"seed\" : 7 }}\n"
    )
}

/// The response, and by how much the memory that the system cannot reclaim grew at most meanwhile.
async fn measured(gateway: &Gateway, request: &Request) -> (WholeResponse, u64) {
    let before = gateway.process.anonymous_bytes();
    let mut peak = before;
    let began = Instant::now();
    let asking = gateway.ask(request);
    tokio::pin!(asking);
    let response = loop {
        tokio::select! {
            response = &mut asking => break response,
            () = tokio::time::sleep(Duration::from_millis(2)) => {
                peak = peak.max(gateway.process.anonymous_bytes());
            }
        }
    };
    let grown = peak - before;
    println!(
        "{} MiB above {} MiB in {:.2} s",
        grown >> 20,
        before >> 20,
        began.elapsed().as_secs_f64()
    );
    (response, grown)
}

async fn gateway(config: &Value) -> Gateway {
    let folder = folder_with_schemas();
    std::fs::create_dir(folder.path().join("spool")).unwrap();
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    // What the first request of a process allocates is not of the edit.
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    gateway
}

#[tokio::test]
async fn one_edit_of_a_large_request_takes_less_than_two_and_a_half_bodies_of_memory() {
    for threshold in ["8MiB", "64MiB"] {
        let simulator = Simulator::start().await;
        let mut config = config::standard(&simulator.url());
        config["server"]["spool"] = json!({"folder": "spool", "threshold": threshold});
        let chain = route(&mut config, "chat")["request"]
            .as_array_mut()
            .unwrap();
        chain.push(json!({"edit_json": {"set": {"/user": {"cel": "caller"}}}}));
        let gateway = gateway(&config).await;
        let request = Request::to(Protocol::Chat, body("\"user\" :\"one\","));
        print!("a request, in a file from {threshold}: ");
        let (response, grown) = measured(&gateway, &request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let expected = body("\"user\" :\"ann\",").replacen("demo-large", "sim-large-2026-08", 1);
        assert!(
            simulator.last_body().await == expected.as_bytes(),
            "byte-identical"
        );
        assert!(grown < MEMORY_MAX, "{grown} bytes, at most {MEMORY_MAX}");
    }
}

#[tokio::test]
async fn one_edit_of_a_large_response_takes_less_than_two_and_a_half_bodies_of_memory() {
    let provider = ScriptedProvider::answering(json_response(200, "{}")).await;
    let mut config = config::standard(&provider.url());
    let chain = route(&mut config, "chat")["response"]
        .as_array_mut()
        .unwrap();
    chain.push(json!({"edit_json": {"set": {"/user": {"cel": "caller"}}}}));
    let gateway = gateway(&config).await;
    let sent = json_response(200, body("\"user\" :\"one\","));
    provider.next(vec![ScriptedResponse::Send(sent)]);
    print!("a response: ");
    let (response, grown) = measured(&gateway, &Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 200);
    assert!(
        response.body == body("\"user\" :\"ann\",").as_bytes(),
        "byte-identical"
    );
    assert!(grown < MEMORY_MAX, "{grown} bytes, at most {MEMORY_MAX}");
}

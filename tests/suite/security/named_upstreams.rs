//! Tests of callers that name an upstream, by conventions of other gateways: each request goes to the channel of its model.

use crate::harness::hostile_urls::Decoy;
use crate::harness::{PROTOCOLS, Request, TestSetup, body_of};
use serde_json::{Value, json};

/// Members of bodies by which other gateways and SDKs take the base URL of a provider, its key or its name.
const MEMBERS: &[&str] = &[
    "api_base",
    "base_url",
    "baseURL",
    "api_base_url",
    "custom_host",
    "custom_llm_provider",
    "endpoint",
    "provider",
    "proxy",
    "url",
];

/// Headers to the same end; `x-forwarded-host` and `forwarded` name the host that a client used.
const HEADERS: &[&str] = &[
    "x-base-url",
    "x-api-base",
    "x-target-url",
    "x-target-host",
    "x-upstream-url",
    "x-portkey-custom-host",
    "x-portkey-provider",
    "helicone-target-url",
    "helicone-openai-api-base",
    "cf-aig-custom-provider",
    "x-forwarded-host",
    "x-original-url",
    "x-rewrite-url",
    "x-headgate-channel",
];

#[tokio::test]
async fn no_caller_chooses_where_a_request_goes() {
    let world = TestSetup::start().await;
    let decoy = Decoy::start().await;
    let host = format!("127.0.0.1:{}", decoy.port);
    let url = format!("http://{host}/v1");
    let channel = world.simulator.url().replace("http://", "");
    let channel = channel.split('/').next().unwrap().to_owned();
    let mut cases = 0;
    for protocol in PROTOCOLS {
        let named = MEMBERS.iter().map(|member| {
            let mut body = body_of(protocol);
            body[*member] = json!(url);
            Request::to(protocol, body.to_string())
        });
        let in_headers = HEADERS
            .iter()
            .flat_map(|name| [&url, &host].map(|value| Request::ask(protocol).header(name, value)));
        let in_query = MEMBERS.iter().map(|member| {
            let mut request = Request::ask(protocol);
            request.target = format!("{}?{member}={url}", request.target);
            request
        });
        for request in named.chain(in_headers).chain(in_query) {
            cases += 1;
            let answer = world.ask(&request).await;
            assert!(
                [200, 400].contains(&answer.status),
                "{}: {}",
                request.target,
                answer.text()
            );
            if answer.status == 200 {
                let record = world.simulator.last().await;
                assert_eq!(record["headers"]["host"], Value::from(channel.as_str()));
            }
        }
    }
    println!(
        "{cases} requests that name an upstream: {} connections to a decoy",
        decoy.connections()
    );
    assert_eq!(decoy.connections(), 0);
}

//! Tests of lists whose later pages fail: a client that pages as SDKs do gets every entry of its caller, or an error.

use crate::harness::http_response::{json_response, typed_response};
use crate::harness::scripted::ScriptedResponse;
use crate::harness::{Gateway, Request, ScriptedProvider, WholeResponse, config};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const LIST: &str = "/v1/containers";
/// Entries on a page of the provider.
const PAGE: usize = 2;

/// What the provider does in place of a page.
#[derive(Clone, Copy, Debug)]
enum PageFailure {
    Status(u16),
    Foreign,
    Unreadable,
    NoData,
}

/// A provider with a list of which some pages fail.
#[derive(Clone)]
struct ListProvider {
    entries: usize,
    failure: PageFailure,
    /// The pages that fail, by the index of their first entry.
    fails: fn(usize) -> bool,
    /// How many failures are left.
    failures: Arc<AtomicUsize>,
}

impl ListProvider {
    fn new(entries: usize, failure: PageFailure, fails: fn(usize) -> bool) -> Self {
        Self {
            entries,
            failure,
            fails,
            failures: Arc::new(AtomicUsize::new(usize::MAX)),
        }
    }

    /// The response to a request: a create makes the entry that its `name` is the index of.
    fn answer(&self, request: &str) -> Vec<u8> {
        if request.starts_with("POST") {
            let body = request.split("\r\n\r\n").nth(1).unwrap_or_default();
            let index: Value = serde_json::from_str(body).unwrap();
            let index: usize = index["name"].as_str().unwrap().parse().unwrap();
            return json_response(200, entry(index));
        }
        let target = request.split(' ').nth(1).unwrap();
        let after = target.split("after=cntr_").nth(1);
        let start = after.map_or(0, |id| {
            let digits: String = id.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<usize>().unwrap() + 1
        });
        let is_left = |left: usize| left.checked_sub(1);
        let may_fail = (self.fails)(start);
        if may_fail
            && self
                .failures
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_left)
                .is_ok()
        {
            return self.failure.answer();
        }
        let end = (start + PAGE).min(self.entries);
        let data: Vec<Value> = (start..end).map(entry).collect();
        let ids = |entry: Option<&Value>| entry.map_or(Value::Null, |entry| entry["id"].clone());
        let page = json!({"object": "list", "data": data, "first_id": ids(data.first()),
            "last_id": ids(data.last()), "has_more": end < self.entries});
        json_response(200, page)
    }

    /// A gateway in front of it, whose caller has made these entries.
    async fn gateway(&self, own: &[usize]) -> (Gateway, ScriptedProvider) {
        let list = self.clone();
        let answer = move |request: &str| list.answer(request);
        let provider =
            ScriptedProvider::start(vec![ScriptedResponse::Call(Arc::new(answer))]).await;
        let mut config = config::standard(&provider.url());
        config::without_cool_downs(&mut config);
        let gateway = Gateway::start(&config).await;
        for index in own {
            let create = Request::post(LIST, json!({"name": index.to_string()}).to_string());
            let made = gateway.ask(&create).await;
            assert_eq!(made.json()["id"], entry(*index)["id"], "{}", made.text());
        }
        (gateway, provider)
    }
}

impl PageFailure {
    fn answer(self) -> Vec<u8> {
        match self {
            Self::Status(status) => json_response(
                status,
                r#"{"error":{"message":"overloaded","type":"server_error"}}"#,
            ),
            Self::Foreign => typed_response(200, "text/html", "<html>proxy</html>"),
            Self::Unreadable => json_response(200, r#"{"data":[{"id":"#),
            Self::NoData => json_response(200, "{}"),
        }
    }
}

fn entry(index: usize) -> Value {
    json!({"id": format!("cntr_{index:02}"), "object": "container"})
}

async fn list(gateway: &Gateway, query: &str) -> WholeResponse {
    gateway.ask(&Request::get(&format!("{LIST}{query}"))).await
}

/// All entries as an SDK pages through them: a page without entries ends the list, whatever its `has_more`.
async fn page_through(gateway: &Gateway) -> Result<Vec<Value>, WholeResponse> {
    let mut all = Vec::new();
    let mut query = format!("?limit={PAGE}");
    loop {
        let page = list(gateway, &query).await;
        if page.status != 200 {
            return Err(page);
        }
        let page = page.json();
        let data = page["data"].as_array().unwrap();
        all.extend(data.iter().map(|entry| entry["id"].clone()));
        let (Some(last), true) = (data.last(), page["has_more"] == true) else {
            return Ok(all);
        };
        assert_eq!(page["last_id"], last["id"], "{page}");
        query = format!("?limit={PAGE}&after={}", last["id"].as_str().unwrap());
    }
}

#[tokio::test]
async fn paging_brings_all_entries_or_an_error_wherever_a_page_fails() {
    const WHERE: [fn(usize) -> bool; 4] = [|_| false, |at| at == 2, |at| at >= 4, |at| at % 2 == 1];
    for (index, fails) in WHERE.into_iter().enumerate() {
        for own in [
            &[][..],
            &[0],
            &[0, 1],
            &[5],
            &[0, 5],
            &[1, 2, 5],
            &[0, 1, 2, 3, 4, 5],
        ] {
            let failing = ListProvider::new(6, PageFailure::Status(500), fails);
            let (gateway, _provider) = failing.gateway(own).await;
            let case = format!("{index} {own:?}");
            match page_through(&gateway).await {
                Ok(all) => {
                    let own: Vec<Value> = own.iter().map(|at| entry(*at)["id"].clone()).collect();
                    assert_eq!(all, own, "{case}");
                }
                Err(refused) => {
                    assert!(
                        refused.status >= 500 && index > 0,
                        "{case}: {}",
                        refused.text()
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn entries_that_were_read_are_sent_although_the_next_page_fails() {
    let failing = ListProvider::new(6, PageFailure::Status(500), |at| at >= 2);
    let (gateway, provider) = failing.gateway(&[1]).await;
    let page = list(&gateway, "?limit=2").await;
    assert_eq!(page.status, 200, "{}", page.text());
    let id = &entry(1)["id"];
    assert_eq!(
        page.json(),
        json!({"object": "list", "data": [entry(1)], "first_id": id, "last_id": id, "has_more": true})
    );
    // The create, and one page.
    assert_eq!(provider.requests().len(), 2);
}

#[tokio::test]
async fn a_page_that_fails_once_is_requested_again() {
    for failure in [PageFailure::Status(503), PageFailure::Foreign] {
        let failing = ListProvider::new(6, failure, |at| at == 2);
        failing.failures.store(1, Ordering::SeqCst);
        let (gateway, _provider) = failing.gateway(&[5]).await;
        let all = page_through(&gateway).await;
        let all = all.unwrap_or_else(|refused| panic!("{failure:?}: {}", refused.text()));
        assert_eq!(all, [entry(5)["id"].clone()], "{failure:?}");
    }
}

#[tokio::test]
async fn a_list_that_cannot_be_continued_is_an_error_that_names_what_is_missing() {
    for failure in [
        PageFailure::Status(500),
        PageFailure::Status(404),
        PageFailure::Status(429),
        PageFailure::Foreign,
        PageFailure::Unreadable,
        PageFailure::NoData,
    ] {
        let failing = ListProvider::new(6, failure, |at| at >= 2);
        let (gateway, provider) = failing.gateway(&[5]).await;
        let refused = list(&gateway, "?limit=2").await;
        assert_eq!(refused.status, 502, "{failure:?}: {}", refused.text());
        let error = &refused.json()["error"];
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("did not give its next page"), "{message}");
        assert!(
            refused.headers.get("x-should-retry") != Some("false"),
            "{failure:?}"
        );
        // The create, the first page, and the second page twice.
        assert_eq!(provider.requests().len(), 4, "{failure:?}");
    }
}

#[tokio::test]
async fn a_list_of_others_that_is_too_long_or_goes_backwards_is_no_empty_list() {
    let endless = ListProvider::new(99, PageFailure::NoData, |_| false);
    let (gateway, provider) = endless.gateway(&[98]).await;
    let refused = list(&gateway, "?limit=2").await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let error = &refused.json()["error"];
    assert_eq!(error["param"], "limit", "{error}");
    assert_eq!(provider.requests().len(), 1 + 20);
    let refused = list(&gateway, "?limit=2&before=cntr_98").await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let message = refused.json()["error"]["message"].to_string();
    assert!(message.contains("`after`"), "{message}");
    // From an entry of its own, the caller can go on.
    let rest = list(&gateway, "?limit=2&after=cntr_98").await;
    assert_eq!(rest.json()["data"], json!([]), "{}", rest.text());
}

//! Tests of the vendors' video APIs, all with the same cases: tasks, errors, cancels, files, ids and bodies.

use super::vendor_fixtures::{VendorFixture, vendors};
use super::{ReadResponse, get, send, simulator};
use crate::Simulator;
use crate::vendors::names;
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use std::time::Duration;

/// A request to a vendor's API below `directives`; `body` is sent if it is not `null`.
pub fn vendor_request(
    vendor: &VendorFixture,
    directives: &str,
    (method, path): (&str, &str),
    body: &Value,
) -> Request<Bytes> {
    let mut request = bare_request(vendor, directives, (method, path), body);
    let (name, value) = vendor.credential;
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

/// The same without a credential.
fn bare_request(
    vendor: &VendorFixture,
    directives: &str,
    (method, path): (&str, &str),
    body: &Value,
) -> Request<Bytes> {
    let mark = if directives.is_empty() { "" } else { "/~" };
    let uri = format!("{mark}{directives}/vendor/{}{path}", vendor.name);
    let mut request = Request::builder()
        .method(method)
        .uri(uri)
        .header("host", "sim.example:9092");
    for (name, value) in vendor.headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    request.body(Bytes::from(body)).unwrap()
}

impl VendorFixture {
    pub async fn ask(
        &self,
        simulator: &Simulator,
        method: &str,
        path: &str,
        id: &str,
    ) -> ReadResponse {
        let path = path.replace("{id}", id);
        let body = match method {
            "POST" => json!({"id": id}),
            _ => Value::Null,
        };
        let request = vendor_request(self, "", (method, &path), &body);
        send(simulator, request).await
    }

    pub async fn query(&self, simulator: &Simulator, id: &str) -> Value {
        let answer = self.ask(simulator, "GET", self.query, id).await;
        if answer.body.is_empty() {
            Value::Null
        } else {
            answer.json()
        }
    }

    pub async fn create(&self, simulator: &Simulator, directives: &str) -> ReadResponse {
        let request = vendor_request(self, directives, ("POST", self.create), &self.body);
        send(simulator, request).await
    }

    /// The id of a new task.
    pub async fn made(&self, simulator: &Simulator, directives: &str) -> String {
        let answer = self.create(simulator, directives).await.json();
        let id = answer
            .pointer(self.id_at)
            .unwrap_or_else(|| panic!("{}: {answer}", self.name));
        id.as_str().map_or_else(|| id.to_string(), str::to_owned)
    }

    pub fn status<'j>(&self, json: &'j Value) -> &'j Value {
        json.pointer(self.status_at).unwrap_or(&Value::Null)
    }

    /// The URL of the video of a finished task.
    pub async fn video_url(&self, simulator: &Simulator, id: &str) -> String {
        let mut json = self.query(simulator, id).await;
        if let Some((path, value_at)) = self.result {
            let value = json.pointer(value_at).and_then(Value::as_str).unwrap_or(id);
            let path = path.replace("{}", value);
            json = self.ask(simulator, "GET", &path, id).await.json();
        }
        let url = json.pointer(self.video_at).and_then(Value::as_str);
        url.unwrap_or_else(|| panic!("{}: {json}", self.name))
            .to_owned()
    }
}

/// The body with another value at the pointer, or without it for `null`.
fn edited(body: &Value, pointer: &str, value: &Value) -> Value {
    let mut body = body.clone();
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Value::Null => drop(parent.remove(member)),
        value => drop(parent.insert(member.to_owned(), value.clone())),
    }
    body
}

#[test]
fn every_vendor_has_a_fixture() {
    let described: Vec<_> = names().collect();
    let tested: Vec<_> = vendors().iter().map(|vendor| vendor.name).collect();
    assert_eq!(described, tested);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_polled_in_each_state_and_ends_with_a_video_or_an_error() {
    for vendor in vendors() {
        for (directives, last) in [("", 2), ("ends=failed", 3)] {
            let simulator = simulator();
            let directives = format!("queue=1s;run=1s;{directives}");
            let id = vendor.made(&simulator, &directives).await;
            let form = regex::Regex::new(vendor.id_form).unwrap();
            assert!(form.is_match(&id), "{}: {id}", vendor.name);
            for index in [0, 1, last] {
                let json = vendor.query(&simulator, &id).await;
                assert_eq!(
                    vendor.status(&json),
                    &vendor.statuses[index],
                    "{}: {json}",
                    vendor.name
                );
                tokio::time::advance(Duration::from_secs(1)).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_task_has_the_code_and_the_message_at_the_vendor_s_places() {
    for vendor in vendors() {
        let simulator = simulator();
        let directives = "run=0;queue=0;ends=failed;code=77;message=no";
        let id = vendor.made(&simulator, directives).await;
        let json = vendor.query(&simulator, &id).await;
        let (code_at, message_at) = vendor.failure_at;
        for (at, value) in [(code_at, "77"), (message_at, "no")] {
            let found = at.map(|at| json.pointer(at).unwrap_or(&Value::Null));
            let text = found.map(|found| {
                found
                    .as_str()
                    .map_or_else(|| found.to_string(), str::to_owned)
            });
            assert!(
                text.is_none_or(|text| text == value),
                "{}: {json}",
                vendor.name
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_content_policy_stops_has_no_video() {
    for vendor in vendors() {
        let simulator = simulator();
        let id = vendor.made(&simulator, "run=0;queue=0;ends=filtered").await;
        let json = vendor.query(&simulator, &id).await;
        let (place, value) = &vendor.filtered;
        assert_eq!(json.pointer(place), Some(value), "{}: {json}", vendor.name);
        let url = json.pointer(vendor.video_at).and_then(Value::as_str);
        assert!(url.is_none_or(str::is_empty), "{}: {json}", vendor.name);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_status_is_reported_while_the_task_runs() {
    for vendor in vendors()
        .into_iter()
        .filter(|vendor| vendor.has_unknown_status)
    {
        let simulator = simulator();
        let id = vendor
            .made(&simulator, "queue=0;run=9s;unknown_status=42")
            .await;
        let json = vendor.query(&simulator, &id).await;
        let status = vendor.status(&json);
        assert!(status == "42" || status == 42, "{}: {json}", vendor.name);
    }
}

#[tokio::test(start_paused = true)]
async fn errors_have_the_vendor_s_form_and_make_no_task() {
    for vendor in vendors() {
        let simulator = simulator();
        let (status, place, value) = &vendor.too_many;
        for (directives, status) in [("status=429", *status), ("status=429;error_body", 200)] {
            let answer = vendor.create(&simulator, directives).await;
            assert_eq!(answer.status, status, "{}", vendor.name);
            assert_eq!(answer.json().pointer(place), Some(value), "{}", vendor.name);
            assert_eq!(answer.json().pointer(vendor.id_at), None, "{}", vendor.name);
        }
        let bare = bare_request(&vendor, "", ("POST", vendor.create), &vendor.body);
        let answer = send(&simulator, bare).await;
        assert_eq!(answer.status, vendor.unauthorized, "{}", vendor.name);
        assert_eq!(answer.json().pointer(vendor.id_at), None, "{}", vendor.name);
        for (name, _) in vendor.headers {
            let mut request = vendor_request(&vendor, "", ("POST", vendor.create), &vendor.body);
            request.headers_mut().remove(*name);
            let answer = send(&simulator, request).await.json();
            assert_eq!(
                answer.pointer(vendor.id_at),
                None,
                "{}: {name}",
                vendor.name
            );
        }
        let tasks = get(&simulator, "/_simulate/tasks").await.json();
        assert_eq!(tasks, json!([]), "{}", vendor.name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_mapped_wrongly_is_refused() {
    for vendor in vendors() {
        let simulator = simulator();
        for (pointer, value) in &vendor.refused {
            let body = edited(&vendor.body, pointer, value);
            let request = vendor_request(&vendor, "", ("POST", vendor.create), &body);
            let answer = send(&simulator, request).await;
            let shown = format!("{} {pointer} {value}: {}", vendor.name, answer.json());
            assert_eq!(answer.status, vendor.refused_status, "{shown}");
            assert_eq!(answer.json().pointer(vendor.id_at), None, "{shown}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn all_kinds_of_bodies_that_the_vendor_takes_make_tasks() {
    for vendor in vendors() {
        for (path, body) in &vendor.accepted {
            let request = vendor_request(&vendor, "", ("POST", path), body);
            let answer = send(&simulator(), request).await.json();
            let is_made = answer.pointer(vendor.id_at).is_some();
            assert!(is_made, "{} {path} {body}: {answer}", vendor.name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_does_in_each_state_what_the_vendor_does() {
    for vendor in vendors() {
        let Some(cancel) = &vendor.cancel else {
            continue;
        };
        let states = ["queue=9s", "queue=0;run=9s", "queue=0;run=0"];
        for (directives, status) in states.into_iter().zip(cancel.statuses) {
            let simulator = simulator();
            let id = vendor.made(&simulator, directives).await;
            let before = vendor.query(&simulator, &id).await;
            let answer = vendor
                .ask(&simulator, cancel.method, cancel.path, &id)
                .await;
            assert_eq!(answer.status, status, "{} {directives}", vendor.name);
            let after = vendor.query(&simulator, &id).await;
            let has_ended = directives == "queue=0;run=0";
            let is_stopped = status < 300 && (!has_ended || cancel.removes_ended);
            assert_eq!(
                before != after,
                is_stopped,
                "{} {directives}: {after}",
                vendor.name
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_belongs_to_its_account_with_any_of_its_keys() {
    for vendor in vendors() {
        let simulator = simulator();
        let id = vendor.made(&simulator, "").await;
        let own = vendor.query(&simulator, &id).await;
        let path = vendor.query.replace("{id}", &id);
        for (suffix, is_own) in [("~2", true), ("-other", false)] {
            let mut request = vendor_request(&vendor, "", ("GET", &path), &Value::Null);
            let (name, value) = vendor.credential;
            let value = format!("{value}{suffix}").parse().unwrap();
            request.headers_mut().insert(name, value);
            let answer = send(&simulator, request).await;
            let json = if answer.body.is_empty() {
                Value::Null
            } else {
                answer.json()
            };
            assert_eq!(json == own, is_own, "{} {suffix}: {json}", vendor.name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_may_answer_without_an_id_and_a_success_be_without_a_video() {
    for vendor in vendors() {
        let simulator = simulator();
        let answer = vendor.create(&simulator, "no_id").await;
        assert_eq!(answer.json().pointer(vendor.id_at), None, "{}", vendor.name);
        let id = vendor.made(&simulator, "no_url;queue=0;run=0").await;
        let json = vendor.query(&simulator, &id).await;
        assert_eq!(
            vendor.status(&json),
            &vendor.statuses[2],
            "{}: {json}",
            vendor.name
        );
        let url = json.pointer(vendor.video_at).and_then(Value::as_str);
        assert_eq!(url, None, "{}: {json}", vendor.name);
    }
}

#[tokio::test(start_paused = true)]
async fn the_request_log_shows_the_vendor_s_operation_and_the_credential_that_came() {
    for vendor in vendors() {
        let simulator = simulator();
        vendor.made(&simulator, "").await;
        let records = get(&simulator, "/_simulate/requests").await.json();
        let (name, value) = vendor.credential;
        assert_eq!(records[0]["endpoint"], format!("{}.create", vendor.name));
        assert_eq!(records[0]["headers"][name], value);
    }
}

//! What comes of a test case: the family's request, the new task, or the status of a task.

#[cfg(test)]
mod tests;

use super::case_file::{VideoFamilyCase, VideoFamilyCaseInput};
use super::example::create_path;
use super::native_case::{self, NativeOutcome};
use super::provider_answer::ProviderAnswer;
use super::task_host::TaskHostPrefix;
use super::uploads::{self, UploadFailure};
use super::{mapped, mapped_with_uploads};
use crate::cli::case_report::CaseMismatches;
use headgate_core::catalog::price::Cost;
use headgate_core::task::family::{
    CreatedTask, MappedRequest, SentCreate, StatusWithResult, TaskCharge, VideoFamily,
};
use headgate_core::task::id::TaskId;
use headgate_core::task::status::TaskStatus;
use headgate_protocol::json::JsonDocument;
use http::StatusCode;
use serde_json::{Map, Value, json};

/// Outcomes that a case must name if they come, since it means another one otherwise.
const NEVER_TACIT: [&str; 3] = ["refused", "error", "upstream_status"];
/// Where a response has URLs about which the definition has nothing.
const UNDECLARED_URLS: &str = "undeclared_urls";
/// Texts of which a case names a part.
const IN_PARTS: [&str; 2] = ["message", "error_message"];

/// What came of a case, by the names that `expect` has.
#[derive(Debug, Default)]
pub struct VideoFamilyCaseOutcome(pub Map<String, Value>);

impl VideoFamilyCaseOutcome {
    pub fn new(family: &VideoFamily, case: &VideoFamilyCase) -> Self {
        let mut outcome = Self::default();
        match &case.input {
            VideoFamilyCaseInput::Create { create, uploads } => {
                outcome.create(family, case, create, uploads);
            }
            VideoFamilyCaseInput::NativeCreate(create) => {
                match native_case::create(family, &case.model, create) {
                    Ok(request) => outcome.0 = request,
                    Err(refused) => outcome.put("refused", refused),
                }
            }
            VideoFamilyCaseInput::Created(answer) => outcome.created(family, case, answer),
            VideoFamilyCaseInput::Polled {
                task,
                status,
                result,
            } => {
                let document = status.document();
                let named = document.and_then(|document| created(family, case, &document).ok());
                let id = task.clone().or(named.map(|created| created.upstream));
                let id = id.unwrap_or_else(|| "task".into());
                outcome.polled(family, &new_task(family, id), status, result.as_ref());
            }
        }
        outcome
    }

    /// What is not as the case expects it.
    pub fn mismatches(&self, case: &VideoFamilyCase) -> CaseMismatches {
        let mut mismatches = CaseMismatches::default();
        for name in NEVER_TACIT {
            if let (Some(received), None) = (self.0.get(name), case.expect.get(name)) {
                mismatches.add(name, "nothing", received);
            }
        }
        if let Some(places) = self.0.get(UNDECLARED_URLS) {
            let expected = "every URL of the response is replaced, removed or a file in `native`";
            mismatches.add("native", expected, places);
        }
        // After another outcome than the expected one, every value would be another one.
        let is_other = !mismatches.0.is_empty();
        for (name, expected) in &case.expect {
            match (self.0.get(name), expected) {
                (None, _) if is_other => {}
                (Some(Value::String(text)), Value::String(part))
                    if IN_PARTS.contains(&name.as_str()) =>
                {
                    if !text.contains(&**part) {
                        mismatches.add(name, format!("a text with {expected}"), json!(text));
                    }
                }
                (received, expected) => compare(name, expected, received, &mut mismatches),
            }
        }
        let is_unused =
            matches!(&case.input, VideoFamilyCaseInput::Polled { result, .. } if result.is_some());
        if is_unused && !self.0.contains_key("result") {
            mismatches.add("result", "a request for the result", "none is sent");
        }
        mismatches
    }

    /// What callers of the vendor's own API get.
    fn native(&mut self, name: &str, native: Option<NativeOutcome>) {
        if let Some(native) = native {
            self.put(name, native.body);
            if !native.undeclared_urls.is_empty() {
                self.put(UNDECLARED_URLS, native.undeclared_urls);
            }
        }
    }

    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    fn create(
        &mut self,
        family: &VideoFamily,
        case: &VideoFamilyCase,
        create: &Map<String, Value>,
        answers: &[ProviderAnswer],
    ) {
        match mapped(family, &case.model, create) {
            Ok(_) if !answers.is_empty() => {
                self.create_after_uploads(family, case, create, answers)
            }
            Ok(request) => self.mapped_create(family, &request),
            Err(refusal) => {
                self.put("refused", refusal.param);
                self.put("message", refusal.message);
            }
        }
    }

    fn create_after_uploads(
        &mut self,
        family: &VideoFamily,
        case: &VideoFamilyCase,
        create: &Map<String, Value>,
        answers: &[ProviderAnswer],
    ) {
        let uploaded = match uploads::uploaded(family, &case.model, create, answers) {
            Ok(uploaded) => uploaded,
            Err(UploadFailure { status, document }) => {
                let reason = "the response to the upload has no id";
                return self.error(family, status, document.as_ref(), reason);
            }
        };
        self.put("uploads", uploaded.requests);
        match mapped_with_uploads(family, &case.model, create, &uploaded.media) {
            Ok(request) => self.mapped_create(family, &request),
            Err(refusal) => {
                self.put("refused", refusal.param);
                self.put("message", refusal.message);
            }
        }
    }

    fn mapped_create(&mut self, family: &VideoFamily, request: &MappedRequest) {
        self.put("method", family.create.call.method.as_str());
        self.put("path", &*request.path);
        let headers = family.create.call.header_texts();
        let headers = headers.map(|(name, value)| (name.to_string(), value.into()));
        self.put("headers", headers.collect::<Map<String, Value>>());
        let body = serde_json::from_slice::<Value>(&request.body);
        self.put("body", body.expect("a mapped request is JSON"));
        let ignored = request.ignored.iter();
        let ignored: Vec<&str> = ignored.map(|field| &*field.param).collect();
        if !ignored.is_empty() {
            self.put("ignored", ignored);
        }
    }

    fn created(&mut self, family: &VideoFamily, case: &VideoFamilyCase, answer: &ProviderAnswer) {
        let document = answer.document();
        if !answer.status.is_success() {
            return self.error(family, answer.status, document.as_ref(), "");
        }
        let Some(document) = document else {
            return self.error(family, StatusCode::BAD_GATEWAY, None, "the body is no JSON");
        };
        match created(family, case, &document) {
            Ok(created) => {
                let task = TaskId {
                    query_url: created.query_url,
                    ..new_task(family, created.upstream)
                };
                let place = TaskHostPrefix::new(family, &task, &case.base_url);
                let method = &family.query.call.method;
                let path = family.query_path(&task);
                self.put("query", format!("{method} {}{path}", place.origin));
                if let Some(cancel) = &family.cancel {
                    let path = cancel.call.path(&task.upstream);
                    let method = &cancel.call.method;
                    self.put("cancel", format!("{method} {}{path}", place.below));
                }
                self.native(
                    "native",
                    native_case::response(family, &task, &document, None),
                );
                self.put("task", task.upstream);
            }
            Err(reason) => {
                let status = family.status_under_success(&document);
                let status = status.unwrap_or(StatusCode::BAD_GATEWAY);
                self.error(family, status, Some(&document), &reason);
            }
        }
    }

    fn polled(
        &mut self,
        family: &VideoFamily,
        task: &TaskId,
        answer: &ProviderAnswer,
        result: Option<&ProviderAnswer>,
    ) {
        let document = answer.document();
        if answer.status == StatusCode::NOT_FOUND {
            return self.status(&family.missing(task, 0));
        }
        if !answer.status.is_success() {
            return self.error(family, answer.status, document.as_ref(), "");
        }
        let Some(document) = document else {
            return self.error(family, StatusCode::BAD_GATEWAY, None, "the body is no JSON");
        };
        let Some((call, path)) = family.result_request(&document, &task.upstream) else {
            return self.read_status(family, task, &document);
        };
        self.put("result", format!("{} {path}", call.method));
        let Some(result) = result else {
            return;
        };
        match family.with_result(&document, result.status, result.body.clone()) {
            StatusWithResult::Merged(merged) => self.read_status(family, task, &merged),
            StatusWithResult::Refused(status) => {
                self.error(family, status, result.document().as_ref(), "");
            }
            StatusWithResult::Unreadable => {
                let reason = "the body of the result is no JSON";
                self.error(family, StatusCode::BAD_GATEWAY, None, reason);
            }
        }
    }

    fn read_status(&mut self, family: &VideoFamily, task: &TaskId, document: &JsonDocument) {
        // The task is new: no time has passed after which it would have expired.
        match family.status(document, task, 0) {
            Ok(status) => {
                let native = native_case::response(family, task, document, Some(&status));
                self.native("native", native);
                self.native("native_result", native_case::result(family, task, document));
                self.status(&status);
                self.charge(family.charge(document, status.state));
            }
            Err(unreadable) => {
                let status = family.status_under_success(document);
                let status = status.unwrap_or(StatusCode::BAD_GATEWAY);
                self.error(family, status, Some(document), &unreadable.to_string());
            }
        }
    }

    fn status(&mut self, status: &TaskStatus) {
        self.put("status", status.state.name());
        let error = status.error.as_ref();
        for (name, text) in [
            ("video_url", status.video_url.as_deref()),
            ("resolution", status.resolution.as_deref()),
            ("ratio", status.ratio.as_deref()),
            ("error_code", error.map(|error| &*error.code)),
            ("error_message", error.map(|error| &*error.message)),
            ("upstream_status", status.upstream_word.as_deref()),
        ] {
            if let Some(text) = text {
                self.put(name, text);
            }
        }
        let numbers = [
            ("duration", status.video_duration),
            ("progress", status.progress.map(u64::from)),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                self.put(name, number);
            }
        }
    }

    /// What a task that has ended cost in the provider's unit, if it reports that.
    fn charge(&mut self, charge: TaskCharge) {
        if let (true, Some(credits)) = (charge.state.is_terminal(), charge.credits) {
            let number: Result<Value, _> = serde_json::from_str(&Cost(credits).to_string());
            self.put("credits", number.expect("a decimal number"));
        }
    }

    /// The provider's error, or the reason why its response cannot be used.
    fn error(
        &mut self,
        family: &VideoFamily,
        status: StatusCode,
        document: Option<&JsonDocument>,
        reason: &str,
    ) {
        self.put("error", status.as_u16());
        let error = document.and_then(|document| family.error(document));
        let code = error.as_ref().and_then(|error| error.code.clone());
        let message = error.map_or(reason.to_owned(), |error| error.message);
        if let Some(code) = code {
            self.put("code", code);
        }
        if !message.is_empty() {
            self.put("message", message);
        }
    }
}

/// The id of the new task, or why there is none.
fn created(
    family: &VideoFamily,
    case: &VideoFamilyCase,
    document: &JsonDocument,
) -> Result<CreatedTask, String> {
    let path = create_path(family, &case.model);
    let create = SentCreate {
        path: path.as_deref().unwrap_or("/"),
        channel_model: &case.model,
    };
    let created = family.created(document, create, &case.base_url);
    created.map_err(|reason| reason.to_string())
}

/// A task that was created at this moment, which is the first one of all.
fn new_task(family: &VideoFamily, upstream: String) -> TaskId {
    TaskId {
        caller: "caller".into(),
        channel: "channel".into(),
        credential: 0,
        model: "model".into(),
        created: 0,
        ratio: None,
        upstream,
        family: family.name.to_string(),
        requested: Default::default(),
        query_url: None,
    }
}

/// Compares values member by member, so that a long one shows what differs.
fn compare(
    place: &str,
    expected: &Value,
    received: Option<&Value>,
    mismatches: &mut CaseMismatches,
) {
    match (expected, received) {
        (expected, Some(received)) if expected == received => {}
        (Value::Object(expected), Some(Value::Object(received))) => {
            for (name, value) in expected {
                compare(
                    &format!("{place}.{name}"),
                    value,
                    received.get(name),
                    mismatches,
                );
            }
            for (name, value) in received
                .iter()
                .filter(|(name, _)| !expected.contains_key(*name))
            {
                mismatches.add(format!("{place}.{name}"), "nothing", value);
            }
        }
        (Value::Array(expected), Some(Value::Array(received))) => {
            for (index, value) in expected.iter().enumerate() {
                compare(
                    &format!("{place}[{index}]"),
                    value,
                    received.get(index),
                    mismatches,
                );
            }
            for (index, value) in received.iter().enumerate().skip(expected.len()) {
                mismatches.add(format!("{place}[{index}]"), "nothing", value);
            }
        }
        (expected, Some(received)) => mismatches.add(place, expected, received),
        (expected, None) => mismatches.add(place, expected, "nothing"),
    }
}

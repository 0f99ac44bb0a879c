//! One request's way through the simulated provider: wait, fail or answer as directed, and note how it ended.

use super::call::Call;
use super::dialect::Dialect;
use super::directive::{Directives, InterruptedBy};
use super::endpoint::Endpoint;
use super::headers::{add_provider_headers, add_refusal_headers, credential, form_boundary};
use super::ledger::Visit;
use super::outcome::{Outcome, Script};
use super::record::Ending;
use super::refusal::Refusal;
use super::stream::{Course, EventStream};
use super::{Simulator, chat, images, media, messages, models, orders, responses, shelf, video};
use crate::answer::{Answer, Body, Chunk};
use bytes::Bytes;
use headgate_protocol::multipart;
use http::request::Parts;
use http::{Request, StatusCode};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// What `html` answers with.
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Just a moment</title></head>\n\
    <body><h1>Bad gateway</h1><p>The web server reported an error.</p></body></html>\n";

/// Answers one request to a provider endpoint.
pub async fn answer(simulator: &Simulator, request: Request<Bytes>) -> Answer {
    let (head, body) = request.into_parts();
    let head = Arc::new(head);
    let visit = simulator.ledger.enter(&head, &body);
    let (_, path) = orders::split_path(head.uri.path());
    let dialect = Dialect::of(path, &head.headers);
    let received = Received {
        simulator,
        head: &head,
        path,
        dialect,
        request_id: match dialect {
            Dialect::FamilyB => simulator.ids.uuid(),
            _ => simulator.ids.next("req_sim_"),
        },
        started: Instant::now(),
    };
    match simulator.orders.for_request(&head) {
        Ok(directives) => received.obey(&directives, body, visit).await,
        Err(error) => {
            let refusal = Refusal::invalid(error.to_string()).code("unknown_directive");
            received.send_refusal(&refusal, &Directives::default(), visit)
        }
    }
}

/// A request received, as far as every answer to it depends on it.
struct Received<'r> {
    simulator: &'r Simulator,
    head: &'r Parts,
    /// Without the directives.
    path: &'r str,
    dialect: Dialect,
    request_id: String,
    started: Instant,
}

impl Received<'_> {
    async fn obey(&self, directives: &Directives, raw: Bytes, visit: Visit) -> Answer {
        let body = serde_json::from_slice::<Value>(&raw);
        if let Some(model) = self.model_named(body.as_ref().ok(), &raw) {
            visit.names_model(&model);
        }
        // What was asked for is done first: who is kept waiting, or cut off, may have been served.
        let outcome = self
            .failure(directives)
            .map_or_else(|| self.outcome(directives, body, &raw), Err);
        self.wait(directives).await;
        if directives.html {
            let status = directives.status.unwrap_or(StatusCode::OK);
            return self.send_whole(Answer::full(status, "text/html", PAGE), directives, visit);
        }
        match outcome {
            Ok(Outcome::Whole(json)) => self.send_json(json.into(), directives, visit),
            Ok(Outcome::Ready(json)) => self.send_json(json, directives, visit),
            Ok(Outcome::Late(json, by)) => {
                tokio::time::sleep(by).await;
                self.send_json(json.into(), directives, visit)
            }
            Ok(Outcome::Content(content_type, content)) => {
                let answer = Answer::full(StatusCode::OK, content_type, content);
                self.send_whole(answer, directives, visit)
            }
            Ok(Outcome::Stream(script)) => self.send_stream(script, directives, visit),
            Err(refusal) => self.send_refusal(&refusal, directives, visit),
        }
    }

    fn model_named<'b>(&self, body: Option<&'b Value>, raw: &'b [u8]) -> Option<Cow<'b, str>> {
        if let Some(body) = body {
            return body.get("model")?.as_str().map(Cow::Borrowed);
        }
        let boundary = form_boundary(&self.head.headers)?;
        let model = multipart::values(raw, boundary, "model").next()?;
        Some(String::from_utf8_lossy(model))
    }

    async fn wait(&self, directives: &Directives) {
        if directives.stall {
            std::future::pending::<()>().await;
        }
        let ordinary = Duration::from_millis(self.simulator.options.first_byte_ms);
        let delay = directives.delay.unwrap_or(ordinary);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }

    /// The error of a request without a credential, or the one the directives ask for.
    fn failure(&self, directives: &Directives) -> Option<Refusal> {
        let endpoint = Endpoint::find(&self.head.method, self.path);
        let wants_credential = !matches!(endpoint, Ok(Endpoint::Media(_)));
        if wants_credential && credential(&self.head.headers).is_none() {
            let message = "You didn't provide an API key.";
            return Some(Refusal::new(StatusCode::UNAUTHORIZED, message));
        }
        let in_stream = directives.error_event_first
            || directives
                .interruption
                .is_some_and(|interruption| interruption.by == InterruptedBy::ErrorEvent);
        if directives.error_body {
            return Some(self.wished(directives, StatusCode::OK));
        }
        let echoes = directives.echo_credential && !in_stream;
        (directives.status.is_some() || echoes)
            .then(|| self.wished(directives, StatusCode::UNAUTHORIZED))
    }

    fn wished(&self, directives: &Directives, status: StatusCode) -> Refusal {
        let credential = credential(&self.head.headers).unwrap_or_default();
        Refusal::wished(directives, status, credential)
    }

    fn outcome(
        &self,
        directives: &Directives,
        body: serde_json::Result<Value>,
        raw: &Bytes,
    ) -> Result<Outcome, Refusal> {
        let endpoint = Endpoint::find(&self.head.method, self.path)?;
        let Simulator {
            options,
            ids,
            responses: store,
            shelves,
            tasks,
            ..
        } = self.simulator;
        let models = &options.models;
        let body = || {
            body.map_err(|error| {
                Refusal::invalid(format!(
                    "We could not parse the JSON body of your request: {error}."
                ))
            })
        };
        let call = Call {
            directives,
            sizes: directives
                .sizes()
                .map_err(|error| Refusal::invalid(error.to_string()))?,
            options,
            ids,
            head: self.head,
            request_id: &self.request_id,
            account: credential(&self.head.headers).unwrap_or_default(),
            shelves,
            tasks,
        };
        let account = call.account;
        match endpoint {
            Endpoint::Chat => chat::complete(&body()?, &call),
            Endpoint::Messages => self
                .versioned()
                .and_then(|()| messages::create(&body()?, &call)),
            Endpoint::CountTokens => self
                .versioned()
                .and_then(|()| messages::count_tokens(&body()?)),
            Endpoint::CreateResponse => responses::create(&body()?, raw, &call, store),
            Endpoint::GetResponse(id) => store.get(account, id).map(Outcome::Ready),
            Endpoint::CancelResponse(id) => store.cancel(account, id).map(Outcome::Ready),
            Endpoint::DeleteResponse(id) => store.delete(account, id).map(Outcome::Whole),
            Endpoint::InputItems(id) => store.input_items(account, id).map(Outcome::Whole),
            Endpoint::Shelf(shelf, deed) => {
                let form = shelf::Form::of(self.head, raw);
                shelves.answer(shelf, deed, form, self.dialect, account, ids)
            }
            Endpoint::Video(family, deed) => video::answer(family, deed, body, &call),
            Endpoint::EditImage => images::edit(&images::Asked::read(self.head, raw)?, &call),
            Endpoint::Media(name) => {
                let query = self.head.uri.query().unwrap_or_default();
                let (content_type, content) = media::file(name, query);
                Ok(Outcome::Content(content_type, content))
            }
            Endpoint::Models => Ok(Outcome::Whole(models::list(models, self.dialect))),
            Endpoint::Model(id) => models::one(models, id, self.dialect).map(Outcome::Whole),
        }
    }

    fn versioned(&self) -> Result<(), Refusal> {
        if self.head.headers.contains_key("anthropic-version") {
            return Ok(());
        }
        Err(Refusal::invalid("anthropic-version: header is required"))
    }

    fn send_json(&self, json: Bytes, directives: &Directives, visit: Visit) -> Answer {
        let answer = Answer::full(StatusCode::OK, "application/json", json);
        self.send_whole(answer, directives, visit)
    }

    fn send_refusal(&self, refusal: &Refusal, directives: &Directives, visit: Visit) -> Answer {
        let body = refusal.body(self.dialect, &self.request_id);
        let mut answer = Answer::full(refusal.status, "application/json", body);
        add_refusal_headers(&mut answer.headers, refusal);
        if directives.echo_credential
            && let Some(credential) = credential(&self.head.headers)
            && let Ok(value) = credential.parse()
        {
            answer.headers.insert("x-simulated-credential", value);
        }
        self.send_whole(answer, directives, visit)
    }

    /// Sends an answer that does not stream; where it is to be cut or to stall, half of it.
    fn send_whole(&self, mut answer: Answer, directives: &Directives, visit: Visit) -> Answer {
        visit.first_byte();
        self.add_headers(&mut answer);
        let Body::Full(body) = &mut answer.body else {
            return answer;
        };
        if directives.malformed {
            body.truncate(body.len() / 2);
        }
        let half = body.slice(..body.len() / 2);
        let interruption = directives.interruption.map(|interruption| interruption.by);
        match interruption {
            _ if directives.cut => answer.body = cut_off(half, visit),
            Some(InterruptedBy::Cut) => answer.body = cut_off(half, visit),
            Some(InterruptedBy::Stall) => answer.body = stalled(half, visit),
            Some(InterruptedBy::ErrorEvent) | None => visit.end(Ending::Complete),
        }
        answer
    }

    fn send_stream(
        &self,
        script: Box<dyn Script>,
        directives: &Directives,
        visit: Visit,
    ) -> Answer {
        let overloaded = match self.dialect {
            Dialect::Messages => StatusCode::from_u16(529).expect("529 is a status"),
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        let error = self.wished(directives, overloaded);
        let pace = Duration::from_millis(self.simulator.options.event_ms);
        let course = Course::new(self.dialect, &self.request_id, pace, directives, error);
        let (stream, receiver) = EventStream::new(visit, course);
        tokio::spawn(perform(script, stream, Opening::of(directives)));
        let mut answer = Answer::stream("text/event-stream; charset=utf-8", receiver);
        self.add_headers(&mut answer);
        answer
    }

    fn add_headers(&self, answer: &mut Answer) {
        let millis = self.started.elapsed().as_millis();
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        add_provider_headers(&mut answer.headers, self.dialect, &self.request_id, millis);
    }
}

/// What a stream does after its head.
#[derive(Clone, Copy)]
enum Opening {
    Play,
    Cut,
    ErrorEvent,
    Malformed,
}

impl Opening {
    fn of(directives: &Directives) -> Self {
        if directives.cut {
            Self::Cut
        } else if directives.error_event_first {
            Self::ErrorEvent
        } else if directives.malformed {
            Self::Malformed
        } else {
            Self::Play
        }
    }
}

async fn perform(script: Box<dyn Script>, mut stream: EventStream, opening: Opening) {
    const MALFORMED: &[u8] = b"data: {\"id\":\"simulated\",\"choices\":[{\n\n";
    let ending = match opening {
        Opening::Play => script.play(&mut stream).await.err(),
        Opening::Cut => Some(stream.cut().await),
        Opening::ErrorEvent => Some(stream.error_event().await),
        Opening::Malformed => stream.event(Bytes::from_static(MALFORMED)).await.err(),
    };
    stream.finish(ending.unwrap_or(Ending::Complete)).await;
}

/// `half` of a body, and then the cut.
fn cut_off(half: Bytes, visit: Visit) -> Body {
    let (sender, receiver) = mpsc::channel(2);
    for chunk in [Chunk::Data(half), Chunk::Cut] {
        let sent = sender.try_send(chunk);
        debug_assert!(sent.is_ok(), "there is room for two");
    }
    visit.end(Ending::Cut);
    Body::Stream(receiver)
}

/// `half` of a body, and nothing more until the client leaves.
fn stalled(half: Bytes, visit: Visit) -> Body {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let sent = sender.send(Chunk::Data(half)).await;
        if sent.is_ok() {
            sender.closed().await;
        }
        visit.end(Ending::ClientLeft);
    });
    Body::Stream(receiver)
}

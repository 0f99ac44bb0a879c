//! Handles a request: applies its directives, responds or fails, and records how the response ended.

use super::api_error::ApiError;
use super::dialect::ApiDialect;
use super::directive::{Directives, StreamInterruptionKind};
use super::endpoint::Endpoint;
use super::endpoint_result::{EventStreamSource, SuccessfulResponse};
use super::headers::{add_provider_headers, add_refusal_headers, credential, form_boundary};
use super::provider_state::ProviderState;
use super::request_context::RequestContext;
use super::request_log::OpenExchangeGuard;
use super::request_record::ResponseEnd;
use super::stream::{EventSender, StreamPlan};
use super::{
    chat, directive_resolver, images, media, messages, models, resource_store, responses, video,
};
use crate::http_response::{BodyChunk, SimulatedBody, SimulatedResponse};
use bytes::Bytes;
use headgate_protocol::ids::form_values;
use http::request::Parts;
use http::{Request, StatusCode};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The response to the directive `html`.
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Just a moment</title></head>\n\
    <body><h1>Bad gateway</h1><p>The web server reported an error.</p></body></html>\n";

/// Responds to one request to a provider endpoint.
pub async fn respond(provider: &ProviderState, request: Request<Bytes>) -> SimulatedResponse {
    let (head, body) = request.into_parts();
    let head = Arc::new(head);
    let open_request = provider.request_log.enter(&head, &body);
    let (_, path) = directive_resolver::split_path(head.uri.path());
    let dialect = ApiDialect::for_request(path, &head.headers);
    let received = ReceivedRequest {
        provider,
        head: &head,
        path,
        dialect,
        request_id: match dialect {
            ApiDialect::FamilyB => provider.ids.uuid(),
            _ => provider.ids.next("req_sim_"),
        },
        started: Instant::now(),
    };
    match provider.directives.for_request(&head) {
        Ok(directives) => received.respond(&directives, body, open_request).await,
        Err(error) => {
            let refusal = ApiError::invalid(error.to_string()).code("unknown_directive");
            received.send_refusal(&refusal, &Directives::default(), open_request)
        }
    }
}

/// A received request, with everything that its response depends on.
struct ReceivedRequest<'r> {
    provider: &'r ProviderState,
    head: &'r Parts,
    /// The path without directives.
    path: &'r str,
    dialect: ApiDialect,
    request_id: String,
    started: Instant,
}

impl ReceivedRequest<'_> {
    async fn respond(
        &self,
        directives: &Directives,
        raw: Bytes,
        open_request: OpenExchangeGuard,
    ) -> SimulatedResponse {
        let body = serde_json::from_slice::<Value>(&raw);
        if let Some(model) = self.model_named(body.as_ref().ok(), &raw) {
            open_request.names_model(&model);
        }
        // The request takes effect before any delay or cut: a real provider may have processed it as well.
        let outcome = self
            .failure(directives)
            .map_or_else(|| self.outcome(directives, body, &raw), Err);
        self.wait(directives).await;
        if directives.html {
            let status = directives.status.unwrap_or(StatusCode::OK);
            return self.send_whole(
                SimulatedResponse::full(status, "text/html", PAGE),
                directives,
                open_request,
            );
        }
        match outcome {
            Ok(SuccessfulResponse::Whole(json)) => {
                self.send_json(json.into(), directives, open_request)
            }
            Ok(SuccessfulResponse::Ready(json)) => self.send_json(json, directives, open_request),
            Ok(SuccessfulResponse::Late(json, by)) => {
                tokio::time::sleep(by).await;
                self.send_json(json.into(), directives, open_request)
            }
            Ok(SuccessfulResponse::Content(content_type, content)) => {
                let response = SimulatedResponse::full(StatusCode::OK, content_type, content);
                self.send_whole(response, directives, open_request)
            }
            Ok(SuccessfulResponse::Stream(stream_response)) => {
                self.send_stream(stream_response, directives, open_request)
            }
            Err(refusal) => self.send_refusal(&refusal, directives, open_request),
        }
    }

    fn model_named<'b>(&self, body: Option<&'b Value>, raw: &'b [u8]) -> Option<Cow<'b, str>> {
        if let Some(body) = body {
            return body.get("model")?.as_str().map(Cow::Borrowed);
        }
        let boundary = form_boundary(&self.head.headers)?;
        let model = form_values(raw, boundary, "model").next()?;
        Some(String::from_utf8_lossy(model))
    }

    async fn wait(&self, directives: &Directives) {
        if directives.stall {
            std::future::pending::<()>().await;
        }
        let ordinary = Duration::from_millis(self.provider.options.first_byte_ms);
        let delay = directives.delay.unwrap_or(ordinary);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }

    /// The error for a request without a credential, or the one that the directives ask for.
    fn failure(&self, directives: &Directives) -> Option<ApiError> {
        let endpoint = Endpoint::find(&self.head.method, self.path);
        let wants_credential = !matches!(endpoint, Ok(Endpoint::Media(_)));
        if wants_credential && credential(&self.head.headers).is_none() {
            let message = "You didn't provide an API key.";
            return Some(ApiError::new(StatusCode::UNAUTHORIZED, message));
        }
        let in_stream = directives.error_event_first
            || directives
                .interruption
                .is_some_and(|interruption| interruption.by == StreamInterruptionKind::ErrorEvent);
        if directives.error_body {
            return Some(self.directed_error(directives, StatusCode::OK));
        }
        let echoes = directives.echo_credential && !in_stream;
        (directives.status.is_some() || echoes)
            .then(|| self.directed_error(directives, StatusCode::UNAUTHORIZED))
    }

    fn directed_error(&self, directives: &Directives, status: StatusCode) -> ApiError {
        let credential = credential(&self.head.headers).unwrap_or_default();
        ApiError::directed_error(directives, status, credential)
    }

    fn outcome(
        &self,
        directives: &Directives,
        body: serde_json::Result<Value>,
        raw: &Bytes,
    ) -> Result<SuccessfulResponse, ApiError> {
        let endpoint = Endpoint::find(&self.head.method, self.path)?;
        let ProviderState {
            options,
            ids,
            responses: store,
            resources,
            tasks,
            media_downloads,
            ..
        } = self.provider;
        let models = &options.models;
        let body = || {
            body.map_err(|error| {
                ApiError::invalid(format!(
                    "We could not parse the JSON body of your request: {error}."
                ))
            })
        };
        let call = RequestContext {
            directives,
            sizes: directives
                .sizes()
                .map_err(|error| ApiError::invalid(error.to_string()))?,
            options,
            ids,
            head: self.head,
            request_id: &self.request_id,
            account: credential(&self.head.headers).unwrap_or_default(),
            resources,
            tasks,
            media_downloads,
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
            Endpoint::CountResponseTokens => responses::count_tokens(&body()?),
            Endpoint::CompactResponse => responses::compact(&body()?, &call),
            Endpoint::GetResponse(id) => store.get(account, id).map(SuccessfulResponse::Ready),
            Endpoint::CancelResponse(id) => {
                store.cancel(account, id).map(SuccessfulResponse::Ready)
            }
            Endpoint::DeleteResponse(id) => {
                store.delete(account, id).map(SuccessfulResponse::Whole)
            }
            Endpoint::InputItems(id) => store
                .input_items(account, id)
                .map(SuccessfulResponse::Whole),
            Endpoint::Resource(kind, operation) => {
                let form = resource_store::ResourceCreateBody::parse(self.head, raw);
                resources.respond(kind, operation, form, self.dialect, account, ids)
            }
            Endpoint::Video(family, operation) => video::respond(family, operation, body, &call),
            Endpoint::EditImage => {
                images::edit(&images::ImageEditRequest::read(self.head, raw)?, &call)
            }
            Endpoint::Media(name) => {
                let query = self.head.uri.query().unwrap_or_default();
                let (content_type, content) = media::file(name, query);
                Ok(SuccessfulResponse::Content(content_type, content))
            }
            Endpoint::Models => Ok(SuccessfulResponse::Whole(models::list(
                models,
                self.dialect,
            ))),
            Endpoint::Model(id) => {
                models::one(models, id, self.dialect).map(SuccessfulResponse::Whole)
            }
        }
    }

    fn versioned(&self) -> Result<(), ApiError> {
        if self.head.headers.contains_key("anthropic-version") {
            return Ok(());
        }
        Err(ApiError::invalid("anthropic-version: header is required"))
    }

    fn send_json(
        &self,
        json: Bytes,
        directives: &Directives,
        open_request: OpenExchangeGuard,
    ) -> SimulatedResponse {
        let response = SimulatedResponse::full(StatusCode::OK, "application/json", json);
        self.send_whole(response, directives, open_request)
    }

    fn send_refusal(
        &self,
        refusal: &ApiError,
        directives: &Directives,
        open_request: OpenExchangeGuard,
    ) -> SimulatedResponse {
        let body = refusal.body(self.dialect, &self.request_id);
        let mut response = SimulatedResponse::full(refusal.status, "application/json", body);
        add_refusal_headers(&mut response.headers, refusal);
        if directives.echo_credential
            && let Some(credential) = credential(&self.head.headers)
            && let Ok(value) = credential.parse()
        {
            response.headers.insert("x-simulated-credential", value);
        }
        self.send_whole(response, directives, open_request)
    }

    /// Sends a response that does not stream; with the directives `cut` and `stall` only half of it.
    fn send_whole(
        &self,
        mut response: SimulatedResponse,
        directives: &Directives,
        open_request: OpenExchangeGuard,
    ) -> SimulatedResponse {
        open_request.first_byte();
        self.add_headers(&mut response);
        let SimulatedBody::Full(body) = &mut response.body else {
            return response;
        };
        if directives.malformed {
            body.truncate(body.len() / 2);
        }
        let half = body.slice(..body.len() / 2);
        match directives.interruption.map(|interruption| interruption.by) {
            _ if directives.cut => response.body = cut_off(half, open_request),
            Some(StreamInterruptionKind::Cut) => response.body = cut_off(half, open_request),
            Some(StreamInterruptionKind::Stall) => response.body = stalled(half, open_request),
            Some(StreamInterruptionKind::ErrorEvent) | None => {
                open_request.end(ResponseEnd::Complete)
            }
        }
        response
    }

    fn send_stream(
        &self,
        stream_response: Box<dyn EventStreamSource>,
        directives: &Directives,
        open_request: OpenExchangeGuard,
    ) -> SimulatedResponse {
        let overloaded = match self.dialect {
            ApiDialect::Messages => StatusCode::from_u16(529).expect("529 is a status"),
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        let error = self.directed_error(directives, overloaded);
        let pace = Duration::from_millis(self.provider.options.event_ms);
        let plan = StreamPlan::new(self.dialect, &self.request_id, pace, directives, error);
        let (stream, receiver) = EventSender::new(open_request, plan);
        tokio::spawn(run_stream(
            stream_response,
            stream,
            StreamStartBehavior::from_directives(directives),
        ));
        let mut response = SimulatedResponse::stream("text/event-stream; charset=utf-8", receiver);
        self.add_headers(&mut response);
        response
    }

    fn add_headers(&self, response: &mut SimulatedResponse) {
        let millis = self.started.elapsed().as_millis();
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        add_provider_headers(
            &mut response.headers,
            self.dialect,
            &self.request_id,
            millis,
        );
    }
}

/// What a stream does after its head.
#[derive(Clone, Copy)]
enum StreamStartBehavior {
    Play,
    Cut,
    ErrorEvent,
    Malformed,
}

impl StreamStartBehavior {
    fn from_directives(directives: &Directives) -> Self {
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

async fn run_stream(
    stream_response: Box<dyn EventStreamSource>,
    mut stream: EventSender,
    opening: StreamStartBehavior,
) {
    const MALFORMED: &[u8] = b"data: {\"id\":\"simulated\",\"choices\":[{\n\n";
    let ending = match opening {
        StreamStartBehavior::Play => stream_response.send(&mut stream).await.err(),
        StreamStartBehavior::Cut => Some(stream.cut().await),
        StreamStartBehavior::ErrorEvent => Some(stream.error_event().await),
        StreamStartBehavior::Malformed => stream.event(Bytes::from_static(MALFORMED)).await.err(),
    };
    stream.finish(ending.unwrap_or(ResponseEnd::Complete)).await;
}

/// `half` of a body, followed by a closed connection.
fn cut_off(half: Bytes, open_request: OpenExchangeGuard) -> SimulatedBody {
    let (sender, receiver) = mpsc::channel(2);
    for chunk in [BodyChunk::Data(half), BodyChunk::Cut] {
        let sent = sender.try_send(chunk);
        debug_assert!(sent.is_ok(), "there is room for two");
    }
    open_request.end(ResponseEnd::Cut);
    SimulatedBody::Stream(receiver)
}

/// `half` of a body, and then nothing until the client leaves.
fn stalled(half: Bytes, open_request: OpenExchangeGuard) -> SimulatedBody {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let sent = sender.send(BodyChunk::Data(half)).await;
        if sent.is_ok() {
            sender.closed().await;
        }
        open_request.end(ResponseEnd::ClientLeft);
    });
    SimulatedBody::Stream(receiver)
}

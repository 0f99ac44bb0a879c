//! Handles a request: applies its directives, responds or fails, and records how the response ended.

use super::api_error::ApiError;
use super::dialect::ApiDialect;
use super::directive::{Directives, StreamInterruptionKind};
use super::endpoint::Endpoint;
use super::endpoint_result::{EventStreamSource, SuccessfulResponse};
use super::headers::{add_provider_headers, add_refusal_headers, add_request_id, credential};
use super::interrupted_response::{StreamStartBehavior, cut_off, run_stream, stalled};
use super::model_call::ModelCallApi;
use super::provider_state::ProviderState;
use super::request_context::RequestContext;
use super::request_log::OpenExchangeGuard;
use super::request_record::ResponseEnd;
use super::requested_model::requested_model;
use super::stream::{EventSender, StreamPlan};
use super::vendors::descriptor::VendorApi;
use super::{
    batches, chat, completions, converse, directive_resolver, embeddings, gemini, images, media,
    messages, models, moderations, realtime, rerank, resource_store, responses, speech,
    transcription, vendor_tasks, vendors, video,
};
use crate::http_response::{SimulatedBody, SimulatedResponse};
use bytes::Bytes;
use http::request::Parts;
use http::{Request, StatusCode};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
        vendor: vendors::find(path),
        dialect,
        request_id: match dialect {
            ApiDialect::FamilyB | ApiDialect::Converse => provider.ids.uuid(),
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
    /// The vendor whose API the path belongs to, and the vendor's own path.
    vendor: Option<(&'static VendorApi, &'r str)>,
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
        let parsed = body.as_ref().ok();
        let named = requested_model(self.path, self.vendor, &self.head.headers, parsed, &raw);
        if let Some(model) = named {
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
            Ok(SuccessfulResponse::Http(response, by)) => {
                tokio::time::sleep(by).await;
                self.send_whole(response, directives, open_request)
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
        let wants_credential = match endpoint {
            Ok(Endpoint::Vendor(_, operation)) => !operation.is_public(),
            Ok(Endpoint::Media(_)) => false,
            _ => true,
        };
        if wants_credential && self.account().is_none() {
            return Some(ApiError::without_credential(self.dialect));
        }
        if wants_credential && let Some((api, _)) = self.vendor {
            let checked = vendor_tasks::check_header(api, &self.head.headers);
            if let Err(refusal) = checked {
                return Some(refusal);
            }
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

    /// The account that the credential identifies.
    fn account(&self) -> Option<Cow<'_, str>> {
        match self.vendor {
            Some((api, _)) => vendor_tasks::account(api, self.head).map(Cow::Owned),
            None => credential(self.head, self.dialect),
        }
    }

    /// The credential as it was received.
    fn credential(&self) -> Option<Cow<'_, str>> {
        match self.vendor {
            Some((api, _)) => api.credential.key(self.head),
            None => credential(self.head, self.dialect),
        }
    }

    fn directed_error(&self, directives: &Directives, status: StatusCode) -> ApiError {
        let credential = self.credential().unwrap_or_default();
        ApiError::directed_error(directives, status, &credential)
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
            ..
        } = self.provider;
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
            raw,
            request_id: &self.request_id,
            account: &self.account().unwrap_or_default(),
            resources,
            tasks,
            media_downloads: &self.provider.media_downloads,
        };
        let account = call.account;
        match endpoint {
            Endpoint::Chat => chat::complete(&body()?, &call),
            Endpoint::Completions => completions::complete(&body()?, &call),
            Endpoint::Embeddings => embeddings::embed(&body()?, &call),
            Endpoint::Moderations => moderations::moderate(&body()?, &call),
            Endpoint::Rerank(api) => rerank::rank(api, &body()?, &call),
            Endpoint::Speech => speech::speak(&body()?, &call),
            Endpoint::Realtime => realtime::accept(self.head),
            Endpoint::Sound(task) => transcription::respond(task, &call),
            Endpoint::GenerateImage => images::generate(&body()?, &call),
            Endpoint::VaryImage => images::vary(&call),
            Endpoint::Messages => self
                .versioned()
                .and_then(|()| messages::create(&body()?, &call)),
            Endpoint::CountTokens => self
                .versioned()
                .and_then(|()| messages::count_tokens(&body()?)),
            Endpoint::ModelCall(named) => match named.api {
                ModelCallApi::Gemini if named.counts_tokens => gemini::count_tokens(&body()?),
                ModelCallApi::Gemini => gemini::generate(named, &body()?, &call),
                ModelCallApi::Converse => converse::converse(named, &body()?, &call),
            },
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
            Endpoint::Batch(api, op) => batches::respond((api, op), body, &call, self.provider),
            Endpoint::Video(family, operation) => video::respond(family, operation, body, &call),
            Endpoint::Vendor(_, operation) => {
                let (api, path) = self
                    .vendor
                    .expect("the endpoint was found below its prefix");
                vendor_tasks::respond(api, path, operation, body, &call)
            }
            Endpoint::EditImage => images::edit(&call),
            Endpoint::Media(name) => {
                let query = self.head.uri.query().unwrap_or_default();
                let (content_type, content) = media::file(name, query);
                Ok(SuccessfulResponse::Content(content_type, content))
            }
            Endpoint::Models => {
                let list = models::list(&options.models, self.dialect);
                Ok(SuccessfulResponse::Whole(list))
            }
            Endpoint::Model(id) => {
                let model = models::one(&options.models, id, self.dialect);
                model.map(SuccessfulResponse::Whole)
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
        let mut response = match self.vendor {
            Some((api, _)) => vendor_tasks::refusal(api, refusal, directives.error_body),
            None => {
                let body = refusal.body(self.dialect, &self.request_id);
                SimulatedResponse::full(refusal.status, "application/json", body)
            }
        };
        add_refusal_headers(&mut response.headers, self.dialect, refusal);
        if directives.echo_credential
            && let Some(credential) = self.credential()
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
        let error = self.directed_error(directives, self.dialect.overload_status());
        let pace = Duration::from_millis(self.provider.options.event_ms);
        let plan = StreamPlan::new(self.dialect, &self.request_id, pace, directives, error);
        let (stream, receiver) = EventSender::new(open_request, plan);
        tokio::spawn(run_stream(
            stream_response,
            stream,
            StreamStartBehavior::from_directives(directives),
        ));
        let mut response = SimulatedResponse::stream(self.dialect.stream_type(), receiver);
        self.add_headers(&mut response);
        response
    }

    fn add_headers(&self, response: &mut SimulatedResponse) {
        if self.vendor.is_some() {
            return add_request_id(&mut response.headers, &self.request_id);
        }
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

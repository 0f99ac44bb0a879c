//! Checks the requests of a batch, one after the other.

mod field_path;
mod models;

use crate::check_queue::CheckAudience;
use crate::checked_batch::{BatchModel, CheckedBatch, ModelNameSpan, PlacedId};
use crate::request_place::RequestPlace;
use crate::rules::{BatchEndpoint, BatchRules};
use bytes::Bytes;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::model::Model;
use headgate_core::catalog::price_maximum::WorkMaximum;
use headgate_core::filter::schema_fault::{VIOLATIONS_MAX, from_violations};
use headgate_protocol::batch::{BatchRequest, file_lines};
use headgate_protocol::estimate::{TOKENS_MAX, TokenEstimate};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::ids;
use headgate_protocol::json::{JsonDocument, JsonError, JsonErrorKind, JsonLimits, skim};
use headgate_schema::find_violations;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Checks the lines of a file.
///
/// # Errors
/// The first line that is invalid; or nobody waits for the check any more.
pub fn check_file(
    rules: &BatchRules,
    caller: Option<&Caller>,
    file: &Bytes,
    audience: &CheckAudience,
) -> Result<CheckedBatch, Fault> {
    let mut checker = RequestChecker::new(rules, caller);
    for line in file_lines(file) {
        audience.stay()?;
        let place = RequestPlace::Line(line.number);
        checker.add(place, line.start, &line.text)?;
    }
    checker.end("the file has no requests; write one on each line")
}

/// Checks the entries of the list at `list` in the JSON text `body`.
///
/// # Errors
/// The first entry that is invalid; or nobody waits for the check any more.
pub fn check_list(
    rules: &BatchRules,
    caller: Option<&Caller>,
    body: &Bytes,
    list: Range<usize>,
    audience: &CheckAudience,
) -> Result<CheckedBatch, Fault> {
    let mut checker = RequestChecker::new(rules, caller);
    for (index, entry) in skim::elements(body, list).enumerate() {
        audience.stay()?;
        let place = RequestPlace::Entry(index);
        checker.add(place, entry.start, &body.slice(entry))?;
    }
    checker.end("`requests` must not be empty")
}

struct RequestChecker<'r> {
    rules: &'r BatchRules,
    caller: Option<&'r Caller>,
    custom_ids: HashMap<String, RequestPlace>,
    /// The endpoint of all requests, and the first request.
    endpoint: Option<(&'r BatchEndpoint, RequestPlace)>,
    /// The indexes of models by their names.
    models: HashMap<String, usize>,
    ids: HashSet<String>,
    batch: CheckedBatch,
}

impl<'r> RequestChecker<'r> {
    fn new(rules: &'r BatchRules, caller: Option<&'r Caller>) -> Self {
        Self {
            rules,
            caller,
            custom_ids: HashMap::new(),
            endpoint: None,
            models: HashMap::new(),
            ids: HashSet::new(),
            batch: CheckedBatch::default(),
        }
    }

    /// Checks the request in `text`, which begins at `start` of the body.
    fn add(&mut self, place: RequestPlace, start: usize, text: &Bytes) -> Result<(), Fault> {
        self.check_size(place, text)?;
        let document = JsonDocument::parse(text.clone(), &JsonLimits::default())
            .map_err(|error| malformed(place, &error))?;
        let request = match place {
            RequestPlace::Line(_) => BatchRequest::from_line(&document),
            RequestPlace::Entry(_) => BatchRequest::from_entry(&document),
        };
        let request = request.map_err(|invalid| place.fault(invalid))?;
        self.add_custom_id(place, &request)?;
        let endpoint = self.endpoint(place, &request)?;
        if request.streams() {
            return Err(place.fault(
                "a batch has no streams; remove `stream` from the body, or set it to `false`",
            ));
        }
        let (name, value) = request.model().map_err(|invalid| place.fault(invalid))?;
        let model = self.model_index(place, endpoint, &name)?;
        let Range { start: from, end } = value.span();
        self.batch.names.push(ModelNameSpan {
            span: start + from..start + end,
            model,
        });
        let body = JsonDocument::parse(text.slice(request.body.span()), &JsonLimits::default())
            .map_err(|error| malformed(place, &error))?;
        check_schema(place, endpoint, &self.batch.models[model].model, &body)?;
        self.add_ids(place, &body)?;
        self.add_tokens(place, endpoint, model, &body);
        self.batch.requests += 1;
        Ok(())
    }

    /// The batch, if it has requests.
    fn end(self, empty: &str) -> Result<CheckedBatch, Fault> {
        match self.batch.requests {
            0 => Err(Fault::new(FaultKind::Invalid, empty)),
            _ => Ok(self.batch),
        }
    }

    fn check_size(&self, place: RequestPlace, text: &Bytes) -> Result<(), Fault> {
        let BatchRules {
            requests_max,
            request_bytes_max,
            ..
        } = self.rules;
        if self.batch.requests == *requests_max {
            return Err(place.fault(format_args!(
                "the batch has more than {requests_max} requests; send the others in another batch"
            )));
        }
        let bytes = text.len();
        if bytes as u64 > *request_bytes_max {
            return Err(place.fault(format_args!(
                "the request has {bytes} bytes, more than the limit of {request_bytes_max} bytes; send a smaller one"
            )));
        }
        // To some parsers it ends a line, so that they would read other requests.
        let is_line = matches!(place, RequestPlace::Line(_));
        if is_line && memchr::memchr(b'\r', text).is_some() {
            return Err(place.fault(
                "a carriage return within the line; end lines with a line feed, and write each request on one line",
            ));
        }
        Ok(())
    }

    fn add_custom_id(
        &mut self,
        place: RequestPlace,
        request: &BatchRequest<'_>,
    ) -> Result<(), Fault> {
        match self
            .custom_ids
            .entry(request.custom_id.clone().into_owned())
        {
            Entry::Vacant(entry) => {
                entry.insert(place);
                Ok(())
            }
            Entry::Occupied(entry) => Err(place.fault(format_args!(
                "`custom_id` is that of {}, too; each request needs one of its own",
                entry.get()
            ))),
        }
    }

    /// The endpoint of the request, which is that of all others.
    fn endpoint(
        &mut self,
        place: RequestPlace,
        request: &BatchRequest<'_>,
    ) -> Result<&'r BatchEndpoint, Fault> {
        let rules = self.rules;
        if let Some((endpoint, first)) = self.endpoint {
            return match &request.url {
                Some(url) if **url != *endpoint.url => Err(place.fault(format_args!(
                    "`url` is not that of {first}; all requests of a batch are for one endpoint"
                ))),
                _ => Ok(endpoint),
            };
        }
        let mut endpoints = rules.endpoints.iter();
        let found = match &request.url {
            Some(url) => endpoints.find(|endpoint| **url == *endpoint.url),
            None => endpoints.next(),
        };
        let endpoint = found.ok_or_else(|| {
            let urls = rules.endpoints.iter();
            let urls: Vec<String> = urls.map(|one| format!("`{}`", one.url)).collect();
            match urls.as_slice() {
                [] => place.fault("this gateway has no endpoint whose requests can be in a batch"),
                urls => place.fault(format_args!("`url` must be {}", urls.join(" or "))),
            }
        })?;
        self.endpoint = Some((endpoint, place));
        self.batch.url = endpoint.url;
        Ok(endpoint)
    }

    /// Adds the ids by which the provider would look something up.
    fn add_ids(&mut self, place: RequestPlace, body: &JsonDocument) -> Result<(), Fault> {
        let referred = ids::references_in_body(body);
        if let Some(at) = referred.unreadable {
            return Err(place.fault(format_args!("`{at}` must be an id, or a list of ids")));
        }
        for id in referred.ids {
            if !self.ids.insert(id.id.clone()) {
                continue;
            }
            if self.ids.len() > ids::NAMED_MAX {
                return Err(place.fault(format_args!(
                    "the batch refers to more than {} ids; send fewer",
                    ids::NAMED_MAX
                )));
            }
            self.batch.ids.push(PlacedId { id, place });
        }
        Ok(())
    }

    fn add_tokens(
        &mut self,
        place: RequestPlace,
        endpoint: &BatchEndpoint,
        model: usize,
        body: &JsonDocument,
    ) {
        let output_default = match endpoint.protocol.descriptor().has_output_tokens() {
            true => self.rules.default_output_tokens,
            false => 0,
        };
        let tokens = TokenEstimate::from_body(body, output_default).total();
        self.batch.tokens = self.batch.tokens.saturating_add(tokens).min(TOKENS_MAX);
        let BatchModel {
            tokens: of_model,
            work,
            model,
            ..
        } = &mut self.batch.models[model];
        *of_model = of_model.saturating_add(tokens).min(TOKENS_MAX);
        let most = WorkMaximum::from_body(body, endpoint.protocol, model);
        work.add(&most, || place.to_string());
    }
}

/// Checks the body by the schema of the endpoint, and by that of the model's profile.
fn check_schema(
    place: RequestPlace,
    endpoint: &BatchEndpoint,
    model: &Model,
    body: &JsonDocument,
) -> Result<(), Fault> {
    let profile = model.profile(endpoint.protocol);
    let schemas = [Some(&*endpoint.schema), profile.map(|schema| &**schema)];
    let violations = find_violations(schemas.into_iter().flatten(), body, VIOLATIONS_MAX);
    let path_of = |pointer: &str| field_path::spelled(place, pointer, endpoint.protocol);
    match from_violations(&violations, path_of) {
        None => Ok(()),
        Some(fault) => {
            let detail = fault.detail.clone().unwrap_or_default();
            Err(place.fault(&fault.message).detail(detail))
        }
    }
}

fn malformed(place: RequestPlace, error: &JsonError) -> Fault {
    let JsonError { reason, column, .. } = error;
    match reason {
        JsonErrorKind::Empty
        | JsonErrorKind::ByteOrderMark
        | JsonErrorKind::Utf16
        | JsonErrorKind::TooManyValues(_)
        | JsonErrorKind::TooLong => place.fault(format_args!("the line {reason}")),
        _ => place.fault(format_args!("not valid JSON: {reason} at column {column}")),
    }
}

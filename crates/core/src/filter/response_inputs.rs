//! What a response depends on besides the request that the provider gets: what filters read of the caller's request for
//! an attempt or a response. A response may be sent to another request only if both are equal in that, too.

use super::Filter;
use super::view::RequestView;
use headgate_expression::{ExpressionReference, MapVariable, Variable};
use headgate_protocol::credential_names::names_credential;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeSet;

/// What the filters of a route read of a request after it was accepted.
#[derive(Default)]
pub struct ResponseVaryInputs {
    read: BTreeSet<ResponseVaryInput>,
    /// What filters noted of the request for their later hooks.
    markers: Vec<fn(&RequestView) -> bool>,
    reads_request_id: bool,
    /// Name of the first filter that reads the id of the request, which no two requests share.
    reader_of_request_id: Option<&'static str>,
}

/// A part of the caller's request.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ResponseVaryInput {
    Caller,
    ClientAddress,
    /// The path as the caller sent it, with its parameters.
    Path,
    /// The query as the caller sent it.
    Query,
    /// A header by its lower-case name, also one that no provider gets.
    Header(Box<str>),
    /// All headers but those with credentials.
    Headers,
}

impl ResponseVaryInputs {
    /// What these filters read, each with its name.
    pub fn from_filters<'f>(filters: impl Iterator<Item = (&'static str, &'f dyn Filter)>) -> Self {
        let mut inputs = Self::default();
        for (name, filter) in filters {
            filter.add_response_inputs(&mut inputs);
            if inputs.reads_request_id && inputs.reader_of_request_id.is_none() {
                inputs.reader_of_request_id = Some(name);
            }
        }
        inputs
    }

    /// Name of a filter whose changes are for one request only, because they depend on its id.
    pub fn reader_of_request_id(&self) -> Option<&'static str> {
        self.reader_of_request_id
    }

    pub fn add_caller(&mut self) {
        self.read.insert(ResponseVaryInput::Caller);
    }

    /// Everything that a filter can read of a request but its id.
    pub fn add_all(&mut self) {
        self.read.extend([
            ResponseVaryInput::Caller,
            ResponseVaryInput::ClientAddress,
            ResponseVaryInput::Path,
            ResponseVaryInput::Query,
            ResponseVaryInput::Headers,
        ]);
    }

    pub fn add_path(&mut self) {
        self.read.insert(ResponseVaryInput::Path);
    }

    pub fn add_header(&mut self, name: &HeaderName) {
        self.read
            .insert(ResponseVaryInput::Header(name.as_str().into()));
    }

    /// All headers but those with credentials.
    pub fn add_headers(&mut self) {
        self.read.insert(ResponseVaryInput::Headers);
    }

    /// Adds what a filter noted of the request.
    pub fn add_marker(&mut self, marker: fn(&RequestView) -> bool) {
        self.markers.push(marker);
    }

    /// Adds what an expression with these references reads of the caller's request. The model and the body are always a part of what is sent.
    pub fn add_references(&mut self, references: Vec<ExpressionReference<'_>>) {
        for reference in references {
            match reference {
                ExpressionReference::Variable(variable) => self.add_variable(variable),
                ExpressionReference::Entry(map, key) => self.add_entry(map, key),
                ExpressionReference::Document(..) => {}
            }
        }
    }

    fn add_variable(&mut self, variable: Variable) {
        use Variable as V;
        let input = match variable {
            V::RequestId => {
                self.reads_request_id = true;
                return;
            }
            V::Caller => ResponseVaryInput::Caller,
            V::ClientAddress => ResponseVaryInput::ClientAddress,
            V::Path => ResponseVaryInput::Path,
            V::QueryString => ResponseVaryInput::Query,
            // Of the request that is sent.
            V::Method | V::Route | V::Protocol | V::Model | V::RequestSize => return,
            // Of the exchange that makes the response.
            V::Hour
            | V::Minute
            | V::Weekday
            | V::UnixTime
            | V::Channel
            | V::ChannelModel
            | V::Attempt
            | V::Status
            | V::ResponseSize
            | V::UsageInputTokens
            | V::UsageOutputTokens
            | V::UsageTotalTokens
            | V::EventType => return,
        };
        self.read.insert(input);
    }

    fn add_entry(&mut self, map: MapVariable, key: Option<&str>) {
        let input = match (map, key) {
            (MapVariable::RequestHeaders, Some(name)) => {
                ResponseVaryInput::Header(name.to_ascii_lowercase().into())
            }
            (MapVariable::RequestHeaders, None) => ResponseVaryInput::Headers,
            (MapVariable::RequestParams, _) => ResponseVaryInput::Path,
            (MapVariable::RequestQuery, _) => ResponseVaryInput::Query,
            (MapVariable::ResponseHeaders, _) => return,
        };
        self.read.insert(input);
    }

    /// Calls `visit` with the values of a request: a list of values for each input, which `None` ends.
    pub fn visit(&self, request: &RequestView, visit: &mut dyn FnMut(Option<&[u8]>)) {
        for input in &self.read {
            input.visit(request, visit);
            visit(None);
        }
        for marker in &self.markers {
            visit(Some(&[u8::from(marker(request))]));
        }
        visit(None);
    }
}

impl ResponseVaryInput {
    fn visit(&self, request: &RequestView, visit: &mut dyn FnMut(Option<&[u8]>)) {
        match self {
            Self::Caller => {
                let caller = request.caller.as_ref();
                caller.inspect(|caller| visit(Some(caller.name.as_bytes())));
            }
            Self::ClientAddress => {
                let address = request.client.map(|client| client.address.to_string());
                address.inspect(|address| visit(Some(address.as_bytes())));
            }
            Self::Path => visit(Some(request.path.as_bytes())),
            Self::Query => {
                let query = request.query.as_ref();
                query.inspect(|query| visit(Some(query.as_bytes())));
            }
            Self::Header(name) => {
                for value in request.headers.get_all(&**name) {
                    visit(Some(value.as_bytes()));
                }
            }
            Self::Headers => {
                for (name, value) in in_order(&request.headers) {
                    if !names_credential(name.as_str().as_bytes()) {
                        visit(Some(name.as_str().as_bytes()));
                        visit(Some(value.as_bytes()));
                    }
                }
            }
        }
    }
}

/// Sorted by name; the lines of one name stay in their order, which has a meaning.
pub fn in_order(headers: &HeaderMap) -> Vec<(&HeaderName, &HeaderValue)> {
    let mut all: Vec<_> = headers.iter().collect();
    all.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
    all
}

//! The operations of routes: one for each method of each path.

use super::component::ComponentSchemas;
use super::content;
use super::error_response::{ErrorFormat, RouteErrorConditions};
use headgate_config::snapshot::router::Route;
use headgate_core::filter::RequestBodyNeed;
use headgate_core::filter::contract::{GatewayResponseContent, RouteApiDescription};
use headgate_core::filter::descriptor::FilterProvision;
use headgate_protocol::Protocol;
use headgate_protocol::caller_key::{API_KEY, X_API_KEY, X_GOOG_API_KEY};
use http::{HeaderName, Method};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// The tag of routes without a protocol.
pub(super) const WITHOUT_PROTOCOL: &str = "other";

/// The text of a parameter of a path: without backslashes and control characters, which the gateway refuses in paths.
const PATH_TEXT: &str = r"^[^\u0000-\u001f\u007f-\u009f\\]+$";
/// The text of a date, as `require_version` accepts it.
const DATE: &str = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$";

/// The parameter of a path that names the model.
const MODEL: &str = "model";

/// The headers, besides `Authorization`, in which routes may read the key.
pub(super) static KEY_HEADERS: [KeyHeaderScheme; 3] = [
    KeyHeaderScheme {
        name: "api_key",
        header: X_API_KEY,
        description: "Key of a caller, as SDKs of the messages API send it.",
    },
    KeyHeaderScheme {
        name: "azure_api_key",
        header: API_KEY,
        description: "Key of a caller, as SDKs of Azure OpenAI send it.",
    },
    KeyHeaderScheme {
        name: "google_api_key",
        header: X_GOOG_API_KEY,
        description: "Key of a caller, as SDKs of Google send it.",
    },
];

/// A security scheme of a header with the key.
pub(super) struct KeyHeaderScheme {
    pub name: &'static str,
    pub header: HeaderName,
    pub description: &'static str,
}

/// The operations of the routes, by path and method. The first route with a method and path has it.
#[derive(Default)]
pub(super) struct RouteOperations {
    paths: Map<String, Value>,
    /// Paths as they are written first, by the same path without the names of its parameters: OpenAPI forbids two paths
    /// that differ only in these.
    written: HashMap<String, String>,
    ids: HashSet<String>,
    tags: Vec<&'static str>,
}

impl RouteOperations {
    pub fn add(&mut self, route: &Route, schemas: &mut ComponentSchemas) {
        // OpenAPI has no mark for a parameter of several segments.
        let path = route.pattern.path().replace("{+", "{");
        let written = self.written.entry(nameless(&path)).or_insert(path);
        let path = written.clone();
        for method in route.pattern.methods() {
            let key = method.as_str().to_ascii_lowercase();
            let taken = self.paths.get(&path).and_then(|item| item.get(&key));
            if taken.is_some() {
                continue;
            }
            let mut operation = operation(route, method, &path, schemas);
            operation["operationId"] = json!(self.id(route, method));
            let item = self.paths.entry(&*path).or_insert_with(|| json!({}));
            item[key] = operation;
            let tag = tag(route.protocol);
            if !self.tags.contains(&tag) {
                self.tags.push(tag);
            }
        }
    }

    /// The tags of the operations, in their order.
    pub fn tags(&self) -> Vec<&'static str> {
        self.tags.clone()
    }

    pub fn into_paths(self) -> Map<String, Value> {
        self.paths
    }

    /// The name of the route, with the method if the route has several, and a number if that is taken.
    fn id(&mut self, route: &Route, method: &Method) -> String {
        let name = match route.pattern.methods() {
            [_] => route.name.to_string(),
            _ => format!("{}_{}", route.name, method.as_str().to_ascii_lowercase()),
        };
        let mut id = name.clone();
        for number in 2.. {
            if self.ids.insert(id.clone()) {
                break;
            }
            id = format!("{name}_{number}");
        }
        id
    }
}

fn operation(route: &Route, method: &Method, path: &str, schemas: &mut ComponentSchemas) -> Value {
    let contract = route.request.contract();
    let names: Vec<&str> = path_parameters(path).collect();
    let takes_body = matches!(*method, Method::POST | Method::PUT | Method::PATCH);
    let mut operation = json!({
        "tags": [tag(route.protocol)],
        "summary": format!("Route `{}`", route.name),
        "description": format!("Filters: {}.", filters(route)),
        "responses": responses(route, &contract, method, &names),
    });
    let parameters = parameters(route, &contract, &names);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if takes_body {
        operation["requestBody"] = request_body(route, &contract, schemas);
    }
    operation["security"] = security(route, &contract);
    operation
}

fn filters(route: &Route) -> String {
    let chains = [route.request.filters(), route.response.filters()];
    let filters = chains.into_iter().flatten();
    let names: Vec<String> = filters
        .map(|named| format!("`{}`", named.kind.name))
        .collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// A parameter of a path. Clients and the gateway resolve `.` and `..`.
pub(super) fn path_parameter(name: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true,
        "schema": {"type": "string", "minLength": 1, "pattern": PATH_TEXT, "not": {"enum": [".", ".."]}}
    })
}

fn parameters(route: &Route, contract: &RouteApiDescription, names: &[&str]) -> Vec<Value> {
    let of_path = names.iter().map(|name| {
        let mut parameter = path_parameter(name);
        if *name == MODEL && provides(route, FilterProvision::Model) {
            parameter["description"] =
                json!("Name of the model. It counts in place of one in the body.");
        }
        parameter
    });
    let version = contract.version_header.iter().map(|name| {
        json!({
            "name": name, "in": "header", "required": true,
            "description": "Version of the API, as a date.",
            "schema": {"type": "string", "pattern": DATE, "examples": ["2023-06-01"]}
        })
    });
    let once = provides(route, FilterProvision::CreateRecord).then(|| {
        json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Requests with the same key are made once.",
            "schema": {"type": "string", "minLength": 1}
        })
    });
    of_path.chain(version).chain(once).collect()
}

fn request_body(
    route: &Route,
    contract: &RouteApiDescription,
    schemas: &mut ComponentSchemas,
) -> Value {
    let mut content = Map::new();
    let is_scanned = route.request.body_need() == RequestBodyNeed::Scanned;
    let schema = match &contract.body {
        Some(schema) => schemas.add_request(schema.source(), &route.name),
        None if is_scanned => json!({"type": "object"}),
        // The provider decides.
        None => json!({}),
    };
    let form = match is_scanned {
        true => json!({"type": "object"}),
        false => json!({}),
    };
    if !contract.requires_form {
        content.insert("application/json".into(), json!({"schema": schema}));
    }
    if contract.accepts_form || !is_scanned {
        content.insert("multipart/form-data".into(), json!({"schema": form}));
    }
    let is_required = contract.body.is_some() || contract.checks_content_type;
    json!({"required": is_required, "content": content})
}

fn responses(
    route: &Route,
    contract: &RouteApiDescription,
    method: &Method,
    names: &[&str],
) -> Value {
    let provides = |provision| provides(route, provision);
    let success = if provides(FilterProvision::Media) {
        content::any("The file.")
    } else if provides(FilterProvision::Reply) && contract.content.is_none() {
        content::any("What the gateway replies.")
    } else if route.protocol.is_none() && contract.body.is_none() && contract.content.is_none() {
        content::unknown_response()
    } else {
        content::success(contract, !names.is_empty())
    };
    let mut responses = Map::new();
    if !contract.is_refused {
        responses.insert("200".to_owned(), success);
    }
    let serves_file = contract.content == Some(GatewayResponseContent::VideoFile);
    if provides(FilterProvision::Media) || serves_file {
        responses.extend(content::file_responses());
    }
    let filters = || {
        route
            .request
            .filters()
            .iter()
            .chain(route.response.filters())
    };
    let conditions = RouteErrorConditions {
        authenticates: provides(FilterProvision::Caller),
        has_json_body: contract.body.is_some(),
        takes_body: *method != Method::GET && *method != Method::HEAD,
        names_model: provides(FilterProvision::Model)
            || contract.content == Some(GatewayResponseContent::Models),
        has_ids: provides(FilterProvision::ChannelOf("id"))
            || (contract.content != Some(GatewayResponseContent::Models)
                && names.iter().any(|name| *name != MODEL)),
        makes_once: provides(FilterProvision::CreateRecord),
        cancels: *method == Method::DELETE || route.pattern.path().contains("/cancel"),
        calls_services: filters().any(|named| named.filter.callout().is_some()),
        asks_provider: !provides(FilterProvision::Reply) && !contract.is_refused,
        is_refused: contract.is_refused,
        checks_content_type: contract.checks_content_type,
    };
    if conditions.asks_provider {
        responses.insert("4XX".to_owned(), content::provider_error());
    }
    responses.extend(ErrorFormat::for_route(route.protocol).references(conditions));
    Value::Object(responses)
}

fn security(route: &Route, contract: &RouteApiDescription) -> Value {
    if !provides(route, FilterProvision::Caller) {
        return json!([]);
    }
    let headers = contract.key_headers.iter();
    let known = headers.filter_map(|header| {
        let mut schemes = KEY_HEADERS.iter();
        schemes.find(|scheme| scheme.header == *header)
    });
    let keys = known.map(|scheme| json!({scheme.name: []}));
    [json!({"bearer": []})].into_iter().chain(keys).collect()
}

fn provides(route: &Route, provision: FilterProvision) -> bool {
    route.request.first_with_provision(provision).is_some()
}

fn tag(protocol: Option<Protocol>) -> &'static str {
    protocol.map_or(WITHOUT_PROTOCOL, Protocol::name)
}

/// A path without the names of its parameters.
fn nameless(path: &str) -> String {
    let segments = path.split('/');
    let segments = segments.map(|segment| match segment.split_once('}') {
        Some((_, end)) => format!("{{}}{end}"),
        None => segment.to_owned(),
    });
    segments.collect::<Vec<_>>().join("/")
}

/// The names of the parameters of a path.
fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    let segments = path.split('/');
    segments.filter_map(|segment| Some(segment.strip_prefix('{')?.split_once('}')?.0))
}

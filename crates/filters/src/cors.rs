//! `cors`: lets web pages of certain origins call the gateway, by the headers of the Fetch standard (CORS).

use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, InvalidSettings, read_settings, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, HookResult, LocalReply};
use headgate_core::scalar::HumanDuration;
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "cors",
    summary: "Lets web pages of the listed origins read responses, errors of the gateway included, and replies to their preflight requests.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        is_first: true,
        reason: ", so that its errors have the headers of this filter, too",
        ..FilterChainRules::ALWAYS
    },
    settings: Some(settings_schema::<CorsConfig>),
    bare: false,
    build: |settings, _| Ok(Arc::new(CorsFilter::new(read_settings(settings)?)?)),
};

/// Settings of `cors`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CorsConfig {
    /// Origins of web pages, such as `https://app.example`, or `["*"]` for all.
    #[schemars(length(min = 1))]
    origins: Vec<String>,
    /// Methods that pages may use. Default: GET, POST and DELETE.
    #[serde(default = "default_methods")]
    methods: Vec<String>,
    /// Request headers that pages may send. Default: all.
    #[serde(default)]
    headers: Vec<String>,
    /// Response headers that pages may read, beside those of the standard. Default: all.
    #[serde(default)]
    expose: Vec<String>,
    /// Whether pages may send cookies and other credentials of the browser, which a proxy before the gateway may need. Requires
    /// listed `origins`, `headers` and `expose`. Default: false.
    #[serde(default)]
    credentials: bool,
    /// How long a browser may keep the response to a preflight request. Default: 10m.
    max_age: Option<HumanDuration>,
}

/// How long browsers keep the response to a preflight request, in seconds.
const MAX_AGE_SECONDS: u64 = 600;

struct CorsFilter {
    origins: AllowedOrigins,
    /// Of each response to an allowed origin, beside the origin itself.
    response: Vec<(HeaderName, HeaderValue)>,
    /// Of responses to preflight requests.
    preflight: HeaderMap,
}

/// The origins whose pages may read responses.
enum AllowedOrigins {
    Any,
    Listed(Vec<HeaderValue>),
}

impl CorsFilter {
    fn new(config: CorsConfig) -> Result<Self, InvalidSettings> {
        let origins = AllowedOrigins::new(&config.origins)?;
        let has_wildcard = matches!(origins, AllowedOrigins::Any)
            || config.headers.is_empty()
            || config.expose.is_empty();
        if config.credentials && has_wildcard {
            let reason =
                "browsers take credentials only with listed `origins`, `headers` and `expose`";
            return Err(InvalidSettings::new(reason).at("/credentials"));
        }
        let mut response = vec![(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            header_list("/expose", &config.expose, "*")?,
        )];
        if config.credentials {
            let allowed = HeaderValue::from_static("true");
            response.push((header::ACCESS_CONTROL_ALLOW_CREDENTIALS, allowed));
        }
        let mut preflight = HeaderMap::new();
        preflight.insert(
            header::ACCESS_CONTROL_ALLOW_METHODS,
            method_list(&config.methods)?,
        );
        // The wildcard of the standard does not include `authorization`.
        preflight.insert(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            header_list("/headers", &config.headers, "*, authorization")?,
        );
        let max_age = config.max_age.map(|max_age| max_age.duration().as_secs());
        preflight.insert(
            header::ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from(max_age.unwrap_or(MAX_AGE_SECONDS)),
        );
        Ok(Self {
            origins,
            response,
            preflight,
        })
    }
}

impl Filter for CorsFilter {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        // No browser sends two.
        let is_single = request.headers.get_all(header::ORIGIN).iter().count() < 2;
        // Some providers refuse requests of web pages.
        let origin = request.headers.remove(header::ORIGIN);
        let origin = origin.filter(|_| is_single);
        let allowed = self.origins.allowed(origin.as_ref());
        // No provider gets one, whether it is a preflight request or not.
        let is_preflight = request.method == Method::OPTIONS;
        let vary = HeaderValue::from_static("origin");
        request.response_headers.push((header::VARY, vary));
        let is_allowed = allowed.is_some() || origin.is_none();
        if let Some(allowed) = allowed {
            let name = header::ACCESS_CONTROL_ALLOW_ORIGIN;
            request.response_headers.push((name, allowed));
            request.response_headers.extend_from_slice(&self.response);
        }
        match (is_preflight, is_allowed) {
            (false, _) => HookResult::next(),
            (true, true) => HookResult::reply(LocalReply {
                status: StatusCode::NO_CONTENT,
                headers: self.preflight.clone(),
                body: Default::default(),
            }),
            (true, false) => HookResult::fail(Fault::new(
                FaultKind::Forbidden,
                "web pages of this origin may not call this path; ask the operator of this gateway to add it to `cors`",
            )),
        }
    }
}

impl AllowedOrigins {
    fn new(origins: &[String]) -> Result<Self, InvalidSettings> {
        if origins == ["*"] {
            return Ok(Self::Any);
        }
        let listed = origins.iter().enumerate().map(|(index, origin)| {
            let value = is_origin(origin).then(|| HeaderValue::from_str(origin).ok());
            value.flatten().ok_or_else(|| {
                let reason = format!(
                    "`{origin}` is no origin; write it as https://app.example, without a path"
                );
                InvalidSettings::new(reason).at(format!("/origins/{index}"))
            })
        });
        Ok(Self::Listed(listed.collect::<Result<_, _>>()?))
    }

    /// The value that allows this origin: `*` if all are allowed, also for a request without one; `None` if the list does not
    /// have it.
    fn allowed(&self, origin: Option<&HeaderValue>) -> Option<HeaderValue> {
        match self {
            Self::Any => Some(HeaderValue::from_static("*")),
            Self::Listed(listed) => {
                let mut listed = listed.iter();
                listed.find(|allowed| Some(*allowed) == origin).cloned()
            }
        }
    }
}

fn default_methods() -> Vec<String> {
    ["GET", "POST", "DELETE"].map(str::to_owned).into()
}

/// Whether a text is an origin as browsers write it: scheme and host in lower case, and a port unless it is the usual one.
fn is_origin(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else {
        return false;
    };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return false;
    };
    let usual_port = match scheme {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    };
    let has_port = authority.as_str() != authority.host();
    let port = authority.port_u16();
    let is_port = !has_port || port.is_some() && port != usual_port;
    let is_host = !authority.as_str().contains(['@', '*']);
    text == format!("{scheme}://{authority}").to_ascii_lowercase() && is_port && is_host
}

fn method_list(methods: &[String]) -> Result<HeaderValue, InvalidSettings> {
    if methods.is_empty() {
        return Err(InvalidSettings::new("no method; write it as [POST]").at("/methods"));
    }
    for (index, method) in methods.iter().enumerate() {
        let is_method = Method::from_bytes(method.as_bytes()).is_ok() && method != "*";
        if !is_method || method.to_ascii_uppercase() != *method {
            let reason = format!("`{method}` is no method; write it as POST");
            return Err(InvalidSettings::new(reason).at(format!("/methods/{index}")));
        }
    }
    joined("/methods", &methods.join(", "))
}

/// The names of headers as one value; `all` if there are none.
fn header_list(at: &str, names: &[String], all: &str) -> Result<HeaderValue, InvalidSettings> {
    for (index, name) in names.iter().enumerate() {
        if HeaderName::from_bytes(name.as_bytes()).is_err() || name == "*" {
            let reason = format!("`{name}` is no name of a header; write it as x-request-id");
            return Err(InvalidSettings::new(reason).at(format!("{at}/{index}")));
        }
    }
    match names.is_empty() {
        true => joined(at, all),
        false => joined(at, &names.join(", ")),
    }
}

fn joined(at: &str, list: &str) -> Result<HeaderValue, InvalidSettings> {
    HeaderValue::from_str(list).map_err(|_| InvalidSettings::new("not a value of a header").at(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn filter(settings: &Value) -> Result<CorsFilter, InvalidSettings> {
        CorsFilter::new(read_settings(settings)?)
    }

    #[test]
    fn settings_that_a_browser_would_not_obey_are_refused_at_their_place() {
        for (settings, pointer) in [
            (json!({"origins": ["app.example"]}), "/origins/0"),
            (json!({"origins": ["https://app.example/"]}), "/origins/0"),
            (json!({"origins": ["https://App.example"]}), "/origins/0"),
            (json!({"origins": ["https://a.example", "*"]}), "/origins/1"),
            (json!({"origins": ["https://u@a.example"]}), "/origins/0"),
            (json!({"origins": ["https://*.a.example"]}), "/origins/0"),
            (json!({"origins": ["https://a.example:443"]}), "/origins/0"),
            (
                json!({"origins": ["https://a.example:99999"]}),
                "/origins/0",
            ),
            (json!({"origins": ["*"], "methods": []}), "/methods"),
            (json!({"origins": ["*"], "methods": ["*"]}), "/methods/0"),
            (json!({"origins": ["*"], "methods": ["post"]}), "/methods/0"),
            (json!({"origins": ["*"], "headers": ["a b"]}), "/headers/0"),
            (json!({"origins": ["*"], "expose": ["*"]}), "/expose/0"),
            (
                json!({"origins": ["*"], "credentials": true}),
                "/credentials",
            ),
            (
                json!({"origins": ["https://a.example"], "credentials": true}),
                "/credentials",
            ),
        ] {
            let refused = filter(&settings).map(|_| ()).unwrap_err();
            assert_eq!(refused.pointer, pointer, "{settings}: {}", refused.reason);
        }
    }

    #[test]
    fn only_listed_origins_are_allowed_byte_by_byte() {
        let listed = ["https://app.example", "http://localhost:3000"];
        let listed = filter(&json!({"origins": listed})).unwrap();
        for (origin, is_allowed) in [
            ("https://app.example", true),
            ("http://localhost:3000", true),
            ("https://app.example.evil.example", false),
            ("https://evil-app.example", false),
            ("http://app.example", false),
            ("https://app.example:8443", false),
            ("null", false),
        ] {
            let origin = HeaderValue::from_static(origin);
            let allowed = listed.origins.allowed(Some(&origin));
            assert_eq!(allowed.is_some(), is_allowed, "{origin:?}");
            assert!(allowed.is_none_or(|allowed| allowed == origin));
        }
        assert!(listed.origins.allowed(None).is_none());
    }
}

//! The model that a request names, in its body, its form or its path.

use super::headers::form_boundary;
use super::model_call::ModelCall;
use super::vendor_tasks;
use super::vendors::descriptor::VendorApi;
use headgate_protocol::ids::form_values;
use http::HeaderMap;
use serde_json::Value;
use std::borrow::Cow;

/// The model of a request to `path`, whose body is `raw`, and `body` if it is JSON.
pub fn requested_model<'b>(
    path: &'b str,
    vendor: Option<(&'static VendorApi, &str)>,
    headers: &HeaderMap,
    body: Option<&'b Value>,
    raw: &'b [u8],
) -> Option<Cow<'b, str>> {
    if let Some((api, path)) = vendor {
        return vendor_tasks::model_named(api, path, body?).map(Cow::Owned);
    }
    if let Some(call) = ModelCall::find(path) {
        return Some(call.model());
    }
    if let Some(body) = body {
        return body.get("model")?.as_str().map(Cow::Borrowed);
    }
    let model = form_values(raw, form_boundary(headers)?, "model").next()?;
    Some(String::from_utf8_lossy(model))
}

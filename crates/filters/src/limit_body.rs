//! `limit_body`: the largest request body, and optionally the largest file in it; 413 above.

use headgate_core::filter::body_limit::too_large;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, read_settings, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, FilterDeclaration, HookResult};
use headgate_core::scalar::ByteSize;
use headgate_protocol::data_uri::has_data_scheme;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::form::{FormPart, MultipartForm};
use headgate_protocol::json::{DocumentNode, ValueKind};
use http::header;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "limit_body",
    summary: "Limits the size of the request body, as in `limit_body: 32MiB`, and of each file in it; replies 413 above it, before the body is read if `content-length` is over the limit.",
    side: ChainSide::Request,
    placement: FilterChainRules::ALWAYS,
    settings: Some(settings_schema::<LimitBodyConfig>),
    bare: false,
    build: |settings, _| {
        let (body, file) = match read_settings(settings)? {
            LimitBodyConfig::Body(body) => (body, None),
            LimitBodyConfig::BodyAndFiles(BodyAndFileSizesConfig { body, file }) => (body, file),
        };
        Ok(Arc::new(LimitBodyFilter {
            most: body.bytes(),
            file_most: file.map(|file| file.bytes()),
        }))
    },
};

/// Settings of `limit_body`.
#[derive(Deserialize)]
#[serde(untagged)]
enum LimitBodyConfig {
    /// Maximum size of a body.
    Body(ByteSize),
    BodyAndFiles(BodyAndFileSizesConfig),
}

/// Settings of `limit_body`: sizes of a body and of each file in it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BodyAndFileSizesConfig {
    /// Maximum size of a body; a larger one gets 413.
    body: ByteSize,
    /// Maximum size of one file: in a form, if `require_json` accepts forms, or in a data URL of a scanned JSON body; a
    /// larger one gets 413. Default: none, only `body` applies.
    file: Option<ByteSize>,
}

/// One schema for both forms: with `anyOf`, an error could only say that no alternative matches.
impl JsonSchema for LimitBodyConfig {
    fn schema_name() -> Cow<'static, str> {
        "LimitBodyConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let mut schema = ByteSize::json_schema(generator);
        let members = BodyAndFileSizesConfig::json_schema(generator);
        for keyword in ["properties", "required", "additionalProperties"] {
            if let Some(value) = members.get(keyword) {
                schema.insert(keyword.into(), value.clone());
            }
        }
        schema.insert("type".into(), json!(["string", "integer", "object"]));
        schema
    }
}

struct LimitBodyFilter {
    most: u64,
    file_most: Option<u64>,
}

impl Filter for LimitBodyFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            reads_body: self.file_most.is_some(),
            body_limit: Some(self.most),
            ..FilterDeclaration::default()
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        request.body_limit = self.most;
        let declared = request
            .header(header::CONTENT_LENGTH)
            .and_then(|length| length.parse::<u64>().ok());
        match declared {
            Some(length) if length > self.most => {
                HookResult::fail(too_large(Some(length), self.most))
            }
            _ => HookResult::next(),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::from(self.check_files(request))
    }
}

impl LimitBodyFilter {
    fn check_files(&self, request: &RequestView) -> Result<(), Fault> {
        let Some(most) = self.file_most else {
            return Ok(());
        };
        let large = match (request.body.form(), request.body.document()) {
            (Some(form), _) => large_file(form, most),
            (None, Some(body)) => large_data_url(body.root(), most, ""),
            (None, None) => None,
        };
        large.map_or(Ok(()), |at| {
            let message = format!(
                "the file in `{at}` exceeds the limit of {most} bytes; send a smaller file"
            );
            Err(Fault::new(FaultKind::TooLarge, message).param(at))
        })
    }
}

/// The name of the first file above `most` bytes.
fn large_file(form: &MultipartForm, most: u64) -> Option<String> {
    let is_large = |part: &&FormPart| part.is_file() && part.value.len() as u64 > most;
    Some(form.parts().iter().find(is_large)?.name.clone())
}

/// The place of the first data URL with more than `most` bytes of data, in `node` or below; `at` is the place of
/// `node`.
fn large_data_url(node: DocumentNode<'_>, most: u64, at: &str) -> Option<String> {
    if node.span().len() as u64 <= most {
        return None;
    }
    match node.kind() {
        ValueKind::String => {
            let is_url = has_data_scheme(&node.raw()[1..]);
            let comma = memchr::memchr(b',', node.raw())?;
            // A comma before the data, and a quote after it.
            let data = node.raw().len() - comma - 2;
            let bytes = data as u64 / 4 * 3;
            (is_url && bytes > most).then(|| at.to_owned())
        }
        ValueKind::Array => node
            .elements()
            .enumerate()
            .find_map(|(index, element)| large_data_url(element, most, &format!("{at}[{index}]"))),
        ValueKind::Object => node.members().find_map(|(key, value)| {
            let dot = if at.is_empty() { "" } else { "." };
            large_data_url(value, most, &format!("{at}{dot}{key}"))
        }),
        ValueKind::Null | ValueKind::Bool | ValueKind::Number => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::{JsonDocument, JsonLimits};
    use serde_json::Value;

    #[test]
    fn a_data_url_counts_by_its_data() {
        let data = |bytes: usize| format!("data:image/png;base64,{}", "A".repeat(bytes / 3 * 4));
        for (body, large) in [
            (json!({"images": [{"image_url": data(300)}]}), None),
            (
                json!({"images": [{"image_url": data(300)}, {"image_url": data(303)}]}),
                Some("images[1].image_url"),
            ),
            (
                json!({"mask": {"image_url": data(303)}}),
                Some("mask.image_url"),
            ),
            (json!([data(303)]), Some("[0]")),
            (json!({"prompt": "x".repeat(900), "n": Value::Null}), None),
        ] {
            let body =
                JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap();
            assert_eq!(large_data_url(body.root(), 300, "").as_deref(), large);
        }
    }
}

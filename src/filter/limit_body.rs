//! `limit_body`: the most bytes of body that this route reads; 413 beyond.

use super::kind::{FilterKind, Side, read_settings, settings_schema};
use super::view::RequestView;
use super::{Filter, Step};
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::form::Part;
use crate::scalar::ByteSize;
use http::header;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "limit_body",
    summary: "Bounds the request body, as in `limit_body: 32MiB`, and the files of a form; 413 beyond, before it is read where its length is declared.",
    side: Side::Request,
    settings: Some(settings_schema::<LimitBodyConfig>),
    bare: false,
    build: |settings, _| {
        let (body, file) = match read_settings(settings)? {
            LimitBodyConfig::Body(body) => (body, None),
            LimitBodyConfig::BodyAndFiles(BodyAndFilesConfig { body, file }) => (body, file),
        };
        Ok(Arc::new(LimitBody {
            most: body.bytes(),
            file_most: file.map(|file| file.bytes()),
        }))
    },
};

/// Settings of `limit_body`.
#[derive(Deserialize)]
#[serde(untagged)]
enum LimitBodyConfig {
    /// The most bytes of a body.
    Body(ByteSize),
    BodyAndFiles(BodyAndFilesConfig),
}

/// Settings of `limit_body` where there is more to say.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BodyAndFilesConfig {
    /// The most bytes of a body.
    body: ByteSize,
    /// The most bytes of a file in a form; only the body bounds it if absent.
    file: Option<ByteSize>,
}

/// One schema for both, since alternatives could only say that neither fits.
impl JsonSchema for LimitBodyConfig {
    fn schema_name() -> Cow<'static, str> {
        "LimitBodyConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let mut schema = ByteSize::json_schema(generator);
        let members = BodyAndFilesConfig::json_schema(generator);
        for keyword in ["properties", "required", "additionalProperties"] {
            if let Some(value) = members.get(keyword) {
                schema.insert(keyword.into(), value.clone());
            }
        }
        schema.insert("type".into(), json!(["string", "integer", "object"]));
        schema
    }
}

struct LimitBody {
    most: u64,
    file_most: Option<u64>,
}

impl Filter for LimitBody {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        request.body_limit = self.most;
        let declared = request
            .header(header::CONTENT_LENGTH.as_str())
            .and_then(|length| length.parse::<u64>().ok());
        match declared {
            Some(length) if length > self.most => Step::fail(too_large(self.most)),
            _ => Step::next(),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        Step::from(self.check_files(request))
    }
}

impl LimitBody {
    fn check_files(&self, request: &RequestView) -> Result<(), Fault> {
        let (Some(most), Some(form)) = (self.file_most, request.read_form()) else {
            return Ok(());
        };
        let files = form.parts().iter().filter(|part| part.is_file);
        let too_large = |part: &&Part| part.value.len() as u64 > most;
        files.filter(too_large).try_for_each(|part| {
            let message = format!(
                "the file in `{}` is larger than the {most} bytes accepted here; send a smaller one",
                part.name
            );
            Err(Fault::new(FaultKind::TooLarge, message).param(&part.name))
        })
    }
}

/// The fault of a body over its limit of `most` bytes.
pub fn too_large(most: u64) -> Fault {
    Fault::new(
        FaultKind::TooLarge,
        format!("the request body is larger than the {most} bytes accepted here; send less"),
    )
}

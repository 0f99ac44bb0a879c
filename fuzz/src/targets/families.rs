//! Families of video providers: any response has a status in the generic protocol or an error, and renders as JSON.
//!
//! An input is the name of a shipped family, or sections of a definition, and after lines with `--` a create and a response. The create is
//! in the generic shape or in that of the family.

mod creates;
mod responses;

use crate::input::parts;
use bytes::Bytes;
use creates::{check_create, check_native_create};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_task::definition::VideoFamilyDefinitionConfig;
use headgate_task::families::SHIPPED;
use headgate_task::family::VideoFamily;
use responses::check_response;
use std::sync::LazyLock;

const MODEL: &str = "model";
/// What a definition of an input has in place of the sections that it leaves out.
const BASE: &str = r#"
create: {method: POST, path: /tasks}
query: {method: GET, path: "/tasks/{+id}"}
request: {model: /model, prompt: /prompt}
task_id: /id
status: {at: /status, map: {done: succeeded, failed: failed}}
response: {video_url: /url}
errors: {code: /error/code, message: /error/message}
"#;

static FAMILIES: LazyLock<Vec<VideoFamily>> = LazyLock::new(|| {
    let families = SHIPPED.iter().map(|(name, definition)| {
        let config: VideoFamilyDefinitionConfig =
            serde_saphyr::from_str(definition).unwrap_or_else(|error| panic!("{name}: {error}"));
        VideoFamily::new(name, &config).unwrap_or_else(|faults| panic!("{name}: {faults:?}"))
    });
    families.collect()
});

pub fn run(input: &[u8]) {
    let [name, create, response] = parts(input);
    let mut shipped = FAMILIES.iter();
    if let Some(family) = shipped.find(|family| family.name.as_bytes() == name) {
        check_family(family, create, response);
    } else if let Some(mut family) = std::str::from_utf8(name).ok().and_then(build) {
        family.set_public_url("https://gateway.example");
        check_family(&family, create, response);
    }
}

/// The family of a definition; `None` if it is refused, with a reason for each error.
fn build(definition: &str) -> Option<VideoFamily> {
    let config: VideoFamilyDefinitionConfig = serde_saphyr::from_str(definition).ok()?;
    let base = serde_saphyr::from_str(BASE).expect("the base is a definition");
    match VideoFamily::new("declared", &config.or(&base)) {
        Ok(family) => Some(family),
        Err(faults) => {
            assert!(!faults.is_empty());
            for fault in faults {
                assert!(!fault.reason.is_empty(), "{fault:?}");
                assert!(
                    fault.pointer.is_empty() || fault.pointer.starts_with('/'),
                    "{fault:?}"
                );
            }
            None
        }
    }
}

fn check_family(family: &VideoFamily, create: &[u8], response: &[u8]) {
    if let Some(create) = parse(create) {
        check_create(family, &create);
        check_native_create(family, &create);
    }
    if let Some(response) = parse(response) {
        check_response(family, &response);
    }
}

fn parse(body: &[u8]) -> Option<JsonDocument> {
    JsonDocument::parse(Bytes::copy_from_slice(body), &JsonLimits::default()).ok()
}

//! Ids in a request that a provider may repeat in its response, so that they are none that the response creates.

use super::NAMED_MAX;
use crate::json::{DocumentNode, JsonDocument, ValueKind};
use memchr::memmem;

/// Keys whose values a response repeats if it returns items of the request, as a compaction does.
const REPEATED: [&str; 3] = ["container_id", "file_id", "id"];

/// The ids of containers, files and items in a request's body, at any depth, in order.
pub fn repeatable_ids(body: &JsonDocument) -> Vec<String> {
    // Most bodies have none and need no walk; a key may be written with escapes.
    let mut parts = [&b"container_id"[..], b"file_id", b"\"id\"", b"\\u"].into_iter();
    let mut found = Vec::new();
    if parts.any(|part| memmem::find(body.body(), part).is_some()) {
        collect(body.root(), &mut found);
    }
    found
}

/// The scanner bounds the depth.
fn collect(node: DocumentNode<'_>, found: &mut Vec<String>) {
    match node.kind() {
        ValueKind::Array => node.elements().for_each(|element| collect(element, found)),
        ValueKind::Object => {
            for (key, value) in node.members() {
                let id = value.as_str().filter(|_| REPEATED.contains(&&*key));
                match id {
                    Some(id) if found.len() < NAMED_MAX => found.push(id.into_owned()),
                    _ => collect(value, found),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonLimits;

    #[test]
    fn ids_are_found_at_any_depth_and_under_escaped_keys() {
        for (body, expected) in [
            (r#"{"input":"container_id"}"#, &[][..]),
            (
                r#"{"input":[{"type":"code_interpreter_call","container_id":"cntr_1"},{"a":[{"file_id":"file-1"}]}]}"#,
                &["cntr_1", "file-1"],
            ),
            (
                r#"{"input":[{"container\u005fid":"cntr\u005f1","file_id":7}]}"#,
                &["cntr_1"],
            ),
            (r#"{"input":[{"id":"msg_1","role":"user"}]}"#, &["msg_1"]),
            (r#"{"call_id":"call_1"}"#, &[]),
        ] {
            let body = JsonDocument::parse(body.to_owned().into(), &JsonLimits::default());
            assert_eq!(repeatable_ids(&body.unwrap()), expected);
        }
    }
}

//! Ids that a request refers to outside of a JSON body: in its path, its query and the fields of a form.

use headgate_core::filter::body::RequestBody;
use headgate_core::filter::view::RequestView;
use headgate_protocol::ids::{self, ReferencedId, ResourceIdKind};
use headgate_protocol::percent_encoding::decoded;

/// The path parameter that holds an id.
const PARAMETER: &str = "id";
/// The path parameter of a file in a vector store. Other parts of a stored object have ids that only that object has.
const FILE_PARAMETER: &str = "file";
/// Query parameters that continue a list after or before one of its entries.
const CURSORS: &[&str] = &["after", "before", "after_id", "before_id"];
/// Maximum length of an id in a form field, in bytes. Providers' ids have a few dozen; the field may hold a file.
const FORM_ID_BYTES_MAX: usize = 256;

/// The ids in the path; without one, the list cursors of the query.
pub fn named_in_head(request: &RequestView) -> Vec<ReferencedId> {
    let kind = ResourceIdKind::from_path(&request.path);
    let in_path = |name: &str, kind: ResourceIdKind| {
        let id = request.param(name)?.to_string();
        let at = String::new();
        Some(ReferencedId { id, kind, at })
    };
    if let Some(id) = in_path(PARAMETER, kind) {
        let file = match kind {
            ResourceIdKind::VectorStore => in_path(FILE_PARAMETER, ResourceIdKind::File),
            _ => None,
        };
        return [id].into_iter().chain(file).collect();
    }
    let query = request.query.as_deref().unwrap_or_default();
    // Some parsers take a semicolon for a separator.
    query
        .split(['&', ';'])
        .filter_map(|member| member.split_once('='))
        .filter_map(|(key, value)| Some((cursor(key)?, value)))
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| ReferencedId {
            id: decoded(value).into_owned(),
            kind,
            at: key.to_string(),
        })
        .collect()
}

/// The cursor that a parameter's name is to any parser: `%61fter`, `after[]`.
fn cursor(key: &str) -> Option<&'static str> {
    let key = decoded(key);
    let name = ids::field_name(key.trim());
    let mut cursors = CURSORS.iter().copied();
    cursors.find(|cursor| name.eq_ignore_ascii_case(cursor))
}

/// The ids of files in the fields of a form.
pub fn named_in_form(request: &RequestView) -> Vec<ReferencedId> {
    let body = match &*request.body {
        RequestBody::Form { form, .. } => form.body(),
        RequestBody::Opaque(body) => body,
        RequestBody::Absent | RequestBody::Json(_) | RequestBody::Streamed(_) => return Vec::new(),
    };
    let Some(boundary) = request.form_boundary() else {
        return Vec::new();
    };
    ["file_id", "file_ids"]
        .iter()
        .flat_map(|name| {
            let values = ids::form_values(body, boundary, name);
            values.map(|value| {
                let id = &value[..value.len().min(FORM_ID_BYTES_MAX)];
                ReferencedId {
                    id: String::from_utf8_lossy(id.trim_ascii()).into_owned(),
                    kind: ResourceIdKind::File,
                    at: (*name).to_string(),
                }
            })
        })
        .take(ids::NAMED_MAX + 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, Method};

    fn named(path: &str, query: Option<&str>, params: &[(&'static str, &str)]) -> Vec<String> {
        let params = params.iter();
        let params = params.map(|(name, value)| ((*name).into(), (*value).into()));
        let query = query.map(Into::into);
        let request = RequestView::new(
            "r".into(),
            Method::GET,
            path.into(),
            query,
            HeaderMap::new(),
            params.collect(),
            None,
        );
        let named = named_in_head(&request).into_iter();
        let named = named.map(|ReferencedId { id, kind, at }| format!("{at}={id} {}", kind.name()));
        named.collect()
    }

    #[test]
    fn a_cursor_is_found_however_it_is_written() {
        for query in [
            "after=f",
            "limit=1&after=f",
            "%61fter=f",
            "limit=1;after=f",
            "after[]=f",
            "after%5B0%5D=f",
            "After=%66",
        ] {
            assert_eq!(
                named("/v1/files", Some(query), &[]),
                ["after=f file"],
                "{query}"
            );
        }
        for query in ["afterwards=f", "after=", "x=after", "limit=1"] {
            assert!(named("/v1/files", Some(query), &[]).is_empty(), "{query}");
        }
    }

    #[test]
    fn a_file_of_a_vector_store_is_an_id_of_the_path_and_one_of_a_container_is_not() {
        let params = [("id", "x"), ("file", "f")];
        let found = named("/v1/vector_stores/x/files/f", None, &params);
        assert_eq!(found, ["=x vector store", "=f file"]);
        let found = named("/v1/containers/x/files/f", None, &params);
        assert_eq!(found, ["=x container"]);
    }
}

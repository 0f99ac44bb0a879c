//! JSON pointers into responses, which may also choose an element of a list.
//!
//! Beside the segments of RFC 6901, `*` is any element, `-1` the last one, and `[member=value]` the last element whose
//! member is this text: lists of results grow at their end.

use headgate_protocol::json::DocumentNode;

/// The value at a pointer; of several that match, the first for `*` and the last for `[member=value]`.
pub fn find<'a>(root: DocumentNode<'a>, pointer: &str) -> Option<DocumentNode<'a>> {
    let Some((before, choice, after)) = split_at_choice(pointer) else {
        return root.pointer(pointer);
    };
    let list = root.pointer(before)?;
    match choice {
        ElementChoice::Any => list.elements().find_map(|element| find(element, after)),
        ElementChoice::Last => find(list.elements().last()?, after),
        ElementChoice::With(name, value) => {
            let has_value = |element: &DocumentNode<'_>| {
                let text = element.get(name).and_then(DocumentNode::as_str);
                text.is_some_and(|text| text == value)
            };
            find(list.elements().filter(has_value).last()?, after)
        }
    }
}

/// Adds all values at a pointer; `*` matches all elements of a list.
pub fn find_all<'a>(root: DocumentNode<'a>, pointer: &str, found: &mut Vec<DocumentNode<'a>>) {
    match split_at_choice(pointer) {
        Some((before, ElementChoice::Any, after)) => {
            let list = root.pointer(before).into_iter();
            for element in list.flat_map(DocumentNode::elements) {
                find_all(element, after, found);
            }
        }
        Some(_) | None => found.extend(find(root, pointer)),
    }
}

/// Which element of a list.
enum ElementChoice<'p> {
    Any,
    Last,
    /// The last one with this text in this member.
    With(&'p str, &'p str),
}

/// The first segment that chooses an element, with the pointers before and after it.
fn split_at_choice(pointer: &str) -> Option<(&str, ElementChoice<'_>, &str)> {
    let mut start = 0;
    while let Some(slash) = pointer[start..].find('/') {
        let at = start + slash + 1;
        let end = pointer[at..]
            .find('/')
            .map_or(pointer.len(), |end| at + end);
        let segment = &pointer[at..end];
        let choice = match segment {
            "*" => Some(ElementChoice::Any),
            "-1" => Some(ElementChoice::Last),
            _ => {
                let inner = segment.strip_prefix('[');
                let inner = inner.and_then(|inner| inner.strip_suffix(']'));
                let parts = inner.and_then(|inner| inner.split_once('='));
                parts.map(|(name, value)| ElementChoice::With(name, value))
            }
        };
        if let Some(choice) = choice {
            return Some((&pointer[..at - 1], choice, &pointer[end..]));
        }
        start = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::{JsonDocument, JsonLimits};
    use serde_json::json;

    #[test]
    fn an_element_is_chosen_by_its_member_or_place() {
        let response = json!({
            "steps": [
                {"type": "thought"},
                {"type": "output", "content": [{"type": "video", "uri": "old"}]},
                {"type": "output", "content": [{"type": "text"}, {"type": "video", "uri": "new"}]},
                {"type": "thought"}
            ],
            "list": ["a", "b"], "empty": [], "[a=b]": 1
        });
        let response =
            JsonDocument::parse(response.to_string().into(), &JsonLimits::default()).unwrap();
        for (pointer, expected) in [
            (
                "/steps/[type=output]/content/[type=video]/uri",
                Some("\"new\""),
            ),
            ("/steps/*/content/*/uri", Some("\"old\"")),
            ("/steps/[type=image]/uri", None),
            ("/list/-1", Some("\"b\"")),
            ("/list/*", Some("\"a\"")),
            ("/list/0", Some("\"a\"")),
            ("/empty/-1", None),
            ("/list/[a=b]", None),
            ("/missing/*/x", None),
        ] {
            let found = find(response.root(), pointer);
            let found = found.map(|node| String::from_utf8_lossy(node.raw()).into_owned());
            assert_eq!(found.as_deref(), expected, "{pointer}");
        }
        let mut all = Vec::new();
        find_all(response.root(), "/steps/*/type", &mut all);
        assert_eq!(all.len(), 4);
    }
}

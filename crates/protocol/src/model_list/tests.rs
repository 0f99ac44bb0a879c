//! Tests of model lists: the format and the pages that clients of each protocol expect.

use serde_json::{Value, json};

use super::*;
use crate::Protocol;

fn list(protocol: Option<Protocol>, entries: &[ListedModel], page: &PageQuery) -> Bytes {
    (Protocol::descriptor_for(protocol).models.list)(entries, page)
}

fn item(protocol: Option<Protocol>, entry: &ListedModel) -> Bytes {
    (Protocol::descriptor_for(protocol).models.item)(entry)
}

fn entries() -> Vec<ListedModel> {
    let entry = |id: &str| ListedModel {
        id: id.into(),
        display_name: (id == "a").then(|| "Model A".into()),
        owned_by: "us".into(),
        created: 1_790_000_000,
    };
    ["a", "b", "c/d", "e"].map(entry).into()
}

fn value(bytes: Bytes) -> Value {
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn chat_lists_and_items_have_their_shape() {
    let all = entries();
    let item_of_b =
        json!({"id": "b", "object": "model", "created": 1_790_000_000, "owned_by": "us"});
    assert_eq!(value(item(None, &all[1])), item_of_b);
    let page = PageQuery::from_query("limit=1");
    let list = value(list(Some(Protocol::Chat), &all, &page));
    assert_eq!(list["object"], "list");
    assert_eq!(list["data"].as_array().unwrap().len(), 4);
    assert_eq!(list["data"][1], item_of_b);
}

#[test]
fn messages_items_have_names_and_dates() {
    let all = entries();
    let expected = |id: &str, name: &str| json!({"type": "model", "id": id, "display_name": name, "created_at": "2026-09-21T14:13:20Z"});
    assert_eq!(
        value(item(Some(Protocol::Messages), &all[0])),
        expected("a", "Model A")
    );
    assert_eq!(
        value(item(Some(Protocol::Messages), &all[1])),
        expected("b", "b")
    );
}

#[test]
fn messages_lists_have_pages() {
    let table: [(&str, &[&str], bool); 13] = [
        ("", &["a", "b", "c/d", "e"], false),
        ("limit=4", &["a", "b", "c/d", "e"], false),
        ("limit=2", &["a", "b"], true),
        ("limit=2&after_id=b", &["c/d", "e"], false),
        ("limit=1&after_id=b", &["c/d"], true),
        ("after_id=c%2Fd", &["e"], false),
        ("after_id=e", &[], false),
        ("after_id=none", &[], false),
        ("before_id=c%2fd", &["a", "b"], false),
        ("limit=1&before_id=c/d", &["b"], true),
        ("after_id=e&before_id=a", &[], false),
        ("limit=0", &["a", "b", "c/d", "e"], false),
        ("limit=x&other&=&%", &["a", "b", "c/d", "e"], false),
    ];
    for (query, ids, has_more) in table {
        let list = value(list(
            Some(Protocol::Messages),
            &entries(),
            &PageQuery::from_query(query),
        ));
        let found: Vec<&str> = list["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|model| model["id"].as_str().unwrap())
            .collect();
        assert_eq!(found, ids, "{query}");
        assert_eq!(list["has_more"], has_more, "{query}");
        assert_eq!(list["first_id"].as_str(), ids.first().copied(), "{query}");
        assert_eq!(list["last_id"].as_str(), ids.last().copied(), "{query}");
    }
}

#[test]
fn the_list_of_codex_has_models_only_with_instructions() {
    let all = entries();
    assert_eq!(value(codex_list(&all, None)), json!({"models": []}));
    let list = value(codex_list(&all, Some("Be brief.")));
    let models = list["models"].as_array().unwrap();
    let names: Vec<_> = models
        .iter()
        .map(|model| [&model["slug"], &model["display_name"], &model["priority"]])
        .collect();
    assert_eq!(
        json!(names),
        json!([
            ["a", "Model A", 0],
            ["b", "b", 1],
            ["c/d", "c/d", 2],
            ["e", "e", 3]
        ])
    );
    for model in models {
        assert_eq!(model["base_instructions"], "Be brief.");
        assert_eq!(model["supported_reasoning_levels"], json!([]));
    }
    for (query, expected) in [
        ("client_version=0.171.0", true),
        ("a=b&client_version=", true),
        ("client_versions=1", false),
        ("a=client_version", false),
        ("", false),
    ] {
        assert_eq!(is_for_codex(query), expected, "{query}");
    }
}

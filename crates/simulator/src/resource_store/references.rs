//! The resources that a request refers to.

use crate::endpoint::ResourceKind;
use crate::model_request;
use serde_json::Value;

/// The resources that a body refers to. It is independent of the gateway's search for ids, so that one tests the other.
pub fn named(body: &Value) -> Vec<(ResourceKind, &str)> {
    fn files<'b>(value: &'b Value, found: &mut Vec<(ResourceKind, &'b str)>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| files(item, found)),
            Value::Object(members) => {
                for (key, value) in members {
                    match (key.as_str(), value) {
                        ("file_id", Value::String(id)) => found.push((ResourceKind::Files, id)),
                        ("file_ids", Value::Array(ids)) => {
                            let ids = ids.iter().filter_map(Value::as_str);
                            found.extend(ids.map(|id| (ResourceKind::Files, id)));
                        }
                        _ => files(value, found),
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    files(body, &mut found);
    fn resource_id(value: &Value) -> Option<&str> {
        value.get("id").unwrap_or(value).as_str()
    }
    let conversation = body.get("conversation").and_then(resource_id);
    found.extend(conversation.map(|id| (ResourceKind::Conversations, id)));
    let tools = model_request::list_at(body, "tools").iter();
    let containers = tools.filter_map(|tool| tool.get("container")?.as_str());
    let container = body.get("container").and_then(resource_id);
    let tools = model_request::list_at(body, "tools").iter();
    let stores = tools.flat_map(|tool| model_request::list_at(tool, "vector_store_ids"));
    let stores = stores.filter_map(Value::as_str);
    found.extend(stores.map(|id| (ResourceKind::VectorStores, id)));
    found.extend(
        containers
            .chain(container)
            .map(|id| (ResourceKind::Containers, id)),
    );
    found
}

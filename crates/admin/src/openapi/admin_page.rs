//! Admin pages as operations.

use super::ADMIN_TAG;
use super::operation::path_parameter;
use headgate_core::feature::pages::PageQueryParameter;
use http::Method;
use serde_json::{Value, json};

/// What a document has of an admin page.
#[derive(Clone, Debug)]
pub struct AdminPageDescription {
    pub method: Method,
    pub path: &'static str,
    /// One sentence.
    pub summary: &'static str,
    pub user: AdminPageUser,
    /// Parameters of the query.
    pub parameters: &'static [PageQueryParameter],
    /// The content type of the response.
    pub content_type: &'static str,
}

/// Who may use an admin page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminPageUser {
    /// Everyone who reaches it.
    Everyone,
    /// Holders of a key, and everyone where the listener has no keys.
    Reader,
    /// Holders of a key with the role `act`; everyone where the listener has no keys, if that is allowed for the page.
    Actor { needs_key: bool },
    /// Holders of a key with the role `issue`.
    Issuer,
}

impl AdminPageDescription {
    /// The operation, at the base URL of the admin pages.
    pub(super) fn operation(&self, server: &str) -> Value {
        let key = json!({"admin_key": []});
        let security = match self.user {
            AdminPageUser::Everyone => json!([]),
            AdminPageUser::Reader | AdminPageUser::Actor { needs_key: false } => json!([{}, key]),
            AdminPageUser::Actor { needs_key: true } | AdminPageUser::Issuer => json!([key]),
        };
        let has_name = self.path.ends_with("{name}");
        let name = has_name.then(|| path_parameter("name"));
        let parameters = self.parameters.iter().map(|parameter| {
            json!({
                "name": parameter.name, "in": "query", "required": parameter.required,
                "description": parameter.description, "schema": {"type": "string"}
            })
        });
        let schema = match self.content_type {
            "application/json" => json!({"type": "object"}),
            _ => json!({"type": "string"}),
        };
        let mut operation = json!({
            "tags": [ADMIN_TAG],
            "operationId": self.id(),
            "summary": self.summary,
            "servers": [{"url": server}],
            "security": security,
            "responses": {
                "200": {"description": "The page.", "content": {self.content_type: {"schema": schema}}},
                "4XX": {
                    "description": "What is wrong with the request, or that the configuration has nothing for the page.",
                    "content": {"*/*": {"schema": {}}}
                }
            }
        });
        if has_name || !self.parameters.is_empty() {
            operation["parameters"] = name.into_iter().chain(parameters).collect();
        }
        if self.user == AdminPageUser::Issuer {
            self.add_change(&mut operation);
        }
        if self.user != AdminPageUser::Everyone {
            let text = |description: &str| json!({"description": description, "content": {"text/plain": {"schema": {"type": "string"}}}});
            operation["responses"]["401"] = text("The key is missing or unknown.");
            operation["responses"]["403"] =
                text("The key, or the listener without keys, may not do this.");
        }
        operation
    }

    /// Adds what changes of callers have besides: headers, a body, and errors.
    fn add_change(&self, operation: &mut Value) {
        let header = |name: &str, description: &str| json!({"name": name, "in": "header", "required": false, "description": description, "schema": {"type": "string"}});
        let key = "The same request with the same key again changes nothing more.";
        let mut parameters = operation["parameters"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        parameters.push(header("Idempotency-Key", key));
        if self.path.ends_with("{name}") {
            let version = "The `ETag` of the version that is changed; 412 for another one.";
            parameters.push(header("If-Match", version));
        }
        operation["parameters"] = Value::Array(parameters);
        let json = json!({"application/json": {"schema": {"type": "object"}}});
        if self.method != Method::DELETE {
            operation["requestBody"] = json!({"required": true, "content": json});
        }
        for (status, description) in [
            ("400", "The body is not valid; `problems` has the places."),
            ("404", "There is no such caller."),
            (
                "409",
                "The name is taken, or somebody else has changed the caller.",
            ),
            ("503", "The state store is unreachable."),
        ] {
            operation["responses"][status] = json!({"description": description, "content": json});
        }
        if self.method == Method::POST {
            operation["responses"]["201"] =
                json!({"description": "The caller and its new keys.", "content": json});
        }
    }

    /// Such as `admin_post_channels_drain`.
    fn id(&self) -> String {
        let words = self.path.split(['/', '.', '-', '{', '}']);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let method = self.method.as_str().to_ascii_lowercase();
        match words.is_empty() {
            true => format!("admin_{method}"),
            false => format!("admin_{method}_{}", words.join("_")),
        }
    }
}

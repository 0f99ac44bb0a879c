//! The list of models, in the format of each provider.

use super::api_error::ApiError;
use super::dialect::ApiDialect;
use super::json::{JsonText, object};

/// When every simulated model was created, in Unix seconds and in RFC 3339.
const CREATED: (u64, &str) = (1_767_225_600, "2026-01-01T00:00:00Z");

/// All models.
pub fn list(models: &[String], dialect: ApiDialect) -> JsonText {
    let data: Vec<_> = models.iter().map(|id| item(id, dialect)).collect();
    match dialect {
        ApiDialect::Messages => object! {
            "data": data,
            "has_more": false,
            "first_id": models.first(),
            "last_id": models.last(),
        },
        _ => object! {"object": "list", "data": data},
    }
}

/// One model.
///
/// # Errors
/// `404` if there is no model with this id.
pub fn one(models: &[String], id: &str, dialect: ApiDialect) -> Result<JsonText, ApiError> {
    if models.iter().any(|model| model == id) {
        return Ok(item(id, dialect));
    }
    let message = format!("The model '{id}' does not exist or you do not have access to it.");
    Err(ApiError::not_found(message).code("model_not_found"))
}

fn item(id: &str, dialect: ApiDialect) -> JsonText {
    match dialect {
        ApiDialect::Messages => object! {
            "type": "model",
            "id": id,
            "display_name": id,
            "created_at": CREATED.1,
            "lifecycle": "active",
        },
        _ => object! {
            "id": id,
            "object": "model",
            "created": CREATED.0,
            "owned_by": "simulated",
        },
    }
}

//! The list of models, in the shape of either provider.

use super::dialect::Dialect;
use super::json::{Json, object};
use super::refusal::Refusal;

/// When every simulated model was made, in Unix seconds and as RFC 3339.
const CREATED: (u64, &str) = (1_767_225_600, "2026-01-01T00:00:00Z");

/// All models.
pub fn list(models: &[String], dialect: Dialect) -> Json {
    let data: Vec<_> = models.iter().map(|id| item(id, dialect)).collect();
    match dialect {
        Dialect::Messages => object! {
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
/// `404` where none has this id.
pub fn one(models: &[String], id: &str, dialect: Dialect) -> Result<Json, Refusal> {
    if models.iter().any(|model| model == id) {
        return Ok(item(id, dialect));
    }
    let message = format!("The model '{id}' does not exist or you do not have access to it.");
    Err(Refusal::not_found(message).code("model_not_found"))
}

fn item(id: &str, dialect: Dialect) -> Json {
    match dialect {
        Dialect::Messages => object! {
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

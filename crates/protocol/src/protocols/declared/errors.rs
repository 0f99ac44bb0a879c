//! The error format of a declared protocol.

use super::config::ErrorBodyTemplateConfig;
use super::leaked::{leaked, leaked_list, leaked_path, leaked_text};
use crate::error_body::{ErrorBodyTemplate, ErrorShape};
use crate::protocols::Protocol;

/// The error format that a template makes, of the protocol with this name.
pub(super) fn template_shape(
    config: &ErrorBodyTemplateConfig,
    template: ErrorBodyTemplate,
    protocol: &str,
) -> ErrorShape {
    let types = config.types.map_or(Protocol::Chat, |types| types.0);
    let template = leaked(template);
    ErrorShape {
        overload_status: config.overload_status,
        class_header: None,
        template: Some(template),
        required_texts: leaked_list(template.required_texts().iter().map(|it| leaked_path(it))),
        schema_name: leaked_text(&format!("Error.{protocol}")),
        ..types.descriptor().errors
    }
}

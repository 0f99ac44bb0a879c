//! The one list of filters. A filter is added by its file and one line here.

use super::kind::FilterKind;

/// Every filter, in alphabetic order.
pub const FILTERS: &[FilterKind] = &[
    super::authenticate::KIND,
    super::first_channel::KIND,
    super::follow_ids::KIND,
    super::force_usage::KIND,
    super::heartbeat::KIND,
    super::keep_own::KIND,
    super::limit_body::KIND,
    super::list_models::KIND,
    super::map_images::KIND,
    super::map_task::KIND,
    super::meter_usage::KIND,
    super::normalise::KIND,
    super::pass_sse::KIND,
    super::pin::KIND,
    super::rate_limit::KIND,
    super::remember_ids::KIND,
    super::remove_headers::KIND,
    super::require_json::KIND,
    super::require_version::KIND,
    super::restore_model::KIND,
    super::rewrite_path::KIND,
    super::route_model::KIND,
    super::set_headers::KIND,
    super::validate::KIND,
];

/// The filter of this name.
pub fn find(name: &str) -> Option<&'static FilterKind> {
    FILTERS.iter().find(|kind| kind.name == name)
}

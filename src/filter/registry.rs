//! The list of all filters. A new filter needs its file and one line here.

use super::descriptor::{FilterDescriptor, FilterProvision};

/// Calls the macro `$then` with the names of all filters, in alphabetical order.
macro_rules! filters {
    ($then:ident) => {
        $then! {
            allow_ip
            authenticate
            cache
            callbacks
            callout
            copy_files
            deny_ip
            edit_event
            edit_json
            first_channel
            follow_ids
            force_usage
            heartbeat
            idempotency
            keep_own
            limit_body
            list_models
            map_images
            map_task
            meter_usage
            mirror
            normalise
            pass_sse
            pin
            #[cfg(feature = "wasm")] plugin
            rate_limit
            receive_callback
            remember_ids
            remove_headers
            replace
            reply
            require_json
            require_version
            restore_model
            rewrite_path
            route_model
            serve_media
            set_headers
            store_media
            validate
        }
    };
}

macro_rules! list_kinds {
    ($($(#[$attribute:meta])? $filter:ident)*) => {
        /// All filters, in alphabetical order.
        pub const FILTERS: &[FilterDescriptor] = &[$($(#[$attribute])? super::$filter::DESCRIPTOR),*];
    };
}

filters!(list_kinds);

/// The filter with this name.
pub fn find(name: &str) -> Option<&'static FilterDescriptor> {
    FILTERS.iter().find(|kind| kind.name == name)
}

/// The filters with this provision, formatted for a sentence: `` `one` or `other` ``.
pub fn providers(provision: FilterProvision) -> String {
    let providers = FILTERS.iter().filter(|kind| kind.provides(provision));
    let names: Vec<String> = providers.map(|kind| format!("`{}`", kind.name)).collect();
    names.join(" or ")
}

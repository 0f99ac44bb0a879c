//! The filters for text and for edits of requests and responses, limits, the cache, mirroring and callouts.

use crate::channel_listings::ChannelListings;
use crate::mirroring::{MirrorMetrics, MirrorSendersByRoute};
use crate::rate_limit::budget_metrics::{BudgetMetrics, keep_levels};
use crate::rate_limit::live_budget::LiveBudgets;
use crate::rate_limit::run_page;
use crate::response_cache::ResponseCache;
use crate::{
    allow_ip, cache, callout, cors, deny_ip, edit_event, edit_json, first_channel, follow_ids,
    force_usage, heartbeat, keep_own, limit_body, list_models, meter_usage, mirror, normalise,
    pass_sse, pin, rate_limit, remember_ids, remove_headers, replace, reply, require_form,
    require_json, require_version, restore_model, rewrite_path, route_model, set_headers, validate,
};
use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Callers;
use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_core::feature::pages::FeatureAdminPage;
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::FilterDescriptor;
use headgate_core::state::budget_levels::BudgetLevels;
use prometheus::Registry;
use std::sync::Arc;

/// The filters for text and for edits of requests and responses, limits, the cache, mirroring and callouts.
pub struct FiltersFeature;

impl Feature for FiltersFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[
            allow_ip::DESCRIPTOR,
            cache::DESCRIPTOR,
            callout::DESCRIPTOR,
            cors::DESCRIPTOR,
            deny_ip::DESCRIPTOR,
            edit_event::DESCRIPTOR,
            edit_json::DESCRIPTOR,
            first_channel::DESCRIPTOR,
            follow_ids::DESCRIPTOR,
            force_usage::DESCRIPTOR,
            heartbeat::DESCRIPTOR,
            keep_own::DESCRIPTOR,
            limit_body::DESCRIPTOR,
            list_models::DESCRIPTOR,
            meter_usage::DESCRIPTOR,
            mirror::DESCRIPTOR,
            normalise::DESCRIPTOR,
            pass_sse::DESCRIPTOR,
            pin::DESCRIPTOR,
            rate_limit::DESCRIPTOR,
            remember_ids::DESCRIPTOR,
            remove_headers::DESCRIPTOR,
            replace::DESCRIPTOR,
            reply::DESCRIPTOR,
            require_form::DESCRIPTOR,
            require_json::DESCRIPTOR,
            require_version::DESCRIPTOR,
            restore_model::DESCRIPTOR,
            rewrite_path::DESCRIPTOR,
            route_model::DESCRIPTOR,
            set_headers::DESCRIPTOR,
            validate::DESCRIPTOR,
        ];
        FILTERS
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<ChannelListings>::default());
        values.set(Arc::<ResponseCache>::default());
        values.set(Arc::<MirrorSendersByRoute>::default());
        values.set(Arc::<BudgetLevels>::default());
        values.set(Arc::<LiveBudgets>::default());
    }

    fn adopt(&self, built: &FeatureTypeMap) {
        let (callers, catalog) = (built.get::<Callers>(), built.get::<Catalog>());
        keep_levels(&built.get::<BudgetLevels>(), &callers, &catalog);
        built.get::<LiveBudgets>().adopt(&callers, &catalog);
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![
            Box::new(MirrorMetrics::new(registry, shared.get())),
            Box::new(BudgetMetrics::new(registry, shared.get())),
        ]
    }

    fn admin_pages(&self) -> &'static [FeatureAdminPage] {
        run_page::PAGES
    }

    fn findings(&self) -> FeatureFindingDefinitions {
        crate::findings::FINDINGS
    }
}

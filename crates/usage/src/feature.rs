//! What callers, models and channels have used, by day.

use crate::config::{DailyUsageConfig, DailyUsageSection};
use crate::page::{ConcurrentReports, PAGES};
use crate::settings::DailyUsageSettings;
use crate::totals::UsageTotals;
use crate::writer::{self, UsageWriter};
use headgate_core::feature::background::BackgroundWork;
use headgate_core::feature::exchange_recorder::ExchangeRecorder;
use headgate_core::feature::pages::FeatureAdminPage;
use headgate_core::feature::section::{
    ConfigProblemSink, FeatureSectionSchema, SectionBuildContext,
};
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::settings_schema;
use headgate_core::state::StateStore;
use headgate_core::state::calendar::DAY_MS;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The longest time that days can be kept, in days.
const KEEP_DAYS_MAX: u64 = 3660;

/// What callers, models and channels have used, by day.
pub struct UsageFeature;

impl Feature for UsageFeature {
    fn sections(&self) -> Option<FeatureSectionSchema> {
        Some(FeatureSectionSchema {
            keys: &["usage"],
            schema: settings_schema::<DailyUsageSection>,
        })
    }

    fn build_sections(
        &self,
        context: &SectionBuildContext<'_>,
        built: &mut FeatureTypeMap,
        problems: &mut dyn ConfigProblemSink,
    ) -> Vec<PathBuf> {
        let DailyUsageSection { usage } = context.read(problems).unwrap_or_default();
        let rows_max = usage.as_ref().map(|usage| usage.rows_per_day);
        let keep = usage
            .unwrap_or_else(DailyUsageConfig::default)
            .keep
            .duration();
        let days = Duration::from_millis(DAY_MS)..=Duration::from_millis(KEEP_DAYS_MAX * DAY_MS);
        if !days.contains(&keep) {
            let reason = "must be from `1d` to `3660d`";
            problems.error("/usage/keep", reason, None);
        }
        if rows_max.is_some() && !context.state_survives {
            let reason = "usage is lost when the process ends, since the state is in memory";
            let hint = "set `state` to `sqlite` or `redis`";
            problems.warning("/usage", reason, Some(hint));
        }
        built.set(Arc::new(DailyUsageSettings { rows_max, keep }));
        Vec::new()
    }

    fn adopt(&self, built: &FeatureTypeMap) {
        let settings = built.get::<DailyUsageSettings>();
        built.get::<UsageTotals>().adopt(&settings);
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(BackgroundWork {
            is_awaited: false,
            run: |context| Box::pin(writer::run(context)),
        })
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<UsageTotals>::default());
        values.set(Arc::<UsageWriter>::default());
        values.set(Arc::<ConcurrentReports>::default());
    }

    fn until_stored<'a>(
        &self,
        shared: &'a FeatureTypeMap,
        state: &'a dyn StateStore,
    ) -> Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>> {
        let (writer, totals) = (shared.get::<UsageWriter>(), shared.get::<UsageTotals>());
        Some(Box::pin(async move { writer.finish(state, &totals).await }))
    }

    fn exchange_recorder(&self, shared: &FeatureTypeMap) -> Option<Arc<dyn ExchangeRecorder>> {
        Some(shared.get::<UsageTotals>())
    }

    fn admin_pages(&self) -> &'static [FeatureAdminPage] {
        PAGES
    }
}

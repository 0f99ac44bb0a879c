//! Identity: the filter that authenticates callers, the use of their keys, and the issuers of tokens.

use crate::filter::authenticate;
use crate::findings::KEY_EXPIRES;
use crate::issuer::build::SharedIssuerState;
use crate::issuer::claimed_names::ClaimedNames;
use crate::issuer::config::IdentitySection;
use crate::issuer::findings::ISSUER_KEYS;
use crate::issuer::issuer_keys::IssuerKeySets;
use crate::issuer::metrics::{IssuerCounts, IssuerMetrics};
use crate::issuer::token_issuer::TokenIssuers;
use crate::issuer::{build, key_fetch};
use crate::key_metrics::KeyMetrics;
use crate::key_usage::KeyUsages;
use headgate_core::catalog::caller::Callers;
use headgate_core::feature::background::BackgroundWork;
use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_core::feature::section::{
    ConfigProblemSink, FeatureSectionSchema, SectionBuildContext,
};
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::{FilterDescriptor, settings_schema};
use prometheus::Registry;
use std::path::PathBuf;
use std::sync::Arc;

/// Identity: the filter that authenticates callers, the use of their keys, and the issuers of tokens.
pub struct IdentityFeature;

impl Feature for IdentityFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[authenticate::DESCRIPTOR];
        FILTERS
    }

    fn sections(&self) -> Option<FeatureSectionSchema> {
        Some(FeatureSectionSchema {
            keys: &["issuers"],
            schema: settings_schema::<IdentitySection>,
        })
    }

    fn build_sections(
        &self,
        context: &SectionBuildContext<'_>,
        built: &mut FeatureTypeMap,
        problems: &mut dyn ConfigProblemSink,
    ) -> Vec<PathBuf> {
        let IdentitySection { issuers } = context.read(problems).unwrap_or_default();
        let shared = SharedIssuerState {
            keys: built.get(),
            names: built.get(),
            counts: built.get(),
        };
        built.set(Arc::new(build::build(&issuers, &shared, problems)));
        Vec::new()
    }

    fn check_use(&self, built: &FeatureTypeMap, problems: &mut dyn ConfigProblemSink) {
        build::check_use(&built.get(), &built.get(), problems);
    }

    fn adopt(&self, built: &FeatureTypeMap) {
        built.get::<KeyUsages>().adopt(&built.get::<Callers>());
        let issuers = built.get::<TokenIssuers>();
        let issuers: Vec<_> = issuers.by_name.values().cloned().collect();
        let sources: Vec<_> = issuers.iter().map(|issuer| &issuer.keys.source).collect();
        built.get::<IssuerKeySets>().keep(&sources);
        built.get::<IssuerCounts>().adopt(issuers);
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(BackgroundWork {
            is_awaited: false,
            run: |context| Box::pin(key_fetch::run(context)),
        })
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<KeyUsages>::default());
        values.set(Arc::<IssuerKeySets>::default());
        values.set(Arc::<ClaimedNames>::default());
        values.set(Arc::<IssuerCounts>::default());
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![
            Box::new(KeyMetrics::new(registry, shared.get())),
            Box::new(IssuerMetrics::new(registry, shared.get())),
        ]
    }

    fn findings(&self) -> FeatureFindingDefinitions {
        FeatureFindingDefinitions {
            sources: &[KEY_EXPIRES, ISSUER_KEYS],
            ..FeatureFindingDefinitions::NONE
        }
    }
}

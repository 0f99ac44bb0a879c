//! A feature: a part of the gateway that brings its filters and what they share, and that only the program's list names.

pub mod background;
pub mod exchange_recorder;
pub mod finding_listener;
pub mod findings;
pub mod metrics;
pub mod pages;
pub mod section;

use crate::filter::descriptor::{FilterDescriptor, FilterProvision};
use crate::finding::code::{FindingCode, GATEWAY_FINDING_CODES};
use crate::outgoing::OutgoingClients;
use crate::state::StateStore;
use crate::state::settings::StoreOpener;
use background::BackgroundWork;
use exchange_recorder::ExchangeRecorder;
use finding_listener::FindingListener;
use findings::FeatureFindingDefinitions;
use metrics::FeatureMetrics;
use pages::FeatureAdminPage;
use prometheus::Registry;
use section::{ConfigProblemSink, FeatureSectionSchema, SectionBuildContext};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

pub use crate::feature_values::FeatureTypeMap;

/// What a feature adds to the gateway. The default implementation of every method adds nothing.
pub trait Feature: Sync {
    /// Its filters, in any order.
    fn filters(&self) -> &'static [FilterDescriptor] {
        &[]
    }

    /// What opens state stores, if this feature has them.
    fn stores(&self) -> Option<&'static dyn StoreOpener> {
        None
    }

    /// Its sections of `routes.yaml`.
    fn sections(&self) -> Option<FeatureSectionSchema> {
        None
    }

    /// Builds its sections, also if none of them is written, and adds what they are built into to `built`. Opens and
    /// connects nothing. Returns the files that were read: a change of one of them is a change of the configuration.
    fn build_sections(
        &self,
        _context: &SectionBuildContext<'_>,
        _built: &mut FeatureTypeMap,
        _problems: &mut dyn ConfigProblemSink,
    ) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Warns of parts of its sections that no route uses. Called when all routes are built.
    fn check_use(&self, _built: &FeatureTypeMap, _problems: &mut dyn ConfigProblemSink) {}

    /// Called when a configuration is valid, before it is used.
    fn adopt(&self, _built: &FeatureTypeMap) {}

    /// Takes the clients of the process. Called once, before the process serves.
    fn connect(&self, _shared: &FeatureTypeMap, _clients: &OutgoingClients) {}

    /// Its work in the background.
    fn background(&self) -> Option<BackgroundWork> {
        None
    }

    /// Stores what is left of finished exchanges when the process ends, after its work in the background. Gives up after
    /// seconds if the store is away, with a line in the log.
    fn until_stored<'a>(
        &self,
        _shared: &'a FeatureTypeMap,
        _state: &'a dyn StateStore,
    ) -> Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>> {
        None
    }

    /// Adds what outlives snapshots and is shared by all of them. Called once for each process.
    fn add_shared_values(&self, _values: &mut FeatureTypeMap) {}

    /// Registers its metrics. Called once for each process.
    fn register_metrics(
        &self,
        _registry: &Registry,
        _shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        Vec::new()
    }

    /// What records the use of requests.
    fn exchange_recorder(&self, _shared: &FeatureTypeMap) -> Option<Arc<dyn ExchangeRecorder>> {
        None
    }

    /// Its admin pages, in the order of the description of the HTTP API.
    fn admin_pages(&self) -> &'static [FeatureAdminPage] {
        &[]
    }

    /// Its findings.
    fn findings(&self) -> FeatureFindingDefinitions {
        FeatureFindingDefinitions::NONE
    }

    /// What learns of the findings of the gateway.
    fn finding_listener(&self, _shared: &FeatureTypeMap) -> Option<Arc<dyn FindingListener>> {
        None
    }

    /// Adds members to the page `/overview`, from the values of the snapshot in use. They contain no secrets and no bodies.
    fn add_overview(&self, _values: &FeatureTypeMap, _overview: &mut Map<String, Value>) {}
}

/// The features of a program.
#[derive(Clone, Copy)]
pub struct FeatureList(&'static [&'static dyn Feature]);

impl FeatureList {
    pub const fn new(features: &'static [&'static dyn Feature]) -> Self {
        Self(features)
    }

    pub fn iter(self) -> impl Iterator<Item = &'static dyn Feature> {
        self.0.iter().copied()
    }

    /// All filters, in alphabetical order.
    pub fn filters(self) -> FilterRegistry {
        let features = self.0.iter();
        let mut filters: Vec<_> = features.flat_map(|feature| feature.filters()).collect();
        filters.sort_unstable_by_key(|filter| filter.name);
        FilterRegistry(filters)
    }

    /// What opens state stores.
    ///
    /// # Panics
    /// No feature has any.
    pub fn stores(self) -> &'static dyn StoreOpener {
        let stores = self.0.iter().find_map(|feature| feature.stores());
        stores.expect("a program has a feature with state stores")
    }

    /// What records the use of requests.
    pub fn exchange_recorders(self, shared: &FeatureTypeMap) -> Vec<Arc<dyn ExchangeRecorder>> {
        let features = self.0.iter();
        let recorders = features.filter_map(|feature| feature.exchange_recorder(shared));
        recorders.collect()
    }

    /// What learns of findings.
    pub fn finding_listeners(self, shared: &FeatureTypeMap) -> Vec<Arc<dyn FindingListener>> {
        let features = self.0.iter();
        let listeners = features.filter_map(|feature| feature.finding_listener(shared));
        listeners.collect()
    }

    /// The codes of all findings, of the gateway and of its features.
    pub fn finding_codes(self) -> Vec<FindingCode> {
        let findings = self.0.iter().map(|feature| feature.findings());
        let codes = findings.flat_map(|findings| {
            let rules = findings.rules.iter();
            let counted = rules.map(|rule| FindingCode::new(rule.code, rule.severity));
            findings
                .sources
                .iter()
                .map(|source| source.code)
                .chain(counted)
        });
        GATEWAY_FINDING_CODES.iter().copied().chain(codes).collect()
    }

    /// What all features share between snapshots.
    pub fn shared_values(self) -> FeatureTypeMap {
        let mut values = FeatureTypeMap::default();
        for feature in self.0 {
            feature.add_shared_values(&mut values);
        }
        values
    }
}

/// All filters of a program, in alphabetical order.
pub struct FilterRegistry(Vec<&'static FilterDescriptor>);

impl FilterRegistry {
    pub fn iter(&self) -> impl Iterator<Item = &'static FilterDescriptor> {
        self.0.iter().copied()
    }

    /// The filter with this name.
    pub fn find(&self, name: &str) -> Option<&'static FilterDescriptor> {
        self.iter().find(|kind| kind.name == name)
    }

    /// The filters with this provision, formatted for a sentence: `` `one` or `other` ``.
    pub fn providers(&self, provision: FilterProvision) -> String {
        let providers = self.iter().filter(|kind| kind.provides(provision));
        let names: Vec<String> = providers.map(|kind| format!("`{}`", kind.name)).collect();
        names.join(" or ")
    }
}

//! A snapshot: the immutable routes, chains, callers, models and channels of one revision of the configuration.

pub mod admin;
mod affinity;
mod aws_credentials;
mod base_url_hints;
mod base_urls;
pub(crate) mod budgets;
mod callback_keys;
pub(crate) mod caller_keys;
mod caller_limits;
pub mod caller_sources;
pub(crate) mod callers;
pub mod certificate_expiry;
mod channel_errors;
mod channel_models;
mod channel_protocols;
pub mod channels;
mod client_address;
pub mod client_certificates;
mod config_warnings;
mod credentials;
mod dialects;
pub mod directory;
mod egress;
pub mod failover;
mod fallbacks;
mod families;
mod feature_schemas;
mod gateway_name;
mod groups;
mod issued_credentials;
mod model_translation;
pub mod models;
mod outbound_proxies;
pub mod pem;
mod prices;
mod problem_collector;
mod protocols;
pub mod router;
pub mod routes;
pub mod schema_cache;
pub mod server;
mod service_endpoint;
mod services;
pub mod spooling;
mod state;
mod token_prices;
mod tracing;
mod upstream_tls;
mod usability;

use crate::LoadedConfig;
use crate::problem::InvalidConfig;
use crate::routes::GatewayConfig;
use admin::AdminAccessRules;
use caller_sources::CallerSources;
pub use config_warnings::ConfigWarnings;
use directory::{CallerDirectory, ExternalCallerContext};
use failover::GatewayRetryBudgetLimits;
pub use feature_schemas::feature_schemas;
use headgate_core::callout::{CalloutServices, ProcessServiceStates};
use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Callers;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::catalog::served_names::ServedModelNames;
use headgate_core::credentials::credential_registry::CredentialRegistry;
use headgate_core::feature::section::SectionBuildContext;
use headgate_core::feature::{FeatureList, FeatureTypeMap};
use headgate_core::state::StateStore;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::settings::StoreSettings;
use headgate_core::task::TaskSettings;
use headgate_tracing::{TraceQueue, Tracing};
pub(crate) use problem_collector::ProblemCollector;
use router::Router;
use server::ServerSettings;
use spooling::BodySpoolPolicy;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// One built configuration. Each request uses the snapshot that it began with to its end.
pub struct Snapshot {
    /// The first 12 hex digits of the SHA-256 of the file.
    pub revision: Arc<str>,
    pub loaded_at: SystemTime,
    pub server: ServerSettings,
    /// Who may use the admin pages.
    pub admin: AdminAccessRules,
    /// Where and when large request bodies are spooled to disk.
    pub spooling: BodySpoolPolicy,
    /// The settings of the state store, which is opened once, when the process starts.
    pub state: StoreSettings,
    pub callers: Arc<Callers>,
    /// Where other callers come from.
    pub caller_sources: Option<CallerSources>,
    pub catalog: Arc<Catalog>,
    /// Where URLs of callers and providers may lead.
    pub egress: Arc<EgressPolicy>,
    /// Families of video providers, and the keys of task ids.
    pub tasks: Arc<TaskSettings>,
    /// Services that filters call.
    pub services: Arc<CalloutServices>,
    /// What features share between snapshots, and what they built for this one.
    pub features: FeatureTypeMap,
    /// Traces of exchanges; `None` if the configuration has no `tracing`.
    pub tracing: Option<Arc<Tracing>>,
    pub router: Router,
    /// The maximum number of retries of all requests together.
    pub retries: GatewayRetryBudgetLimits,
    /// Files besides `routes.yaml` that were read; a change of one of them is a change of the configuration.
    pub files: Vec<PathBuf>,
}

/// What outlives snapshots and is shared with each one built.
#[derive(Clone)]
pub struct CrossSnapshotState {
    /// The state store: in memory, until the store that the first snapshot names is opened.
    pub state: Arc<dyn StateStore>,
    /// The features of the program.
    pub list: FeatureList,
    /// What they share.
    pub features: FeatureTypeMap,
    /// What the services of all configurations share.
    pub services: Arc<ProcessServiceStates>,
    /// Names of models of patterns that were served.
    pub served_models: Arc<ServedModelNames>,
    /// Exchanges whose traces wait for the export.
    pub traces: Arc<TraceQueue>,
    /// The callers that `routes.yaml` does not name.
    pub directory: Arc<CallerDirectory>,
    /// Credentials that servers issue for the channels of all configurations.
    pub credentials: Arc<CredentialRegistry>,
    /// Looks up the value of `${NAME}`.
    pub variables: VariableLookup,
}

/// Returns the value of a variable, if it has one.
pub type VariableLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A snapshot and the warnings of its configuration.
pub struct BuiltSnapshot {
    pub snapshot: Snapshot,
    pub warnings: ConfigWarnings,
}

/// Reads and builds the configuration at `path`, completely or not at all.
///
/// # Errors
/// Every problem found, with line and column.
pub fn build(path: &Path, shared: &CrossSnapshotState) -> Result<BuiltSnapshot, InvalidConfig> {
    let features = feature_schemas(shared.list);
    let loaded = crate::load(path, &features, &*shared.variables)?;
    build_loaded(path, loaded, shared)
}

impl CrossSnapshotState {
    /// An empty store in memory; variables are those of the environment.
    pub fn new(list: FeatureList) -> Self {
        Self {
            state: Arc::new(MemoryStore::default()),
            list,
            features: list.shared_values(),
            services: Arc::default(),
            served_models: Arc::default(),
            traces: Arc::default(),
            directory: Arc::default(),
            credentials: Arc::default(),
            variables: Arc::new(|name| std::env::var(name).ok()),
        }
    }
}

/// Builds a configuration that is read, whose files are relative to the folder of `path`.
///
/// # Errors
/// Every problem found, with line and column.
pub fn build_loaded(
    path: &Path,
    loaded: LoadedConfig,
    shared: &CrossSnapshotState,
) -> Result<BuiltSnapshot, InvalidConfig> {
    let LoadedConfig {
        config,
        document,
        revision,
        mut files,
        sections,
    } = loaded;
    let GatewayConfig {
        server,
        state,
        callers,
        caller_sources,
        groups,
        channels,
        protocols: declared_protocols,
        dialects: declared_dialects,
        models,
        prices: declared_prices,
        retries,
        egress,
        tracing: declared_tracing,
        services: declared_services,
        families,
        task_keys,
        chains,
        routes,
    } = config;
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut problems = ProblemCollector::new(&document);
    let spool = server.spool.clone();
    let public_url = server::build_public_url(&server, &mut problems);
    let admin = admin::build(&server, &callers, &mut problems);
    let server = server::build(&server, &folder, &mut problems);
    let spooling = spooling::build(&spool, &folder, &mut problems);
    files.extend(upstream_tls::channel_files(&channels, &folder));
    files.extend(issued_credentials::files(&channels, &folder, shared));
    files.extend(services::files(&declared_services, &folder));
    let traced = declared_tracing.as_ref();
    files.extend(tracing::files(traced, &folder));
    let state = state::build(&state, &folder, shared.list.stores(), &mut problems);
    let sources = caller_sources.as_ref();
    caller_sources::check_store(sources, &task_keys, &state, &admin, &mut problems);
    let egress = Arc::new(egress::build(&egress, &mut problems));
    let services = services::build(&declared_services, &folder, &shared.services, &mut problems);
    let services = Arc::new(services);
    let tracing = tracing::build(traced, &folder, &shared.traces, &mut problems);
    tracing::warn_without(traced, &routes, &mut problems);
    let mut features = shared.features.clone();
    let finding_codes = shared.list.finding_codes();
    for feature in shared.list.iter() {
        let values = sections.for_feature(feature);
        let context = SectionBuildContext {
            values: &values,
            folder: &folder,
            state: &shared.state,
            state_survives: state != StoreSettings::Memory,
            services: &services,
            gateway_name: gateway_name::gateway_name(),
            listen: &server.listen,
            finding_codes: &finding_codes,
            plugin_memory: server.limits.plugin_memory,
        };
        files.extend(feature.build_sections(&context, &mut features, &mut problems));
    }
    let tasks = Arc::new(families::build(
        &families,
        (&channels, &routes),
        (&task_keys, public_url.as_ref()),
        &mut problems,
    ));
    let protocols = protocols::build(&declared_protocols, &tasks, &mut problems);
    let families = families::VideoFamilyLookup {
        built: &tasks,
        declared: &families,
    };
    let dialects = dialects::DialectLookup::new(&declared_dialects, &mut problems);
    let declared_channels = channels;
    let mut channels = channels::build(
        &declared_channels,
        channels::ChannelBuildContext {
            families: &families,
            known_protocols: &protocols,
            dialects: &dialects,
            folder: &folder,
            variables: &shared.variables,
            credentials: &shared.credentials,
        },
        &mut problems,
    );
    prices::build(
        &mut channels,
        &declared_prices,
        &declared_channels,
        &mut problems,
    );
    let schemas = schema_cache::SchemaCache::new(folder.clone());
    let lookups = models::ModelLookups {
        profiles: models::ProfileLookup {
            schemas: &schemas,
            protocols: &protocols,
        },
        affinity: &affinity::AffinitySecretSource {
            task_keys: tasks.keys.as_ref(),
            state: &state,
        },
    };
    let declared = callers;
    let declared_names = models::DeclaredModelNames {
        models: &models,
        prices: &declared_prices,
        channels: &declared_channels,
        callers: &declared,
        groups: &groups,
    };
    let served = models::ServedModelLimit {
        names: &shared.served_models,
        most: server.limits.pattern_models,
    };
    let catalog = models::build(channels, declared_names, served, lookups, &mut problems);
    let catalog = Arc::new(catalog);
    let callers_context = callers::build_context(&groups, &models, &catalog, &mut problems);
    groups::check_use(&groups, &declared, caller_sources.is_some(), &mut problems);
    let callers = Arc::new(callers::build(&declared, &callers_context, &mut problems));
    let budgets = caller_limits::declared_budgets(&declared, &models, &declared_channels);
    budgets::check(
        (&declared, &groups, &budgets),
        &callers,
        &catalog,
        &mut problems,
    );
    features.set(callers.clone());
    features.set(catalog.clone());
    let filters = shared.list.filters();
    let declared_routes = routes::DeclaredRoutes {
        routes: &routes,
        chains: &chains,
        filters: &filters,
        protocols: &protocols,
    };
    let router = routes::RouteBuilder {
        declared: declared_routes,
        callers: &callers,
        catalog: &catalog,
        state: &shared.state,
        state_survives: state != StoreSettings::Memory,
        schemas: &schemas,
        tasks: &tasks,
        features: &features,
        egress: &egress,
        public_url: public_url.as_ref(),
        services: &services,
        endpoints: &declared_routes.endpoints(),
        conditions: routes::StepConditionBuilder::default(),
    }
    .build(&mut problems);
    services::check_use(&declared_services, &services, &mut problems);
    for feature in shared.list.iter() {
        feature.check_use(&features, &mut problems);
    }
    callers::check_enforced((&declared, &groups), &router, &filters, &mut problems);
    caller_keys::check(&declared, &server, &router, &mut problems);
    budgets::check_enforced(
        (&declared, &groups, &budgets),
        &router,
        &filters,
        &mut problems,
    );
    callers::check_webhooks(&declared, &router, &filters, &mut problems);
    usability::ConfigLinter {
        declared_callers: &declared,
        has_caller_sources: caller_sources.is_some(),
        declared_channels: &declared_channels,
        declared_routes: &routes,
        callers: &callers,
        catalog: &catalog,
        router: &router,
    }
    .check(&mut problems);
    files.extend(schemas.into_files());
    let warnings = match problems.into_result() {
        Ok(warnings) => warnings,
        Err(invalid) => return Err(InvalidConfig { files, ..invalid }),
    };
    let caller_sources = caller_sources.map(|sources| CallerSources::new(sources, &folder));
    shared.directory.adopt(ExternalCallerContext {
        build: callers_context,
        groups,
        routes: routes.iter().map(|it| it.name.as_str().into()).collect(),
        metric_names: caller_sources.as_ref().map_or(0, |it| it.metric_names),
        callers: callers.clone(),
        asks_certificates: server.asks_certificates(),
    });
    let all = shared.list.iter();
    all.for_each(|feature| feature.adopt(&features));
    Ok(BuiltSnapshot {
        snapshot: Snapshot {
            revision: revision.into(),
            loaded_at: SystemTime::now(),
            server,
            admin,
            spooling,
            state,
            callers,
            caller_sources,
            catalog,
            egress,
            tasks,
            features,
            tracing,
            services,
            router,
            retries: GatewayRetryBudgetLimits::new(&retries),
            files,
        },
        warnings,
    })
}

//! What a configuration becomes: immutable routes, chains, callers, models and channels under one revision.

mod callers;
pub mod channels;
mod client_address;
mod credentials;
mod egress;
pub mod failover;
mod families;
pub mod models;
pub mod origin;
pub mod pem;
pub mod router;
pub mod routes;
pub mod schemas;
pub mod server;
pub mod spooling;
mod state;
mod usable;

use crate::catalog::caller::Callers;
use crate::catalog::model::Catalog;
use crate::config::problem::{InvalidConfig, More, PROBLEMS_MAX, Problem, Severity};
use crate::config::routes::RoutesConfig;
use crate::config::{self, Loaded, document::Document};
use crate::filter::registry::FILTERS;
use crate::polls::Polls;
use crate::state::Store;
use crate::state::memory::Memory;
use crate::state::site::Site;
use crate::task::Tasks;
use failover::Retries;
use router::Router;
use server::Server;
use spooling::Spooling;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// One built configuration. Each request holds the one it began with until it ends.
pub struct Snapshot {
    /// First 12 hex digits of the SHA-256 of the file.
    pub revision: Arc<str>,
    pub loaded_at: SystemTime,
    pub server: Server,
    /// Where large request bodies wait.
    pub spooling: Spooling,
    /// Where state is kept; it is opened once, when the process starts.
    pub state: Site,
    pub callers: Arc<Callers>,
    pub catalog: Arc<Catalog>,
    /// Families of video providers, and the keys of task ids.
    pub tasks: Arc<Tasks>,
    pub router: Router,
    /// How many further attempts all requests together may take.
    pub retries: Retries,
    /// Files besides `routes.yaml` that were read: a change of theirs is a change of the configuration.
    pub files: Vec<PathBuf>,
}

/// What outlives snapshots and is handed to each one built.
#[derive(Clone)]
pub struct Lasting {
    /// Memory, unless somebody opened what the first snapshot names.
    pub state: Arc<dyn Store>,
    /// What is known of video tasks.
    pub polls: Arc<Polls>,
    /// Looks up the variables of `${NAME}`.
    pub variables: Variables,
}

/// The value of a variable, if it has one.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A snapshot, and what its configuration allows but hardly means.
pub struct Built {
    pub snapshot: Snapshot,
    pub warnings: Warnings,
}

/// Warnings of a configuration that is good.
#[derive(Debug, Default)]
pub struct Warnings {
    /// The first ones in the file.
    pub shown: Vec<Problem>,
    /// How many there are besides.
    pub more: usize,
}

/// Reads and builds the configuration at `path`, completely or not at all.
///
/// # Errors
/// Every problem found, with line and column.
pub fn build(path: &Path, lasting: &Lasting) -> Result<Built, InvalidConfig> {
    let filters = filter_schemas();
    let loaded = config::load(path, &filters, &*lasting.variables)?;
    build_loaded(path, loaded, lasting)
}

/// The filters as the configuration's schema sees them.
pub fn filter_schemas() -> Vec<config::schema::FilterSchema> {
    FILTERS
        .iter()
        .map(|kind| config::schema::FilterSchema {
            name: kind.name,
            summary: kind.summary,
            settings: kind.settings.map(|schema| schema()),
            bare: kind.bare,
        })
        .collect()
}

impl Default for Lasting {
    /// Nothing remembered yet; variables are those of the environment.
    fn default() -> Self {
        Self {
            state: Arc::new(Memory::default()),
            polls: Arc::default(),
            variables: Arc::new(|name| std::env::var(name).ok()),
        }
    }
}

/// Problems found while building, each located in the file.
pub(crate) struct Problems<'a> {
    document: &'a Document,
    /// At most [`PROBLEMS_MAX`] of each severity.
    found: Vec<Problem>,
    more: More,
    /// Errors that were reported, the same one of a shared chain each time.
    errors: usize,
}

fn build_loaded(path: &Path, loaded: Loaded, lasting: &Lasting) -> Result<Built, InvalidConfig> {
    let Loaded {
        config,
        document,
        revision,
        mut files,
    } = loaded;
    let RoutesConfig {
        server,
        state,
        callers,
        channels,
        models,
        retries,
        egress,
        families,
        task_keys,
        chains,
        routes,
    } = config;
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut problems = Problems {
        document: &document,
        found: Vec::new(),
        more: More::default(),
        errors: 0,
    };
    let spool = server.spool.clone();
    let server = server::build(&server, &folder, &mut problems);
    let spooling = spooling::build(&spool, &folder, &mut problems);
    files.extend(channels::files(&channels, &folder));
    let state = state::build(&state, &folder, &mut problems);
    let egress = Arc::new(egress::build(&egress, &mut problems));
    let tasks = Arc::new(families::build(&families, &task_keys, &mut problems));
    let families = families::Families {
        built: &tasks,
        declared: &families,
    };
    let declared_channels = channels;
    let channels = channels::build(&declared_channels, &families, &folder, &mut problems);
    let shelf = schemas::Shelf::new(folder);
    let catalog = Arc::new(models::build(channels, &models, &shelf, &mut problems));
    let declared = callers;
    let callers = Arc::new(callers::build(&declared, &catalog, &mut problems));
    let router = routes::Builder {
        chains: &chains,
        callers: &callers,
        catalog: &catalog,
        state: &lasting.state,
        schemas: &shelf,
        tasks: &tasks,
        polls: &lasting.polls,
        egress: &egress,
        endpoints: &routes::endpoints(&routes, &chains),
    }
    .build(&routes, &mut problems);
    callers::check_kept(&declared, &router, &mut problems);
    usable::Usable {
        declared_callers: &declared,
        declared_channels: &declared_channels,
        declared_routes: &routes,
        callers: &callers,
        catalog: &catalog,
        router: &router,
    }
    .check(&mut problems);
    files.extend(shelf.into_files());
    let warnings = match problems.into_result() {
        Ok(warnings) => warnings,
        Err(invalid) => return Err(InvalidConfig { files, ..invalid }),
    };
    Ok(Built {
        snapshot: Snapshot {
            revision: revision.into(),
            loaded_at: SystemTime::now(),
            server,
            spooling,
            state,
            callers,
            catalog,
            tasks,
            router,
            retries: Retries::new(&retries),
            files,
        },
        warnings,
    })
}

impl Problems<'_> {
    /// Reports an error at the value that `pointer` leads to.
    pub fn error(&mut self, pointer: &str, reason: impl Into<String>, hint: Option<&str>) {
        self.errors += 1;
        self.add(Severity::Error, |document| {
            document.problem(pointer, reason, hint.map(String::from))
        });
    }

    /// How many there are so far.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Reports what is allowed but hardly meant.
    pub fn warning(&mut self, pointer: &str, reason: impl Into<String>, hint: Option<&str>) {
        self.add(Severity::Warning, |document| {
            let problem = document.problem(pointer, reason, hint.map(String::from));
            problem.warning()
        });
    }

    /// As [`Problems::warning`], at the key of that value.
    pub fn key_warning(&mut self, pointer: &str, reason: impl Into<String>, hint: Option<&str>) {
        self.add(Severity::Warning, |document| {
            let problem = document.key_problem(pointer, reason, hint.map(String::from));
            problem.warning()
        });
    }

    fn add(&mut self, severity: Severity, problem: impl FnOnce(&Document) -> Problem) {
        if self.kept(severity) == PROBLEMS_MAX {
            return self.more.add(severity, 1);
        }
        let problem = problem(self.document);
        // A chain that several routes use has its problems once.
        if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    fn kept(&self, severity: Severity) -> usize {
        let found = self.found.iter();
        found.filter(|problem| problem.severity == severity).count()
    }

    /// The warnings, if there is no error among the problems.
    fn into_result(self) -> Result<Warnings, InvalidConfig> {
        let invalid = self.document.invalid(self.found).with_more(self.more);
        match invalid.counts() {
            (0, _) => Ok(Warnings {
                shown: invalid.problems,
                more: invalid.more.warnings,
            }),
            _ => Err(invalid),
        }
    }
}

//! `headgate task`: lists paid creates that are not settled, and settles them.

use super::config_file::ConfigFileOptionArgs;
use super::{CommandError, examples};
use crate::features::FEATURES;
use headgate_config::snapshot;
use headgate_config::snapshot::{BuiltSnapshot, CrossSnapshotState, Snapshot};
use headgate_core::feature::metrics::ChargeChange;
use headgate_core::state::records::RecordKind;
use headgate_core::state::settings::StoreSettings;
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_core::timestamp::rfc3339;
use headgate_paid::journal::{
    CreateState, OperatorVerdict, SettleResult, UnsettledCreate, settle, unsettled,
};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

#[derive(clap::Subcommand)]
pub enum UnsettledCreateCommand {
    /// Lists creates whose outcome is unknown, and responses that are not known to have reached a caller.
    #[command(after_help = examples::TASK_UNKNOWN)]
    Unknown(ListUnknownCreatesArgs),
    /// Settles a create whose outcome is unknown, once you know from the provider whether it was made.
    #[command(after_help = examples::TASK_SETTLE)]
    Settle(SettleCreateArgs),
}

#[derive(clap::Args)]
pub struct ListUnknownCreatesArgs {
    #[command(flatten)]
    config: ConfigFileOptionArgs,
    /// Prints a JSON array.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct SettleCreateArgs {
    /// The `request_id` or `key_sha256` that `headgate task unknown` lists.
    id: String,
    /// The provider made it: its key stays in use, and a retry gets 409 `answer_not_kept`.
    #[arg(
        long,
        required_unless_present = "not_made",
        conflicts_with = "not_made"
    )]
    made: bool,
    /// The provider did not make it: a retry with its key is sent.
    #[arg(long)]
    not_made: bool,
    #[command(flatten)]
    config: ConfigFileOptionArgs,
}

/// How long the store is given to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the command waits until what it settled of budgets in money is stored.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// A create as it is printed.
#[derive(Serialize)]
struct UnsettledCreateJson<'c> {
    /// The start of the create, by RFC 3339.
    time: String,
    reason: &'static str,
    caller: &'c str,
    route: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<&'c str>,
    request_id: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_request_id: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_sha256: Option<&'c str>,
}

pub fn run(command: &UnsettledCreateCommand) -> Result<(), CommandError> {
    match command {
        UnsettledCreateCommand::Unknown(args) => list_unknown(args),
        UnsettledCreateCommand::Settle(args) => settle_one(args),
    }
}

fn list_unknown(args: &ListUnknownCreatesArgs) -> Result<(), CommandError> {
    let (creates, unreadable) =
        with_store(&args.config.path(), async |store, _| unsettled(store).await)?;
    let creates: Vec<_> = creates
        .iter()
        .map(UnsettledCreateJson::from_create)
        .collect();
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&creates)?),
        false => print_lines(&creates),
    }
    if unreadable > 0 {
        eprintln!("{unreadable} records are of a later version of headgate and are not listed");
    }
    Ok(())
}

fn settle_one(args: &SettleCreateArgs) -> Result<(), CommandError> {
    let (outcome, effect) = match args.made {
        true => (OperatorVerdict::Made, "made; its key stays in use"),
        false => (OperatorVerdict::NotMade, "not made; its key is free"),
    };
    let id = &args.id;
    let result = with_store(&args.config.path(), async |store, snapshot| {
        let result = settle(store, id, outcome).await?;
        if let SettleResult::Settled { charges, .. } = &result {
            for charge in charges {
                record_charge(store, snapshot, charge).await;
            }
        }
        Ok(result)
    })?;
    match result {
        SettleResult::Settled { request_id, .. } => {
            println!("{request_id} is settled as {effect}");
            Ok(())
        }
        SettleResult::NotFound => Err(CommandError::new(format!(
            "error: no create of unknown outcome has the request id or key {id}; run `headgate task unknown`"
        ))),
        SettleResult::Changed => Err(CommandError::new(
            "error: the record was changed at the same time; run `headgate task unknown` again",
        )),
    }
}

/// Has the features that record usage store what a settlement has changed, as a gateway does with its own.
async fn record_charge(store: &dyn StateStore, snapshot: &Snapshot, charge: &ChargeChange) {
    if charge.added == charge.refunded {
        return;
    }
    let model = snapshot.catalog.get(&charge.model);
    let candidates = model.iter().flat_map(|model| model.all_candidates.iter());
    let price = candidates.filter_map(|candidate| candidate.price()).next();
    let charge = ChargeChange {
        currency: price.map_or_else(String::new, |price| price.currency.to_string()),
        ..charge.clone()
    };
    let recorders = FEATURES.exchange_recorders(&snapshot.features);
    for recorder in recorders.iter().filter(|recorder| recorder.is_on()) {
        recorder.change_charge(&charge);
    }
    for feature in FEATURES.iter() {
        if let Some(stored) = feature.until_stored(&snapshot.features, store) {
            stored.await;
        }
    }
}

/// Runs work on the store of a configuration, once, as soon as the store is connected: the store may have made a change
/// whose result was lost.
fn with_store<T>(
    config: &Path,
    work: impl AsyncFn(&dyn StateStore, &Snapshot) -> Result<T, StoreUnavailable>,
) -> Result<T, CommandError> {
    let shared = CrossSnapshotState::new(FEATURES);
    let BuiltSnapshot { snapshot, .. } = snapshot::build(config, &shared)?;
    let store = open(&snapshot.state)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        wait_until_connected(&*store).await?;
        work(&*store, &snapshot).await
    });
    store.flush(FLUSH_TIMEOUT);
    result.map_err(|error| {
        CommandError::new(format!(
            "error: {error}; run `headgate task unknown` to see what is stored"
        ))
    })
}

async fn wait_until_connected(store: &dyn StateStore) -> Result<(), StoreUnavailable> {
    let until = Instant::now() + CONNECT_TIMEOUT;
    loop {
        let read = store.records().get(RecordKind::PaidCreate, "").get();
        match read.await {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() >= until => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Opens the store, and creates none.
fn open(settings: &StoreSettings) -> Result<Arc<dyn StateStore>, CommandError> {
    if *settings == StoreSettings::Memory {
        return Err(CommandError::new(
            "error: `state` is memory, which only the running gateway can read; set it to a file or to Redis",
        ));
    }
    let file = settings.file();
    if let Some(file) = file.filter(|file| matches!(file.try_exists(), Ok(false))) {
        let file = file.display();
        return Err(CommandError::new(format!(
            "error: there is no state file {file}; run the command where the gateway runs"
        )));
    }
    headgate_state::open::open_existing(settings).map_err(|reason| {
        CommandError::new(match file {
            Some(file) => format!(
                "error: cannot open the state file {}: {reason}; run the command as the user of the gateway",
                file.display()
            ),
            None => format!("error: cannot open the state store: {reason}"),
        })
    })
}

fn print_lines(creates: &[UnsettledCreateJson<'_>]) {
    for create in creates {
        let mut line = format!(
            "{} {} caller={} route={}",
            create.time, create.reason, create.caller, create.route
        );
        for (name, value) in [
            ("model", create.model),
            ("channel", create.channel),
            ("request_id", Some(create.request_id)),
            ("upstream_request_id", create.upstream_request_id),
            ("response_id", create.response_id),
            ("key_sha256", create.key_sha256),
        ] {
            if let Some(value) = value {
                line.push_str(&format!(" {name}={value}"));
            }
        }
        println!("{line}");
    }
    if creates.is_empty() {
        eprintln!("no create is unsettled");
    }
}

impl<'c> UnsettledCreateJson<'c> {
    fn from_create(create: &'c UnsettledCreate) -> Self {
        let record = &create.record;
        let (upstream_request_id, response_id) = match &record.state {
            CreateState::OutcomeUnknown {
                upstream_request_id,
                ..
            } => (upstream_request_id.as_deref(), None),
            CreateState::Accepted { response_id, .. } => (None, response_id.as_deref()),
            CreateState::Reserved { .. } | CreateState::Sending { .. } => (None, None),
        };
        Self {
            time: rfc3339(UNIX_EPOCH + Duration::from_millis(record.created_ms)),
            reason: create.reason.name(),
            caller: &record.caller,
            route: &record.route,
            model: record.model.as_deref(),
            channel: record.state.channel(),
            request_id: &record.request_id,
            upstream_request_id,
            response_id,
            key_sha256: create.key.as_deref(),
        }
    }
}

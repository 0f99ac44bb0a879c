//! `headgate explain`: dry-runs a request and prints what the gateway would send.

use super::admin_client::{AdminClientAuthArgs, AdminUrl};
use super::config_file::ConfigFileOptionArgs;
use super::dry_run::{DryRunRequest, DryRunResult, split_query, usual_headers};
use super::explain_callouts::print_callouts;
use super::explain_candidates::{CandidatePrinter, print_request, select_candidates};
use super::explain_conditions::print_conditions;
use super::explain_trace::print_trace;
use super::live::{AdminAddressSource, LiveChannelStatuses};
use super::offline_config::unknown_source;
use super::style::{self, styled};
use super::{CommandError, input_file, offline_config};
use bytes::Bytes;
use headgate_config::hint::did_you_mean;
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::{Route, RouteMatch};
use headgate_core::catalog::caller::Caller;
use headgate_core::filter::chain::NamedFilter;
use headgate_core::filter::streamed_reply::StreamedReply;
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{FilterAction, LocalReply, PlannedMirrorRequest};
use headgate_gateway::preview::SubrequestPreview;
use headgate_protocol::Protocol;
use headgate_protocol::fault::Fault;
use headgate_protocol::request_path::normalised;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

#[derive(clap::Args)]
pub struct ExplainArgs {
    /// Path and query of the request, such as /v1/chat/completions.
    path: String,
    #[command(flatten)]
    config: ConfigFileOptionArgs,
    /// Method [default: POST with a body, else GET].
    #[arg(long, short = 'X')]
    method: Option<Method>,
    /// Body: JSON text, @FILE, or @- for standard input.
    #[arg(long, short)]
    data: Option<String>,
    /// A header, as `name: value`; may be repeated.
    #[arg(long, short = 'H')]
    header: Vec<String>,
    /// API key of the caller; use --caller to give its name instead.
    #[arg(long, conflicts_with = "caller")]
    key: Option<String>,
    /// Name of the caller, instead of its key [default: the first one in the file].
    #[arg(long)]
    caller: Option<String>,
    /// Client address of the connection, with or without a port.
    #[arg(long, default_value = "127.0.0.1", value_parser = peer)]
    client: SocketAddr,
    /// Prints the bodies that would be sent, after all edits.
    #[arg(long)]
    body: bool,
    /// Prints only this channel.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Queries the running gateway for the current health of each channel, at the address of its admin pages
    /// [default: `server.admin` of the configuration]
    #[arg(long, value_name = "ADMIN", num_args = 0..=1, default_missing_value = "")]
    live: Option<AdminAddressSource>,
    #[command(flatten)]
    admin: AdminClientAuthArgs,
}

pub fn run(args: &ExplainArgs) -> Result<(), CommandError> {
    let snapshot = offline_config::build(&args.config.path())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(explain(args, &snapshot))
}

async fn explain(args: &ExplainArgs, snapshot: &Snapshot) -> Result<(), CommandError> {
    if !args.path.starts_with('/') {
        return Err(CommandError::new(format!(
            "error: the path must begin with `/`, received `{}`",
            args.path
        )));
    }
    let body = body(args)?;
    let has_body = body.is_some();
    let method = args
        .method
        .clone()
        .unwrap_or(if has_body { Method::POST } else { Method::GET });
    let (path, query) = split_query(&args.path);
    let path = normalised(&path)
        .map_err(|unusable| CommandError::new(format!("error: {unusable}")))?
        .into_owned();
    let (route, params) = match snapshot.router.find(&method, &path) {
        RouteMatch::Route(route, params) => (route, params),
        RouteMatch::OtherMethods(methods) => {
            let methods: Vec<&str> = methods.iter().map(Method::as_str).collect();
            return Err(CommandError::new(format!(
                "error: no route matches {method} {path}; this path accepts {}",
                methods.join(", ")
            )));
        }
        RouteMatch::Nothing => {
            return Err(CommandError::new(format!(
                "error: no route matches {method} {path}; check the path, or add a route"
            )));
        }
    };
    println!("route     {} ({})", route.name, route.pattern);
    println!("request   {}", names(route.request.filters()));
    println!("response  {}", names(route.response.filters()));
    let sent = headers(args, route.protocol, has_body)?;
    let run = DryRunResult::run(
        snapshot,
        route,
        DryRunRequest {
            method,
            path,
            query,
            headers: sent.clone(),
            params,
            peer: args.client,
            caller: caller(args, snapshot)?,
            body,
            id: None,
            without: &[],
        },
    )
    .await;
    let DryRunResult {
        request,
        verdict,
        subrequests,
        trace,
    } = run;
    print_trace(trace.as_deref(), &sent);
    if let Some(client) = &request.client {
        println!("client    {}", client.address);
    }
    print_conditions(route, &request);
    print_callouts(route, &request);
    if !subrequests.is_empty() {
        accepted(&request);
        return print_subrequests(args, &request, subrequests);
    }
    match verdict {
        Ok(FilterAction::Continue) => accepted(&request),
        Ok(FilterAction::LocalReply(reply)) => {
            let LocalReply { status, body, .. } = *reply;
            println!(
                "verdict   local reply with status {status}\n{}",
                String::from_utf8_lossy(&body)
            );
            return Ok(());
        }
        Ok(FilterAction::StreamedReply(reply)) => {
            let StreamedReply { status, length, .. } = *reply;
            let file = match length {
                Some(length) => format!("a file of {length} bytes"),
                None => "a file of unknown length".to_owned(),
            };
            println!("verdict   local reply with status {status}, {file}");
            return Ok(());
        }
        Err(fault) => return Err(refused(&request, &fault)),
    }
    print_copies(route, &request);
    let destination = request.destination.clone();
    let candidates = destination.map_or_else(|| [].into(), |destination| destination.candidates);
    let selected = select_candidates(&candidates, args.channel.as_deref())?;
    let live = fetch_live_status(args, snapshot)?;
    println!(
        "channels  {}, lowest tier first; within a tier by weight and load",
        candidates.len()
    );
    let printer = CandidatePrinter {
        route,
        request: &request,
        trace: trace.as_deref(),
        live: live.as_ref(),
        has_bodies: args.body,
    };
    let printed = printer.print(&selected).await;
    printed.map_err(|fault| refused(&request, &fault))
}

/// Prints a line for each step that sends copies of requests.
fn print_copies(route: &Route, request: &RequestView) {
    let filters = route.request.filters().iter();
    for planned in filters.filter_map(|named| named.filter.planned_copy(request)) {
        let PlannedMirrorRequest {
            channel,
            percent,
            obstacle,
        } = planned;
        match obstacle {
            None => println!("copy      to {channel}, for {percent} % of such requests"),
            Some(obstacle) => println!("copy      none to {channel}: {obstacle}"),
        }
    }
}

/// The live status of the channels, if `--live` asks for it.
fn fetch_live_status(
    args: &ExplainArgs,
    snapshot: &Snapshot,
) -> Result<Option<LiveChannelStatuses>, CommandError> {
    let Some(address) = &args.live else {
        return Ok(None);
    };
    let configured = AdminUrl {
        authority: snapshot.server.admin.clone(),
        is_tls: snapshot.server.admin_tls.is_some(),
    };
    let url = match address {
        AdminAddressSource::Configuration => &configured,
        AdminAddressSource::Argument(url) => url,
    };
    let live = LiveChannelStatuses::fetch(url, &args.admin)?;
    let (theirs, ours) = (live.revision(), &*snapshot.revision);
    let note = match theirs == ours {
        true => String::new(),
        false => format!(" (this file is {ours})"),
    };
    println!("gateway   {}, revision {theirs}{note}", live.address);
    Ok(Some(live))
}

/// The caller that the options name; `None` if its key decides.
fn caller(args: &ExplainArgs, snapshot: &Snapshot) -> Result<Option<Arc<Caller>>, CommandError> {
    if args.key.is_some() {
        return Ok(None);
    }
    let found = snapshot.callers.by_name(args.caller.as_deref());
    match (&args.caller, found) {
        (Some(name), None) => {
            let known = snapshot.callers.iter().map(|one| one.name.clone());
            let mut known: Vec<Arc<str>> = known.collect();
            let external = snapshot.callers.external();
            external.for_each(&mut |one| known.push(one.caller.name.clone()));
            known.sort_unstable();
            let hint = did_you_mean(name, known.iter().map(|name| &**name));
            let hint = hint.unwrap_or_else(|| "expected a name from `callers`".into());
            let source = unknown_source(snapshot, name);
            let hint = source.map_or(hint, |source| format!("{source}; use `--key`"));
            Err(CommandError::new(format!(
                "error: unknown caller `{name}`; {hint}"
            )))
        }
        (_, found) => Ok(found),
    }
}

fn accepted(request: &RequestView) {
    let caller = request.caller.as_ref();
    println!("caller    {}", caller.map_or("-", |caller| &caller.name));
    anstream::println!("verdict   {}", styled(style::GOOD, "accepted"));
}

/// Prints the subrequests of a filter that responds to the request itself.
fn print_subrequests(
    args: &ExplainArgs,
    request: &RequestView,
    subrequests: Vec<SubrequestPreview>,
) -> Result<(), CommandError> {
    let count = subrequests.len();
    println!("requests  up to {count} subrequests, depending on the responses");
    for (index, (channel, preview)) in subrequests.into_iter().enumerate() {
        let preview = preview.map_err(|fault| refused(request, &fault))?;
        println!();
        println!("{}. {}", index + 1, channel.name);
        print_request(&preview, args.body);
    }
    Ok(())
}

fn refused(request: &RequestView, fault: &Fault) -> CommandError {
    let errors = &Protocol::descriptor_for(request.protocol).errors;
    let body = errors.render(fault, &request.id);
    CommandError::new(format!(
        "verdict   {} with {}\n{}",
        styled(style::BAD, "refused"),
        errors.status(fault),
        String::from_utf8_lossy(&body)
    ))
}

fn peer(text: &str) -> Result<SocketAddr, String> {
    let with_port = text.parse().ok();
    let alone = || Some(SocketAddr::new(text.parse().ok()?, 0));
    with_port
        .or_else(alone)
        .ok_or_else(|| "expected an IP address, such as `192.0.2.7`".into())
}

fn names(filters: &[NamedFilter]) -> String {
    let shown = |named: &NamedFilter| match named.filter.label() {
        Some(label) => format!("{} {label}", named.kind.name),
        None => named.kind.name.to_owned(),
    };
    let names: Vec<String> = filters.iter().map(shown).collect();
    match names.is_empty() {
        true => "-".into(),
        false => names.join(", "),
    }
}

fn body(args: &ExplainArgs) -> Result<Option<Bytes>, CommandError> {
    let Some(data) = &args.data else {
        return Ok(None);
    };
    let bytes = match data.strip_prefix('@') {
        Some(file) => input_file::read(Path::new(file))?,
        None => data.clone().into_bytes(),
    };
    Ok(Some(bytes.into()))
}

fn headers(
    args: &ExplainArgs,
    protocol: Option<Protocol>,
    has_body: bool,
) -> Result<HeaderMap, CommandError> {
    let mut headers = usual_headers(protocol, has_body);
    if let Some(key) = &args.key {
        headers.insert(
            header::AUTHORIZATION,
            HeaderValue::from_str(&format!("Bearer {key}"))?,
        );
    }
    for line in &args.header {
        let (name, value) = line.split_once(':').ok_or_else(|| {
            CommandError::new(format!(
                "expected a header as `name: value`, received `{line}`"
            ))
        })?;
        headers.insert(
            HeaderName::from_bytes(name.trim().as_bytes())?,
            HeaderValue::from_str(value.trim())?,
        );
    }
    Ok(headers)
}

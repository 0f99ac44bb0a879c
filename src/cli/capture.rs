//! `headgate capture`: records exchanges of a caller of a running gateway, and prints what was recorded.

use super::admin_client::query_value;
use super::admin_pages::AdminConnectionArgs;
use super::{CommandError, examples};
use serde_json::Value;

#[derive(clap::Args)]
#[command(after_help = examples::CAPTURE)]
pub struct CaptureArgs {
    #[command(subcommand)]
    command: CaptureCommand,
}

#[derive(clap::Subcommand)]
enum CaptureCommand {
    /// Starts to record the next exchanges of a caller, and prints the id of the capture.
    #[command(after_help = examples::CAPTURE_START)]
    Start(StartCaptureArgs),
    /// Prints the captures without what they recorded, one JSON object per line.
    #[command(after_help = examples::CAPTURE_LIST)]
    List(AdminConnectionArgs),
    /// Prints a capture with what it recorded, as JSON. It has prompts and responses of the caller.
    #[command(after_help = examples::CAPTURE_SHOW)]
    Show(CaptureIdArgs),
    /// Ends a capture and removes what it recorded.
    #[command(after_help = examples::CAPTURE_REMOVE)]
    Remove(CaptureIdArgs),
}

#[derive(clap::Args)]
struct StartCaptureArgs {
    /// Name of the caller.
    caller: String,
    /// How long exchanges that begin are recorded, 1 to 3600 seconds [default: 60]
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Maximum number of exchanges, 1 to 100 [default: 10]
    #[arg(long, value_name = "N")]
    exchanges: Option<u64>,
    /// Maximum bytes of all exchanges together, 1024 to 16777216 [default: 1048576]
    #[arg(long, value_name = "N")]
    bytes: Option<u64>,
    #[command(flatten)]
    pages: AdminConnectionArgs,
}

#[derive(clap::Args)]
struct CaptureIdArgs {
    /// Id of the capture, such as cap_1.
    id: String,
    #[command(flatten)]
    pages: AdminConnectionArgs,
}

pub fn run(args: &CaptureArgs) -> Result<(), CommandError> {
    match &args.command {
        CaptureCommand::Start(args) => start(args),
        CaptureCommand::List(pages) => list(pages),
        CaptureCommand::Show(CaptureIdArgs { id, pages }) => {
            let path = format!("/captures/content?id={}", query_value(id));
            let capture = pages.json("GET", &path)?;
            println!("{capture:#}");
            Ok(())
        }
        CaptureCommand::Remove(CaptureIdArgs { id, pages }) => {
            let path = format!("/captures/remove?id={}", query_value(id));
            pages.json("POST", &path)?;
            println!("{id} removed");
            Ok(())
        }
    }
}

fn start(args: &StartCaptureArgs) -> Result<(), CommandError> {
    let mut path = format!("/captures?caller={}", query_value(&args.caller));
    for (name, limit) in [
        ("seconds", args.seconds),
        ("exchanges", args.exchanges),
        ("bytes", args.bytes),
    ] {
        if let Some(limit) = limit {
            path += &format!("&{name}={limit}");
        }
    }
    let capture = args.pages.json("POST", &path)?;
    println!("{}", text(&capture, "id"));
    eprintln!(
        "recording caller {} until {}, {} exchanges at most",
        text(&capture, "caller"),
        text(&capture, "until"),
        capture["exchanges_max"]
    );
    Ok(())
}

fn list(pages: &AdminConnectionArgs) -> Result<(), CommandError> {
    let page = pages.json("GET", "/captures")?;
    let captures = page["captures"].as_array();
    let captures = captures.map(Vec::as_slice).unwrap_or_default();
    for capture in captures {
        println!("{capture}");
    }
    let recording = captures.iter().filter(|one| one["recording"] == true);
    eprintln!(
        "{} captures, {} recording",
        captures.len(),
        recording.count()
    );
    Ok(())
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

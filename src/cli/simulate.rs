//! `headgate simulate`: a simulated provider without a model.

use super::{CommandError, run};
use headgate_observe::process_log;
use headgate_simulator::server::SimulatorServer;
use headgate_simulator::{Simulator, SimulatorDefaults};

#[derive(clap::Args)]
pub struct SimulateArgs {
    /// Address of the simulated provider.
    #[arg(long, default_value = "127.0.0.1:9092")]
    listen: String,
    /// Milliseconds before the headers of every response.
    #[arg(long, default_value_t = 0)]
    first_byte_ms: u64,
    /// Milliseconds between the events of a stream.
    #[arg(long, default_value_t = 20)]
    event_ms: u64,
    /// Milliseconds a video task stays queued.
    #[arg(long, default_value_t = 300)]
    queue_ms: u64,
    /// Milliseconds a video task runs.
    #[arg(long, default_value_t = 600)]
    run_ms: u64,
    /// Does not record requests; for benchmarks.
    #[arg(long)]
    no_record: bool,
    /// Worker threads.
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

pub fn run(args: &SimulateArgs) -> Result<(), CommandError> {
    process_log::start();
    let socket = run::bind(&args.listen, "with `--listen`")?;
    let address = socket.address;
    let simulator = Simulator::new(SimulatorDefaults {
        first_byte_ms: args.first_byte_ms,
        event_ms: args.event_ms,
        queue_ms: args.queue_ms,
        run_ms: args.run_ms,
        record: !args.no_record,
        ..SimulatorDefaults::default()
    });
    let server = SimulatorServer::start(simulator, socket.into_listener(), args.workers)?;
    tracing::info!(listen = %address, "simulated provider is listening");
    Ok(server.run_until_signal()?)
}

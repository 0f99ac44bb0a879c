//! Steps both workers through one chat each.

use super::atomic_write::{INSTRUCTION_BYTES_MAX, StepKind, written_address};
use super::chat_client::ChatClient;
use super::gateway::{TwoWorkerGateway, WorkerThread};
use super::stepped_thread::SteppedThread;
use super::symbols::Symbols;
use libc::user_regs_struct;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Chats of a connection before it is measured: more than the access log lines that the gateway keeps.
const WARM_UP_CHATS: usize = 1500;
/// Bounds of one chat.
const STEPS_MAX: usize = 20_000_000;
const CHAT_TIMEOUT: Duration = Duration::from_secs(400);
/// How long one instruction may take, if it waits.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a worker waits in vain before it counts as idle, once the caller has the whole response.
const IDLE: Duration = Duration::from_millis(200);

/// What a worker did for one chat.
pub struct ChatWrites {
    pub steps: usize,
    pub writes: Vec<AtomicWrite>,
}

/// An atomic write.
pub struct AtomicWrite {
    pub address: u64,
    /// The innermost function outside of Rust's libraries, and the innermost one of the gateway.
    pub function: String,
    /// The static that is written, or where else the address is.
    pub place: String,
}

/// The thread's open calls, outermost first.
#[derive(Default)]
struct CallStack(Vec<CallFrame>);

struct CallFrame {
    function: u64,
    /// The stack pointer at its first instruction, where the address to return to is.
    stack: u64,
}

/// What two workers did for a chat each.
///
/// # Errors
/// The gateway does not start, or the system does not allow to step its threads, or a bound is exceeded.
pub fn measure(programs: &Path) -> Result<[ChatWrites; 2], String> {
    let gateway = TwoWorkerGateway::start(programs)?;
    let mut clients = [gateway.connect()?, gateway.connect()?];
    warm_up(&mut clients)?;
    let [first, second] = &mut clients;
    let workers = [gateway.find_worker(first)?, gateway.find_worker(second)?];
    if workers[0] == workers[1] {
        return Err("both connections have one worker".into());
    }
    let symbols = Symbols::load(&gateway.program, gateway.process())?;
    let [first, second] = clients;
    Ok([
        step_through_chat(&gateway, &symbols, workers[0], first)?,
        step_through_chat(&gateway, &symbols, workers[1], second)?,
    ])
}

/// Sends chats on both connections at once: a worker has no connection to the provider of its own before another one uses
/// all that are idle.
fn warm_up(clients: &mut [ChatClient; 2]) -> Result<(), String> {
    thread::scope(|scope| {
        let threads = clients
            .each_mut()
            .map(|client| scope.spawn(|| (0..WARM_UP_CHATS).try_for_each(|_| client.chat())));
        threads.into_iter().try_for_each(|thread| {
            let warmed = thread.join();
            warmed.map_err(|_| "a caller failed")?
        })
    })
}

fn step_through_chat(
    gateway: &TwoWorkerGateway,
    symbols: &Symbols,
    worker: WorkerThread,
    mut client: ChatClient,
) -> Result<ChatWrites, String> {
    let has_response = AtomicBool::new(false);
    let (start, started) = mpsc::channel();
    let has_response = &has_response;
    thread::scope(|scope| {
        let chat = scope.spawn(move || {
            started.recv().map_err(|_| "the worker was not stopped")?;
            let result = client.chat();
            has_response.store(true, Ordering::Release);
            // The connection stays open: its end would be work of the worker.
            result.map(|()| client)
        });
        // A thread of its own, so that only that shares its processor with the worker.
        let steps = scope.spawn(move || {
            let stepped = SteppedThread::attach(gateway.process(), worker);
            let stepped = stepped.inspect(|_| start.send(()).expect("the caller waits"));
            drop(start);
            step_until_idle(stepped?, symbols, has_response)
        });
        let writes = steps.join().map_err(|_| "stepping failed")?;
        let chat = chat.join().map_err(|_| "the caller failed")?;
        writes.and_then(|writes| chat.map(|_| writes))
    })
}

/// Steps a worker that waits for work, until it does so again and the caller has its response.
fn step_until_idle(
    mut worker: SteppedThread,
    symbols: &Symbols,
    has_response: &AtomicBool,
) -> Result<ChatWrites, String> {
    let begun = Instant::now();
    let mut kinds = HashMap::new();
    let mut calls = CallStack::default();
    let mut writes = Vec::new();
    for steps in 0..STEPS_MAX {
        let registers = worker.registers()?;
        calls.end(registers.rsp);
        let kind = match kinds.get(&registers.rip) {
            Some(kind) => *kind,
            None => {
                let mut code = [0; INSTRUCTION_BYTES_MAX];
                let bytes = worker.read(registers.rip, &mut code)?;
                let kind = StepKind::decode(&code[..bytes], registers.rip);
                kinds.insert(registers.rip, kind);
                kind
            }
        };
        let mut idle_since = None;
        let is_idle = || {
            let is_waiting = has_response.load(Ordering::Acquire) && waits_for_events(&registers);
            is_waiting && idle_since.get_or_insert_with(Instant::now).elapsed() > IDLE
        };
        let is_done = match kind {
            StepKind::SystemCall => !worker.step(WAIT_TIMEOUT, is_idle)?,
            _ => !worker.step(WAIT_TIMEOUT, || false)?,
        };
        if is_done {
            return Ok(ChatWrites { steps, writes });
        }
        match kind {
            StepKind::AtomicWrite(instruction) => {
                let address = written_address(&instruction, &registers);
                let address = address.ok_or_else(|| format!("no address of {instruction:?}"))?;
                writes.push(AtomicWrite {
                    address,
                    function: calls.description(registers.rip, symbols),
                    place: symbols.place(address),
                });
            }
            StepKind::Call => calls.begin(&worker.registers()?),
            StepKind::SystemCall | StepKind::Other => {}
        }
        if begun.elapsed() > CHAT_TIMEOUT {
            return Err(format!("a chat took {steps} steps within {CHAT_TIMEOUT:?}"));
        }
    }
    Err(format!("a chat took more than {STEPS_MAX} steps"))
}

/// Whether a system call with these registers waits for events without an end, or until a timer.
fn waits_for_events(registers: &user_regs_struct) -> bool {
    let call = i64::try_from(registers.rax).unwrap_or_default();
    let waits = [libc::SYS_epoll_wait, libc::SYS_epoll_pwait];
    waits.contains(&call) && registers.r10 as i32 != 0
}

impl CallStack {
    fn begin(&mut self, registers: &user_regs_struct) {
        self.0.push(CallFrame {
            function: registers.rip,
            stack: registers.rsp,
        });
    }

    /// Removes the calls that have returned, by the stack pointer.
    fn end(&mut self, stack: u64) {
        while self.0.last().is_some_and(|call| call.stack < stack) {
            self.0.pop();
        }
    }

    fn description(&self, at: u64, symbols: &Symbols) -> String {
        let outer = self.0.iter().rev().map(|call| call.function);
        let names = || {
            let all = [at].into_iter().chain(outer.clone());
            all.filter_map(|at| symbols.function(at))
        };
        let inner = names().find(|name| !is_library_function(name));
        let own = names().find(|name| name.contains("headgate"));
        match (inner, own) {
            (Some(inner), Some(own)) if inner == own => inner.into(),
            (Some(inner), Some(own)) => format!("{inner} in {own}"),
            (Some(inner), None) => inner.into(),
            (None, _) => format!("{at:#x}"),
        }
    }
}

/// Whether a function is of Rust's own libraries, which say nothing of what is written.
fn is_library_function(name: &str) -> bool {
    let path = name.trim_start_matches(['<', '&', '*', '(']);
    let path = path.trim_start_matches("mut ").trim_start_matches("dyn ");
    [
        "core::",
        "alloc::",
        "std::",
        "parking_lot",
        "lock_api",
        "arc_swap",
    ]
    .iter()
    .any(|library| path.starts_with(library))
}

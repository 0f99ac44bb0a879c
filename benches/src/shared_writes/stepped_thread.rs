//! A thread of another process that is run one instruction at a time. All other threads of its process run on.

use super::gateway::WorkerThread;
use libc::{c_int, c_void, pid_t, user_regs_struct};
use std::fs::File;
use std::io;
use std::mem;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_micros(100);

/// A thread that is stopped between two instructions. It runs on when the value is dropped.
pub struct SteppedThread {
    thread: pid_t,
    memory: File,
    /// A signal for the thread that arrived with the last stop.
    signal: c_int,
    is_stopped: bool,
}

impl SteppedThread {
    /// Stops a thread of `process`, a child of this one. Only the calling thread may use the value.
    ///
    /// # Errors
    /// The system does not allow it, or the thread has ended.
    pub fn attach(process: pid_t, WorkerThread(thread): WorkerThread) -> Result<Self, String> {
        let memory = format!("/proc/{process}/mem");
        let memory = File::open(&memory).map_err(|error| format!("{memory}: {error}"))?;
        share_processor(thread)?;
        request(libc::PTRACE_SEIZE, thread, 0)?;
        let mut stepped = Self {
            thread,
            memory,
            signal: 0,
            is_stopped: false,
        };
        request(libc::PTRACE_INTERRUPT, thread, 0)?;
        match stepped.wait(STOP_TIMEOUT, || false)? {
            true => Ok(stepped),
            false => Err("the worker does not stop".into()),
        }
    }

    /// The registers of the thread.
    ///
    /// # Errors
    /// The thread has ended.
    pub fn registers(&self) -> Result<user_regs_struct, String> {
        // SAFETY: registers are numbers, and the system writes no more than them.
        unsafe {
            let mut registers: user_regs_struct = mem::zeroed();
            let into = ptr::from_mut(&mut registers).cast::<c_void>();
            let result = libc::ptrace(
                libc::PTRACE_GETREGS,
                self.thread,
                ptr::null_mut::<c_void>(),
                into,
            );
            checked(result)?;
            Ok(registers)
        }
    }

    /// Reads memory of the process into `code`; returns how much of it there is.
    ///
    /// # Errors
    /// There is no memory at this address.
    pub fn read(&self, at: u64, code: &mut [u8]) -> Result<usize, String> {
        let read = self.memory.read_at(code, at);
        read.map_err(|error| format!("no code at {at:#x}: {error}"))
    }

    /// Runs one instruction, which may be a system call that waits; returns `false` if `gives_up` is true before it is done.
    ///
    /// # Errors
    /// The thread has ended, or the instruction takes longer than `timeout`.
    pub fn step(
        &mut self,
        timeout: Duration,
        gives_up: impl FnMut() -> bool,
    ) -> Result<bool, String> {
        let signal = mem::take(&mut self.signal);
        request(libc::PTRACE_SINGLESTEP, self.thread, signal)?;
        self.is_stopped = false;
        self.wait(timeout, gives_up)
    }

    /// Waits until the thread has stopped.
    fn wait(
        &mut self,
        timeout: Duration,
        mut gives_up: impl FnMut() -> bool,
    ) -> Result<bool, String> {
        let begun = Instant::now();
        let mut looks = 0_u64;
        loop {
            let mut status = 0;
            // SAFETY: the status is a number of this function.
            let stopped =
                unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL | libc::WNOHANG) };
            checked(stopped.into())?;
            if stopped == self.thread {
                return self.note_stop(status).map(|()| true);
            }
            if gives_up() {
                return Ok(false);
            }
            if begun.elapsed() > timeout {
                return Err(format!("the worker did nothing for {timeout:?}"));
            }
            looks += 1;
            // Nearly all instructions are done as soon as the thread gets the processor.
            match looks < 64 {
                true => thread::yield_now(),
                false => thread::sleep(LOOK),
            }
        }
    }

    fn note_stop(&mut self, status: c_int) -> Result<(), String> {
        if !libc::WIFSTOPPED(status) {
            return Err("the worker ended".into());
        }
        self.is_stopped = true;
        let is_event = status >> 16 != 0;
        let signal = libc::WSTOPSIG(status);
        self.signal = match is_event || signal == libc::SIGTRAP {
            true => 0,
            false => signal,
        };
        Ok(())
    }
}

impl Drop for SteppedThread {
    fn drop(&mut self) {
        if !self.is_stopped {
            let _ = request(libc::PTRACE_INTERRUPT, self.thread, 0);
            let _ = self.wait(STOP_TIMEOUT, || false);
            // Takes the signal of the step that was interrupted, which would end the process.
            let _ = self.step(STOP_TIMEOUT, || false);
        }
        let _ = request(libc::PTRACE_DETACH, self.thread, self.signal);
        let all = (0..libc::CPU_SETSIZE as usize).collect::<Vec<_>>();
        let _ = pin(self.thread, &all);
    }
}

/// Lets the thread share one processor with the calling one: a step then takes a third of the time.
fn share_processor(thread: pid_t) -> Result<(), String> {
    // SAFETY: the call has no arguments.
    let own = unsafe { libc::sched_getcpu() };
    let own = usize::try_from(own).map_err(|_| io::Error::last_os_error().to_string())?;
    pin(0, &[own])?;
    pin(thread, &[own])
}

fn pin(thread: pid_t, processors: &[usize]) -> Result<(), String> {
    // SAFETY: the set is a value of this function, and no processor is beyond its size.
    let result = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        for processor in processors {
            libc::CPU_SET(*processor, &mut set);
        }
        libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &set)
    };
    checked(result.into())
}

/// A request about a stopped thread, which takes a number at most.
fn request(kind: libc::c_uint, thread: pid_t, data: c_int) -> Result<(), String> {
    // SAFETY: none of the requests without registers reads or writes memory of this process.
    let result = unsafe {
        libc::ptrace(
            kind,
            thread,
            ptr::null_mut::<c_void>(),
            ptr::without_provenance_mut::<c_void>(data as usize),
        )
    };
    checked(result)
}

fn checked(result: i64) -> Result<(), String> {
    if result >= 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ESRCH) => Err("the worker ended, or runs (ESRCH)".into()),
        _ => Err(format!("a worker cannot be single-stepped: {error}")),
    }
}

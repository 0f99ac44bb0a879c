//! A measured program: its start on its processors, and what its processes use.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

/// The unit of times in `/proc/PID/stat`, the same on all of Linux's usual platforms.
const TICKS_PER_SECOND: f64 = 100.0;

/// A program that listens; it ends when the value is dropped.
pub struct PinnedProgram {
    child: Child,
    pub address: SocketAddr,
}

impl PinnedProgram {
    /// Starts a program, and returns once it listens on `address`.
    pub fn start(
        command: &mut Command,
        address: SocketAddr,
        cpus: &'static [usize],
        stdout: Stdio,
    ) -> Self {
        // SAFETY: the closure only makes system calls that are allowed between fork and exec.
        unsafe {
            command.pre_exec(move || {
                pin(0, cpus);
                // A failed check aborts this process without dropping anything.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            })
        };
        let mut child = command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the programs are built: run this through `make bench`");
        let errors = child.stderr.take().expect("it was piped");
        thread::spawn(move || {
            let lines = BufReader::new(errors).lines().map_while(Result::ok);
            lines
                .filter(|line| line.contains("ERROR") || line.contains("[emerg]"))
                .for_each(|line| eprintln!("{line}"));
        });
        // Dropping it ends the process, also if it does not listen in time.
        let program = Self { child, address };
        for _ in 0..200 {
            if TcpStream::connect(address).is_ok() {
                return program;
            }
            thread::sleep(Duration::from_millis(25));
        }
        panic!("nothing listens on {address}");
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The processor time in seconds that all threads of all processes have used.
    pub fn cpu_seconds(&self) -> f64 {
        let nanoseconds: u64 = self
            .process_ids()
            .iter()
            .flat_map(|id| fs::read_dir(format!("/proc/{id}/task")).expect("it has tasks"))
            .filter_map(|task| fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
            .filter_map(|line| line.split(' ').next()?.parse::<u64>().ok())
            .sum();
        nanoseconds as f64 / 1e9
    }

    /// User time and system time of all processes since their start, in seconds, in steps of 10 ms.
    pub fn user_and_system_seconds(&self) -> [f64; 2] {
        let mut ticks = [0.0; 2];
        for id in self.process_ids() {
            let path = format!("/proc/{id}/stat");
            let line = fs::read_to_string(path).expect("a running program has a status");
            // The fields after the name, which may contain spaces (proc_pid_stat(5)).
            let (_, fields) = line.rsplit_once(')').expect("the name is in parentheses");
            let fields: Vec<&str> = fields.split_whitespace().collect();
            for (sum, field) in ticks.iter_mut().zip([11, 12]) {
                *sum += fields[field].parse::<f64>().unwrap_or(f64::NAN);
            }
        }
        ticks.map(|ticks| ticks / TICKS_PER_SECOND)
    }

    /// The resident memory of all processes in KiB.
    pub fn resident_kib(&self) -> f64 {
        self.memory_kib("Rss:")
    }

    /// The memory in KiB that no other process shares, and how much of it is not merely pages of files.
    pub fn private_kib(&self) -> [f64; 2] {
        let dirty = self.memory_kib("Private_Dirty:");
        [dirty + self.memory_kib("Private_Clean:"), dirty]
    }

    fn memory_kib(&self, field: &str) -> f64 {
        let memory = self.process_ids().into_iter().map(|id| {
            let path = format!("/proc/{id}/smaps_rollup");
            let memory = fs::read_to_string(path).expect("its memory is shown to its parent");
            let mut lines = memory.lines();
            let kib = lines.find_map(|line| {
                line.strip_prefix(field)?
                    .split_whitespace()
                    .next()?
                    .parse::<f64>()
                    .ok()
            });
            kib.unwrap_or(f64::NAN)
        });
        memory.sum()
    }

    /// The process that was started, and its children.
    fn process_ids(&self) -> Vec<u32> {
        let id = self.child.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap_or_default();
        let children = children.split_whitespace().filter_map(|id| id.parse().ok());
        [id].into_iter().chain(children).collect()
    }
}

impl Drop for PinnedProgram {
    fn drop(&mut self) {
        // The parent first, which would replace a child that ends.
        for id in self.process_ids() {
            // SAFETY: the call takes two numbers; the processes are children that were not waited for yet.
            unsafe { libc::kill(id as libc::pid_t, libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}

/// Lets a process, or this one if it is 0, run on these processors only.
pub fn pin(process: u32, cpus: &[usize]) {
    // SAFETY: an empty set is a valid one, and both calls only read and write it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|cpu| libc::CPU_SET(*cpu, &mut set));
        libc::sched_setaffinity(process as libc::pid_t, size_of::<libc::cpu_set_t>(), &set);
    }
}

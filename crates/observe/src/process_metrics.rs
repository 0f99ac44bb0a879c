//! Metrics of the process and its build, with the names that Prometheus client libraries use.

use headgate_core::feature::metrics::registered;
use prometheus::{Counter, Gauge, GaugeVec, IntGauge, Opts, Registry};
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Metrics of the process. A metric is absent if the system does not provide its value, as outside Linux.
pub struct ProcessMetrics {
    cpu: Counter,
    resident: Option<IntGauge>,
    virtual_memory: Option<IntGauge>,
    threads: Option<IntGauge>,
    open_files: Option<IntGauge>,
}

impl ProcessMetrics {
    /// Call when the process starts.
    pub fn new(registry: &Registry) -> Self {
        let gauge = |name: &str, help: &str, is_known: bool| {
            is_known.then(|| registered(registry, IntGauge::new(name, help)))
        };
        let started = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let start_time = Gauge::new(
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
        );
        registered(registry, start_time).set(started.as_secs_f64());
        let max_files = max_files();
        let max_files_gauge = gauge(
            "process_max_fds",
            "Maximum number of open file descriptors.",
            max_files.is_some(),
        );
        if let (Some(gauge), Some(most)) = (max_files_gauge, max_files) {
            gauge.set(most);
        }
        let build = GaugeVec::new(
            Opts::new(
                "headgate_build_info",
                "1, labelled with the version, operating system and architecture of the build.",
            ),
            &["version", "os", "arch"],
        );
        registered(registry, build)
            .with_label_values(&[
                env!("CARGO_PKG_VERSION"),
                std::env::consts::OS,
                std::env::consts::ARCH,
            ])
            .set(1.0);
        let status = ProcStatus::read();
        Self {
            cpu: registered(
                registry,
                Counter::new(
                    "process_cpu_seconds_total",
                    "Total user and system CPU time spent in seconds.",
                ),
            ),
            resident: gauge(
                "process_resident_memory_bytes",
                "Resident memory size in bytes.",
                status.is_some(),
            ),
            virtual_memory: gauge(
                "process_virtual_memory_bytes",
                "Virtual memory size in bytes.",
                status.is_some(),
            ),
            threads: gauge(
                "process_threads",
                "Number of OS threads in the process.",
                status.is_some(),
            ),
            open_files: gauge(
                "process_open_fds",
                "Number of open file descriptors.",
                open_files().is_some(),
            ),
        }
    }

    /// Sets the metrics to the system's current values.
    pub fn update(&self) {
        let cpu = cpu_time().as_secs_f64();
        self.cpu.inc_by((cpu - self.cpu.get()).max(0.0));
        let set = |gauge: &Option<IntGauge>, value: Option<i64>| {
            if let (Some(gauge), Some(value)) = (gauge, value) {
                gauge.set(value);
            }
        };
        let status = ProcStatus::read();
        let of = |key: fn(&ProcStatus) -> i64| status.as_ref().map(key);
        set(&self.resident, of(|status| status.resident_bytes));
        set(&self.virtual_memory, of(|status| status.virtual_bytes));
        set(&self.threads, of(|status| status.threads));
        set(&self.open_files, open_files());
    }
}

/// The file descriptors of the process.
#[derive(Clone, Copy, Debug)]
pub struct FileDescriptorUsage {
    pub open: u64,
    /// The most that the process may open.
    pub max: u64,
}

impl FileDescriptorUsage {
    /// `None` if the system does not provide the numbers, as outside Linux.
    pub fn read() -> Option<Self> {
        let [open, max] = [open_files()?, max_files()?].map(u64::try_from);
        Some(Self {
            open: open.ok()?,
            max: max.ok()?,
        })
    }
}

/// Values from `/proc/self/status`.
struct ProcStatus {
    resident_bytes: i64,
    virtual_bytes: i64,
    threads: i64,
}

impl ProcStatus {
    fn read() -> Option<Self> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let number = |key: &str| -> Option<i64> {
            let value = status.lines().find_map(|line| line.strip_prefix(key))?;
            value.split_whitespace().next()?.parse().ok()
        };
        Some(Self {
            resident_bytes: number("VmRSS:")? << 10,
            virtual_bytes: number("VmSize:")? << 10,
            threads: number("Threads:")?,
        })
    }
}

/// Number of open file descriptors, without the one that reads the list.
fn open_files() -> Option<i64> {
    let files = fs::read_dir("/proc/self/fd").ok()?;
    i64::try_from(files.count().saturating_sub(1)).ok()
}

fn max_files() -> Option<i64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// User and system CPU time of all threads.
fn cpu_time() -> Duration {
    // SAFETY: the fields are plain numbers, for which zero is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for the whole call.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) } != 0 {
        return Duration::ZERO;
    }
    let duration = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let micros = u64::try_from(time.tv_usec).unwrap_or_default();
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    };
    duration(usage.ru_utime) + duration(usage.ru_stime)
}

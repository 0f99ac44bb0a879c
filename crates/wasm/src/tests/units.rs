//! Parts without a plugin: the breaker, the budget of the log, names of functions.

use std::time::{Duration, Instant};

use crate::abi::{ENV_FUNCTIONS, HIGRESS_FUNCTIONS, WASI_FUNCTIONS};
use crate::log_budget::LogBudget;
use crate::trap_breaker::{TRAPS_MAX, TrapBreaker};

#[test]
fn five_traps_in_a_minute_disable_a_plugin_and_for_longer_each_time() {
    let start = Instant::now();
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    let mut breaker = TrapBreaker::default();
    for second in 0..4 {
        breaker.trapped(at(second));
    }
    assert_eq!(breaker.disabled_for(at(4)), None);
    breaker.trapped(at(10));
    assert_eq!(breaker.disabled_for(at(10)), Some(Duration::from_secs(1)));
    // Streams that had begun before do not make it longer.
    breaker.trapped(at(10));
    assert_eq!(breaker.disabled_for(at(10)), Some(Duration::from_secs(1)));
    assert_eq!(breaker.disabled_for(at(11)), None);
    let mut now = 11;
    for pause in [2, 4, 8, 16, 32, 60, 60] {
        for _ in 0..TRAPS_MAX {
            breaker.trapped(at(now));
        }
        assert_eq!(
            breaker.disabled_for(at(now)),
            Some(Duration::from_secs(pause))
        );
        now += pause;
    }
    // A minute later it begins again.
    now += 60;
    breaker.trapped(at(now));
    assert_eq!(breaker.disabled_for(at(now)), None);
    for _ in 1..TRAPS_MAX {
        breaker.trapped(at(now));
    }
    assert_eq!(breaker.disabled_for(at(now)), Some(Duration::from_secs(1)));
}

#[test]
fn traps_that_are_rare_disable_nothing() {
    let start = Instant::now();
    let mut breaker = TrapBreaker::default();
    for trap in 0..100 {
        let now = start + Duration::from_secs(trap * 15);
        breaker.trapped(now);
        assert_eq!(breaker.disabled_for(now), None);
    }
}

#[test]
fn a_start_that_fails_disables_the_plugin_at_once() {
    let now = Instant::now();
    let mut breaker = TrapBreaker::default();
    breaker.start_failed(now);
    assert_eq!(breaker.disabled_for(now), Some(Duration::from_secs(1)));
    let later = now + Duration::from_secs(1);
    breaker.start_failed(later);
    assert_eq!(breaker.disabled_for(later), Some(Duration::from_secs(2)));
}

#[test]
fn the_log_has_the_bytes_of_a_second_and_gets_more_with_time() {
    let start = Instant::now();
    let mut budget = LogBudget::new(200, start);
    assert_eq!(budget.admit(36, start), Some(0));
    assert_eq!(budget.admit(36, start), Some(0));
    assert_eq!(budget.admit(36, start), None);
    assert_eq!(budget.admit(0, start), None);
    let later = start + Duration::from_millis(500);
    assert_eq!(budget.admit(36, later), Some(2));
    assert_eq!(budget.admit(36, later), None);
    let much_later = start + Duration::from_secs(100);
    assert_eq!(budget.admit(36, much_later), Some(1));
    assert_eq!(budget.admit(36, much_later), Some(0));
    assert_eq!(budget.admit(36, much_later), None);
    // No line at all fits.
    assert_eq!(LogBudget::new(10, start).admit(0, much_later), None);
}

#[test]
fn the_lists_of_functions_are_sorted_and_complete() {
    assert_eq!(ENV_FUNCTIONS.len(), 39);
    assert!(ENV_FUNCTIONS.is_sorted());
    assert!(WASI_FUNCTIONS.is_sorted_by_key(|function| function.0));
}

#[test]
fn every_listed_function_can_be_imported() {
    let names = ENV_FUNCTIONS.iter().chain(&HIGRESS_FUNCTIONS);
    let names = names.map(|name| ("env", *name));
    let wasi = WASI_FUNCTIONS
        .iter()
        .map(|f| ("wasi_snapshot_preview1", f.0));
    for (module, name) in names.chain(wasi) {
        // The type is wrong for all: an unknown import would be another error.
        let text = super::fixture::wat("").replacen(
            "(module",
            &format!("(module (import \"{module}\" \"{name}\" (func (param f32)))"),
            1,
        );
        let bytes = wat::parse_str(text).unwrap();
        let settings = crate::PluginModuleSettings::default();
        let host = &super::fixture::HOST;
        let error = crate::PluginModule::from_bytes(host, &bytes, &settings).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("incompatible import type"),
            "{module}.{name}: {error}"
        );
    }
}

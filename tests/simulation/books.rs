//! What gateways have reserved of limits and budgets, and what they have settled, counted beside the store itself.

use headgate_core::state::admission::{AdmissionLimit, AdmissionTicket, LimitKind};
use headgate_core::state::clock::ClockReading;
use headgate_core::state::lock::lock;
use headgate_core::state::money::MoneyReservation;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The reservations of all gateways of a schedule.
#[derive(Default)]
pub struct Books(Mutex<BookPages>);

#[derive(Default)]
struct BookPages {
    grants: BTreeMap<u64, Grant>,
    money: BTreeMap<Arc<str>, MoneyEntry>,
}

/// A granted admission, and how often each of its limits was settled.
struct Grant {
    life: usize,
    limits: Vec<(AdmissionLimit, u32)>,
    tokens: u64,
    taken_at: ClockReading,
}

/// A reservation of money, and what it was settled on first.
#[derive(Clone)]
pub struct MoneyEntry {
    pub life: usize,
    pub reserved: MoneyReservation,
    pub settled: Option<u64>,
}

impl Books {
    /// Notes an admission; returns its number.
    pub fn grant(&self, life: usize, ticket: &AdmissionTicket) -> u64 {
        let mut pages = lock(&self.0);
        let number = pages.grants.len() as u64 + 1;
        let limits = ticket.limits.iter().map(|limit| (limit.clone(), 0));
        let grant = Grant {
            life,
            limits: limits.collect(),
            tokens: ticket.tokens,
            taken_at: ticket.taken_at,
        };
        pages.grants.insert(number, grant);
        number
    }

    pub fn settle(&self, ticket: &AdmissionTicket) {
        let mut pages = lock(&self.0);
        let grant = pages.grants.get_mut(&ticket.lease);
        let grant = grant.expect("only granted admissions are settled");
        for (limit, settled) in &mut grant.limits {
            *settled += u32::from(ticket.limits.contains(limit));
        }
    }

    pub fn reserve(&self, life: usize, reserved: &MoneyReservation) {
        let entry = MoneyEntry {
            life,
            reserved: reserved.clone(),
            settled: None,
        };
        lock(&self.0).money.insert(reserved.id.clone(), entry);
    }

    pub fn settle_money(&self, reserved: &MoneyReservation, cost: u64) {
        if let Some(entry) = lock(&self.0).money.get_mut(&reserved.id) {
            entry.settled.get_or_insert(cost);
        }
    }

    /// The places of `concurrent` limits that a gateway has not settled.
    pub fn open_places(&self, life: usize) -> Vec<AdmissionTicket> {
        let pages = lock(&self.0);
        let grants = pages.grants.iter().filter(|(_, grant)| grant.life == life);
        let open = grants.filter_map(|(number, grant)| {
            let is_open = |(limit, settled): &&(AdmissionLimit, u32)| {
                limit.measure() == LimitKind::Concurrent && *settled == 0
            };
            let limits = grant.limits.iter().filter(is_open);
            let limits: Vec<_> = limits.map(|(limit, _)| limit.clone()).collect();
            (!limits.is_empty()).then_some(AdmissionTicket {
                limits,
                tokens: grant.tokens,
                taken_at: grant.taken_at,
                lease: *number,
            })
        });
        open.collect()
    }

    /// The limits that a gateway, which was not killed, has not settled exactly once.
    pub fn unbalanced(&self, life: usize) -> Vec<String> {
        let pages = lock(&self.0);
        let grants = pages.grants.iter().filter(|(_, grant)| grant.life == life);
        let unbalanced = grants.flat_map(|(number, grant)| {
            let wrong = grant.limits.iter().filter(|(_, settled)| *settled != 1);
            wrong.map(move |(limit, settled)| {
                let (caller, kind) = (limit.counter.caller(), limit.measure());
                format!("admission {number}: {kind:?} of {caller} was settled {settled} times")
            })
        });
        unbalanced.collect()
    }

    /// All reservations of money.
    pub fn money(&self) -> Vec<MoneyEntry> {
        lock(&self.0).money.values().cloned().collect()
    }
}

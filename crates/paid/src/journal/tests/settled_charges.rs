//! Tests of what a settlement changes of a create's charge: usage has it only if the exchange has ended.

use super::*;
use headgate_core::state::money::MoneyReservation;

const RESERVED: u64 = 700;

async fn leave_reserved(setup: &JournalSetup, state: CreateState) {
    let mut record = CreateRecord::new(&create("req_gone"), None);
    record.state = state;
    record.money = Some(MoneyReservation {
        id: "7-1".into(),
        counters: Vec::new(),
        amount: RESERVED,
        taken_ms: 1_700_000_000_000,
        run: None,
    });
    let content = RecordContent {
        value: record.encode(),
        owner: "ann".into(),
        expires_ms: u64::MAX,
        due_ms: None,
    };
    let records = setup.store.records();
    let kind = RecordKind::PaidCreate;
    records.insert(kind, "key", content, 9).get().await.unwrap();
}

#[tokio::test]
async fn a_settlement_changes_the_charge_of_a_create_by_what_its_exchange_was_not_charged() {
    use OperatorVerdict::{Made, NotMade};
    let ended = CreateState::OutcomeUnknown {
        channel: "a".into(),
        upstream_request_id: None,
    };
    let died = CreateState::Sending {
        channel: "a".into(),
        lease_ms: 1,
    };
    for (state, verdict, added, refunded) in [
        (&ended, Made, 0, 0),
        (&ended, NotMade, 0, RESERVED),
        (&died, Made, RESERVED, 0),
        (&died, NotMade, 0, 0),
    ] {
        let setup = JournalSetup::on(Arc::new(MemoryStore::default()));
        leave_reserved(&setup, state.clone()).await;
        let settled = settle(&*setup.store, "req_gone", verdict).await.unwrap();
        let SettleResult::Settled { charges, .. } = settled else {
            panic!("{state:?}: {settled:?}");
        };
        let [charge] = &charges[..] else {
            panic!("{state:?}: {charges:?}");
        };
        let amounts = (charge.added, charge.refunded);
        assert_eq!(amounts, (added, refunded), "{state:?} {verdict:?}");
        let of = (&*charge.caller, &*charge.channel, charge.admitted_ms);
        assert_eq!(of, ("ann", "a", 1_700_000_000_000));
    }
}

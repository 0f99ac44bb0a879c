//! Tests of cancels of the built-in families of vendors, in each status of a task.

use super::vendors::{configuration, create};
use crate::harness::vendors::{VendorCancels, vendors};
use crate::harness::video::{GENERIC, ask, cancel, count, id_of};
use crate::harness::{Gateway, Simulator};

#[tokio::test]
async fn a_task_is_cancelled_in_the_states_in_which_its_vendor_can() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator)).await;
    for vendor in vendors() {
        for (scenario, can_be_cancelled) in [
            ("queued", vendor.cancels != VendorCancels::Never),
            ("running", vendor.cancels == VendorCancels::QueuedAndRunning),
            ("done", false),
            ("failed", false),
        ] {
            let created = create(&gateway, &vendor, scenario).await;
            let id = id_of(GENERIC, &created);
            let before = count(&simulator, "cancel").await;
            let cancelled = cancel(&gateway, GENERIC, &id).await;
            let sent = count(&simulator, "cancel").await - before;
            let (name, text) = (vendor.family, cancelled.text());
            let shown = format!("{name} {scenario}: {text}");
            if can_be_cancelled {
                assert_eq!(cancelled.json()["status"], "cancelled", "{shown}");
                assert_eq!(sent, 1, "{shown}");
                let status = ask(&gateway, GENERIC, &id).await;
                assert_eq!(status.json()["status"], "cancelled", "{shown}");
            } else {
                assert_eq!(cancelled.status, 409, "{shown}");
                // A request would delete the record of a task that has ended.
                assert_eq!(sent, 0, "{shown}");
                let status = ask(&gateway, GENERIC, &id).await;
                assert_ne!(status.json()["status"], "cancelled", "{shown}");
            }
        }
    }
}

#[tokio::test]
async fn a_cancelled_task_is_cancelled_for_every_gateway() {
    let simulator = Simulator::start().await;
    let config = configuration(&simulator);
    let gateway = Gateway::start(&config).await;
    let another = Gateway::start(&config).await;
    for vendor in vendors() {
        if vendor.cancels == VendorCancels::Never {
            continue;
        }
        let created = create(&gateway, &vendor, "queued").await;
        let id = id_of(GENERIC, &created);
        cancel(&gateway, GENERIC, &id).await;
        let status = ask(&another, GENERIC, &id).await;
        let (name, text) = (vendor.family, status.text());
        assert_eq!(status.json()["status"], "cancelled", "{name}: {text}");
    }
}

//! What a video task costs: reserved when its create is accepted, settled by what its provider reports when it has ended.

use headgate_core::catalog::price::{Cost, NANOS, VideoTaskPrice};
use headgate_core::state::money::MoneyReservation;
use headgate_core::task::family::TaskCharge;
use headgate_core::task::state::TaskState;
use serde::{Deserialize, Serialize};

/// The cost of a task whose end is not known yet, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCostReservation {
    /// The caller's id of the task.
    pub task_id: String,
    pub channel: String,
    /// The model as the caller named it.
    pub model: String,
    pub currency: String,
    #[serde(flatten)]
    pub price: VideoTaskPrice,
    /// What the create has reserved of its caller's budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<MoneyReservation>,
    /// What it has reserved of its channel's budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_money: Option<MoneyReservation>,
    /// The name of the caller in metrics, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller_label: Option<String>,
}

impl TaskCostReservation {
    /// The cost of the task by its charge: that of the credits, else that of the billed seconds. Without either, a task
    /// costs what was reserved if it has succeeded or may have run before it was cancelled, and otherwise nothing.
    pub fn settled(&self, charge: &TaskCharge) -> Cost {
        let VideoTaskPrice {
            reserved,
            credit,
            second,
        } = self.price;
        if let Some((price, credits)) = credit.zip(charge.credits) {
            let product = u128::from(price) * u128::from(credits);
            return Cost::from_nanos((product + u128::from(NANOS / 2)) / u128::from(NANOS));
        }
        match charge.state {
            TaskState::Succeeded => match second.zip(charge.billed_seconds) {
                Some((price, seconds)) => Cost::from_nanos(u128::from(price) * u128::from(seconds)),
                None => Cost(reserved),
            },
            TaskState::Cancelled if charge.may_bill_cancelled => Cost(reserved),
            TaskState::Failed | TaskState::Cancelled | TaskState::Expired => Cost(0),
            TaskState::Queued | TaskState::Running => Cost(reserved),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reservation(credit: Option<u64>, second: Option<u64>) -> TaskCostReservation {
        TaskCostReservation {
            task_id: "task_x".into(),
            channel: "a".into(),
            model: "demo-video".into(),
            currency: "USD".into(),
            price: VideoTaskPrice {
                reserved: 500,
                credit,
                second,
            },
            money: None,
            channel_money: None,
            caller_label: None,
        }
    }

    #[test]
    fn a_task_costs_what_its_provider_reports_and_else_what_its_state_leaves() {
        use TaskState::{Cancelled, Expired, Failed, Succeeded};
        let (half, two_credits) = (Some(NANOS / 2), Some(2 * NANOS));
        for (credit, second, state, credits, seconds, bills_cancelled, expected) in [
            // By credits, whatever became of the task.
            (
                Some(7),
                Some(100),
                Succeeded,
                two_credits,
                Some(9),
                true,
                14,
            ),
            (Some(7), None, Failed, two_credits, None, true, 14),
            (Some(7), None, Failed, Some(0), None, true, 0),
            (Some(7), None, Cancelled, half, None, true, 4),
            // By the seconds that were billed.
            (None, Some(100), Succeeded, two_credits, Some(9), true, 900),
            (Some(7), Some(100), Succeeded, None, Some(4), true, 400),
            // Without a report.
            (Some(7), Some(100), Succeeded, None, None, true, 500),
            (None, None, Succeeded, None, Some(4), true, 500),
            (Some(7), Some(100), Failed, None, Some(4), true, 0),
            (Some(7), Some(100), Expired, None, None, true, 0),
            (Some(7), Some(100), Cancelled, None, None, false, 0),
            (Some(7), Some(100), Cancelled, None, None, true, 500),
        ] {
            let charge = TaskCharge {
                state,
                credits,
                billed_seconds: seconds,
                may_bill_cancelled: bills_cancelled,
            };
            let settled = reservation(credit, second).settled(&charge);
            assert_eq!(settled, Cost(expected), "{charge:?} {credit:?} {second:?}");
        }
    }

    #[test]
    fn a_reservation_is_read_as_it_was_stored() {
        let stored = reservation(Some(7), None);
        let text = serde_json::to_string(&stored).unwrap();
        let expected = r#"{"task_id":"task_x","channel":"a","model":"demo-video","currency":"USD","reserved":500,"credit":7,"second":null}"#;
        assert_eq!(text, expected);
        assert_eq!(
            serde_json::from_str::<TaskCostReservation>(&text).unwrap(),
            stored
        );
    }
}

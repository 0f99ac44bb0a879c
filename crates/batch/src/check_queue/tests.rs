//! Tests of the queue: how many checks run and wait, and what becomes of those whose callers leave.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Checks that run until the test lets them end.
#[derive(Default)]
struct Checks {
    running: AtomicUsize,
    most: AtomicUsize,
    started: Notify,
}

type Running = (JoinHandle<Result<(), Fault>>, mpsc::Sender<()>);

impl Checks {
    fn start(self: &Arc<Self>, queue: &Arc<CheckQueue>) -> Running {
        self.start_by(None, queue)
    }

    fn start_by(self: &Arc<Self>, caller: Option<&str>, queue: &Arc<CheckQueue>) -> Running {
        let caller: Option<Arc<str>> = caller.map(Arc::from);
        let (end, until) = mpsc::channel();
        let (checks, queue) = (self.clone(), queue.clone());
        let run = async move {
            let check = move |_: &CheckAudience| {
                let running = checks.running.fetch_add(1, Ordering::SeqCst) + 1;
                checks.most.fetch_max(running, Ordering::SeqCst);
                checks.started.notify_one();
                let _ = until.recv();
                checks.running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            };
            queue.run(caller.as_ref(), check).await
        };
        (tokio::spawn(run), end)
    }
}

#[tokio::test]
async fn few_checks_run_some_wait_and_the_others_are_refused() {
    let queue = Arc::new(CheckQueue::new(2, 3));
    let checks = Arc::new(Checks::default());
    let mut all: Vec<Running> = Vec::new();
    for _ in 0..5 {
        all.push(checks.start(&queue));
        tokio::task::yield_now().await;
    }
    let refused = queue.run(None, |_| Ok(())).await.unwrap_err();
    assert_eq!(refused.kind, FaultKind::Overloaded);
    assert_eq!(refused.retry_after, Some(RETRY_AFTER));
    while checks.running.load(Ordering::SeqCst) < 2 {
        checks.started.notified().await;
    }
    for (check, end) in all {
        drop(end);
        check.await.unwrap().unwrap();
    }
    assert_eq!(checks.most.load(Ordering::SeqCst), 2);
    queue.run(None, |_| Ok(())).await.unwrap();
}

#[tokio::test]
async fn a_caller_who_leaves_frees_its_place() {
    let queue = Arc::new(CheckQueue::new(1, 1));
    let checks = Arc::new(Checks::default());
    let (first, end_first) = checks.start(&queue);
    checks.started.notified().await;
    for _ in 0..3 {
        let (waiting, _end) = checks.start(&queue);
        tokio::task::yield_now().await;
        assert!(queue.run(None, |_| Ok(())).await.is_err());
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
    }
    // A check that runs has its turn until it ends, although its caller is gone.
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let (second, end_second) = checks.start(&queue);
    tokio::task::yield_now().await;
    assert_eq!(checks.most.load(Ordering::SeqCst), 1);
    drop((end_first, end_second));
    second.await.unwrap().unwrap();
    assert_eq!(checks.most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_check_ends_when_its_caller_has_left() {
    let queue = Arc::new(CheckQueue::new(1, 0));
    let (began, begins) = mpsc::channel();
    let running = {
        let queue = queue.clone();
        let check = move |audience: &CheckAudience| {
            began.send(()).unwrap();
            while audience.stay().is_ok() {
                std::thread::yield_now();
            }
            Ok(())
        };
        tokio::spawn(async move { queue.run(None, check).await })
    };
    tokio::task::yield_now().await;
    tokio::task::spawn_blocking(move || begins.recv())
        .await
        .unwrap()
        .unwrap();
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    // It ends, and leaves its place to another one.
    let _turn = queue.turns.acquire().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_check_that_gets_no_turn_in_time_is_refused() {
    let queue = Arc::new(CheckQueue::new(1, 1));
    let _turn = queue.turns.acquire().await.unwrap();
    let refused = queue.run(None, |_| Ok(())).await.unwrap_err();
    assert_eq!(refused.kind, FaultKind::Overloaded);
}

#[tokio::test]
async fn a_caller_gets_half_of_the_turns_and_of_the_places_to_wait() {
    for (running_max, waiting_max, share) in [(4, 4, 4), (1, 4, 3), (3, 3, 4), (1, 1, 2), (2, 0, 1)]
    {
        let queue = Arc::new(CheckQueue::new(running_max, waiting_max));
        let checks = Arc::new(Checks::default());
        let mut all: Vec<Running> = Vec::new();
        for _ in 0..share {
            all.push(checks.start_by(Some("ann"), &queue));
            tokio::task::yield_now().await;
        }
        let ann = Arc::from("ann");
        let refused = queue.run(Some(&ann), |_| Ok(())).await.unwrap_err();
        assert_eq!(refused.kind, FaultKind::Overloaded);
        // The others have the rest.
        for _ in share..running_max + waiting_max {
            all.push(checks.start_by(Some("bob"), &queue));
            tokio::task::yield_now().await;
        }
        let (running, ends): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        drop(ends);
        for check in running {
            check.await.unwrap().unwrap();
        }
        queue.run(Some(&ann), |_| Ok(())).await.unwrap();
    }
}

#[tokio::test]
async fn checks_of_one_caller_wait_behind_the_first_one_of_another() {
    let queue = Arc::new(CheckQueue::new(1, 6));
    let checks = Arc::new(Checks::default());
    let (running, end) = checks.start_by(Some("ann"), &queue);
    checks.started.notified().await;
    let waiting = [(); 2].map(|()| checks.start_by(Some("ann"), &queue));
    tokio::task::yield_now().await;
    let (bob, end_of_bob) = checks.start_by(Some("bob"), &queue);
    tokio::task::yield_now().await;
    drop((end, end_of_bob));
    running.await.unwrap().unwrap();
    bob.await.unwrap().unwrap();
    for (waits, end) in waiting {
        assert!(!waits.is_finished());
        drop(end);
        waits.await.unwrap().unwrap();
    }
}

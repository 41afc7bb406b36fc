//! Two clearers, one Lease.

use super::fake::Fake;
use super::*;
use crate::health::Health;
use crate::lease::{Elector, Gate};

fn elector(fake: &Fake, name: &str) -> (Elector<Fake>, Gate) {
    let gate = Gate::default();
    (
        Elector::new(
            fake.clone(),
            name.into(),
            "kube-system/headroom-clearer".into(),
            15,
            gate.clone(),
            Health::default(),
        ),
        gate,
    )
}

#[tokio::test(start_paused = true)]
async fn a_second_clearer_waits_and_takes_over_when_the_first_falls_silent() {
    let fake = Fake::new();
    let (mut first, first_gate) = elector(&fake, "first");
    let (mut second, second_gate) = elector(&fake, "second");
    first.acquire().await;
    let keeper = tokio::spawn(async move { first.keep().await });
    let mut taker = tokio::spawn(async move {
        second.acquire().await;
        second.keep().await;
    });
    assert!(
        tokio::time::timeout(Duration::from_mins(2), &mut taker)
            .await
            .is_err()
    );
    assert!(first_gate.is_open() && !second_gate.is_open());
    keeper.abort();
    // At no instant of the change-over may both write.
    for _ in 0..400 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!(first_gate.is_open() && second_gate.is_open()));
    }
    assert!(second_gate.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_clearer_cut_off_from_the_api_closes_its_gate_before_another_may_lead() {
    let fake = Fake::new();
    let (mut first, gate) = elector(&fake, "first");
    first.acquire().await;
    // Its next renewal never comes back.
    let next = fake.lock().calls.len() + 1;
    fake.hook(next, fake::When::Before, fake::Hook::Crash);
    let cut = tokio::time::Instant::now();
    fake.lock()
        .lease
        .as_mut()
        .unwrap()
        .metadata
        .resource_version = Some("other".into());
    fake.lock().flaky = true;
    let lost = tokio::time::timeout(Duration::from_secs(15), async {
        while gate.is_open() {
            tokio::select! {
                () = first.keep() => break,
                () = tokio::time::sleep(Duration::from_millis(100)) => fake.lock().lease.as_mut().unwrap().spec.as_mut().unwrap().holder_identity = Some("second".into()),
            }
        }
    });
    assert!(lost.await.is_ok(), "still open after {:?}", cut.elapsed());
    assert!(!gate.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_at_once() {
    let fake = Fake::new();
    let (mut first, gate) = elector(&fake, "first");
    first.acquire().await;
    first.release().await;
    assert!(!gate.is_open());
    let (mut second, _) = elector(&fake, "second");
    let taken = tokio::time::timeout(Duration::from_secs(3), second.acquire());
    assert!(taken.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_clearer_says_which_lease_it_waits_for_and_who_holds_it() {
    let fake = Fake::new();
    let (mut first, _) = elector(&fake, "first");
    first.acquire().await;
    assert_eq!(first.waits_for(), None);
    let (mut second, _) = elector(&fake, "second");
    let waited = tokio::time::timeout(Duration::from_secs(5), second.acquire()).await;
    assert!(waited.is_err());
    assert_eq!(
        second.waits_for(),
        Some("waiting for the Lease kube-system/headroom-clearer, held by first")
    );
    first.release().await;
    second.acquire().await;
    assert_eq!(second.waits_for(), None);
}

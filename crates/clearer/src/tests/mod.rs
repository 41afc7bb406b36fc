//! The clearer against a cluster in memory, in which a test can act at any moment.

mod choosing;
mod crash;
mod fake;
mod leases;
mod owners;
mod race;
mod trouble;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser as _;

use super::api::Api as _;
use interface::ClearerStrategy;

use super::args::Args;
use super::control;
use super::log::{Event, Line, Log};
use fake::Fake;

/// All strategies.
const ALL: [ClearerStrategy; 3] = [
    ClearerStrategy::ListThenEvict,
    ClearerStrategy::Recheck,
    ClearerStrategy::Reserve,
];

/// The settings of the tests: tasks of the teams `small` and `bare` may be evicted.
fn args(strategy: ClearerStrategy, more: &[&str]) -> Args {
    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }
    let base = [
        "clearer",
        "--scope",
        "gpu=on",
        "--allow",
        "small,bare",
        "--time-limit",
        "60",
    ];
    let mut args = Cli::try_parse_from(base.iter().chain(more)).unwrap().args;
    args.strategy = strategy;
    args
}

/// The settings of the tests, whatever the strategy.
pub fn plain() -> Args {
    args(ClearerStrategy::Reserve, &[])
}

/// A running clearer, and what it has said so far.
struct Running {
    said: Arc<Mutex<Vec<Line>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    fn start(fake: &Fake, args: &Args) -> Self {
        let said: Arc<Mutex<Vec<Line>>> = Arc::default();
        let sink = Arc::clone(&said);
        let log = Log::to(move |line| sink.lock().unwrap().push(line.clone()));
        let (fake, args) = (fake.clone(), Arc::new(args.clone()));
        let task = tokio::spawn(async move { control::drive(&fake, &args, &log).await });
        Self { said, task }
    }

    /// Kills it, with all its calls in flight.
    async fn kill(&self) {
        self.task.abort();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    fn count(&self, which: impl Fn(&Event) -> bool) -> usize {
        self.said
            .lock()
            .unwrap()
            .iter()
            .filter(|l| which(&l.event))
            .count()
    }

    fn has_failed(&self) -> bool {
        self.count(|e| matches!(e, Event::Failed { .. })) > 0
    }

    /// What it said, for a failed assertion.
    fn story(&self) -> String {
        let said = self.said.lock().unwrap();
        said.iter()
            .map(|l| serde_json::to_string(l).unwrap() + "\n")
            .collect()
    }
}

/// Node `a` with 7 single-card tasks (5 of Kueue's, 2 bare) and an idle card, node `b` full of older ones, and a research
/// Job that wants a whole machine and has been admitted.
fn busy_cluster() -> Fake {
    let fake = Fake::new();
    let now = fake.now();
    let mut cluster = fake.lock();
    cluster.add_node("a");
    cluster.add_node("b");
    for i in 0..5 {
        cluster.add_job("small", &format!("young-{i}"), 1, Some("a"), now, 60);
    }
    for i in 0..2 {
        cluster.add_pod("bare", &format!("bare-{i}"), 1, Some("a"), now, 60);
    }
    for i in 0..8 {
        cluster.add_job("small", &format!("old-{i}"), 1, Some("b"), now, 3600);
    }
    cluster.add_job("research", "big", 8, None, now, 0);
    drop(cluster);
    fake
}

/// Moves the cluster on for some time.
async fn pass(fake: &Fake, secs: f64) {
    tokio::select! {
        () = fake.live() => {}
        () = tokio::time::sleep(Duration::from_secs_f64(secs)) => {}
    }
}

/// Moves the cluster on until nothing is stuck and the clearer has been silent for 3 s, or for `secs` at most.
async fn settle(fake: &Fake, running: &Running, secs: u32) {
    let (mut said, mut silent) = (0, 0);
    for _ in 0..secs {
        pass(fake, 1.0).await;
        let now = running.count(|_| true);
        silent = if now == said { silent + 1 } else { 0 };
        said = now;
        if silent >= 3 && fake.lock().stuck().is_empty() {
            return;
        }
    }
}

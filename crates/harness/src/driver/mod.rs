//! Plays a team's timeline: submits each round at its deadline.
//!
//! In: a [`TenantPlan`] and the run's clock. Out: create calls, each announced to the observer. Deadlines are absolute on the
//! monotonic clock, so that one late submission makes no other late. It does not wait for the answer of one create call
//! before it sends the next. It never repeats a call: a refusal is a result.

mod members;

use std::sync::Arc;

use kube::Client;
use tokio::task::JoinSet;

use crate::observer::{Clock, Observer, Submission};
use crate::tenants;
use plan::{DataPlanePlan, Group, Round, RoundStart, Stage, TenantPlan};

pub use members::{Member, members};

/// Submits teams' work.
#[derive(Clone)]
pub struct Driver {
    client: Client,
    clock: Clock,
    observer: Arc<Observer>,
    data_plane: Option<Arc<DataPlanePlan>>,
}

impl Driver {
    /// A driver that submits with `client` and announces to `observer`. With a `data_plane` it adds the annotations for it.
    pub fn new(
        client: Client,
        clock: Clock,
        observer: Arc<Observer>,
        data_plane: Option<DataPlanePlan>,
    ) -> Self {
        Self {
            client,
            clock,
            observer,
            data_plane: data_plane.map(Arc::new),
        }
    }

    /// Plays all stages of `tenant`, and returns when the last create call is answered. Times of stages count from
    /// `from_secs` on the run's clock. Dropping the future stops it.
    pub async fn play(&self, tenant: &TenantPlan, from_secs: f64) {
        let mut calls = JoinSet::new();
        let mut before: Option<(&str, u32)> = None;
        for stage in &tenant.stages {
            for (number, round) in (0u32..).zip(&stage.rounds) {
                let at_secs = match (round.start, before) {
                    (RoundStart::AtSecs(at), _) => from_secs + at,
                    (RoundStart::ThinkSecs(think), None) => from_secs + think,
                    (RoundStart::ThinkSecs(think), Some((stage, number))) => {
                        self.observer.round_done(&tenant.name, stage, number).await + think
                    }
                };
                self.submit(&mut calls, tenant, stage, number, round, at_secs)
                    .await;
                before = Some((&stage.name, number));
            }
        }
        while calls.join_next().await.is_some() {}
    }

    async fn submit(
        &self,
        calls: &mut JoinSet<()>,
        tenant: &TenantPlan,
        stage: &Stage,
        number: u32,
        round: &Round,
        at_secs: f64,
    ) {
        let data_plane = self.data_plane.as_deref();
        // Built before the deadline, so that nothing but the calls themselves happens after it.
        let prepared: Vec<_> = members(&stage.name, number, round)
            .into_iter()
            .map(|member| {
                let Member { name, group } = member;
                let Group {
                    request,
                    run_secs,
                    via,
                    ..
                } = *group;
                let object = tenants::job(tenant, &name, request, run_secs, via, data_plane);
                let submission = Submission {
                    tenant: tenant.name.clone(),
                    name,
                    stage: stage.name.clone(),
                    round: number,
                    request,
                    via,
                    run_secs,
                    data_plane: data_plane.map(|d| d.of(&request.class())),
                    intended_secs: at_secs,
                };
                (submission, object)
            })
            .collect();
        tokio::time::sleep_until(self.clock.instant_at(at_secs).into()).await;
        for (submission, object) in prepared {
            let driver = self.clone();
            let (tenant, name) = (submission.tenant.clone(), submission.name.clone());
            self.observer.expect(submission);
            calls.spawn(async move {
                driver.observer.sent(&tenant, &name);
                let answer = tenants::create(&driver.client, &object).await;
                let answer = answer.map_err(|error| error.to_string());
                driver.observer.answered(&tenant, &name, answer);
            });
        }
    }
}

//! What a play waits for: pods that are bound or have no attempts left, and an extender that has nothing more to do.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::super::lab::POLL;
use super::super::scenario::Pod;
use super::super::tap::Verb;
use super::{BURST_PATIENCE, Play, QUIET};

impl Play<'_> {
    /// As [`Play::settle_names`], for those pods that must be waited for.
    pub(super) async fn settle(&self, pods: &[&Pod], patience: Duration) -> anyhow::Result<()> {
        let waited = pods.iter().filter(|pod| !pod.bystander);
        self.settle_names(&waited.map(|pod| pod.name).collect::<Vec<_>>(), patience)
            .await
    }

    /// Waits until pods are bound, are gone, or have used up their attempts. A pod for which none of these happens in time is no
    /// error: that is then the outcome.
    pub(super) async fn settle_names(
        &self,
        pods: &[&'static str],
        patience: Duration,
    ) -> anyhow::Result<()> {
        let started = Instant::now();
        for name in pods {
            while !self.settled(name).await? && started.elapsed() < patience {
                sleep(POLL).await;
            }
        }
        Ok(())
    }

    async fn settled(&self, name: &str) -> anyhow::Result<bool> {
        let Some(pod) = self.pods_api().get_opt(name).await? else {
            return Ok(true);
        };
        let status = pod.status.unwrap_or_default();
        if pod.spec.is_some_and(|spec| spec.node_name.is_some()) {
            // Once it runs, the device plugin has given the node's lock back.
            return Ok(status.phase.as_deref() != Some("Pending"));
        }
        let full = self.names.pod(name);
        let asked = self.lab.tap.asked();
        let Some(last) = asked.iter().rfind(|asked| asked.pod == full) else {
            // Not one node is left for the extender to judge.
            let conditions = status.conditions.unwrap_or_default();
            let refused = conditions
                .iter()
                .any(|c| c.type_ == "PodScheduled" && c.status == "False");
            return Ok(refused);
        };
        let Some(answer) = &last.answer else {
            return Ok(false);
        };
        let failed = answer["Error"]
            .as_str()
            .is_some_and(|error| !error.is_empty());
        let chosen = answer["NodeNames"]
            .as_array()
            .is_some_and(|nodes| !nodes.is_empty());
        let over = match last.verb {
            Verb::Filter => failed || !chosen,
            Verb::Bind => failed,
        };
        Ok(over && self.lab.tap.tries_left(&full) == 0)
    }

    /// Whether the last bind of a pod has been answered.
    pub(super) fn bind_answered(&self, pod: &str) -> bool {
        let asked = self.lab.tap.asked();
        let mut binds = asked.iter().filter(|asked| asked.verb == Verb::Bind);
        binds
            .rfind(|bind| bind.pod == pod)
            .is_some_and(|bind| bind.answer.is_some())
    }

    /// Waits until the extender makes no more calls.
    pub(super) async fn quiet(&mut self) -> anyhow::Result<()> {
        let started = Instant::now();
        let turn = Duration::from_secs_f64(1.5 / self.scenario.limit.qps);
        let quiet = self.lab.stretched(QUIET + turn).await;
        let mut since = (usize::MAX, started);
        while started.elapsed() < BURST_PATIENCE {
            self.audit.read()?;
            let calls = self.audit.calls.iter();
            let mine = calls.filter(|call| call.agent == self.agent).count();
            if mine != since.0 {
                since = (mine, Instant::now());
            } else if since.1.elapsed() >= quiet {
                break;
            }
            sleep(POLL).await;
        }
        Ok(())
    }
}

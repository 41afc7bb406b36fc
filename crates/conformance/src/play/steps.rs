//! The steps of a play.

use futures::future::try_join_all;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::sleep;

use super::super::lab::{PATIENCE, absent_is_fine, create, until};
use super::super::scenario::{Pod, Step};
use super::{ALONE, BURST_PATIENCE, Play, WATCH_LAG};

impl Play<'_> {
    /// Performs a step.
    pub(super) async fn step(&mut self, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Submit(pods) => {
                for pod in pods {
                    self.create_pod(pod).await?;
                    self.settle(&[pod], PATIENCE).await?;
                }
            }
            Step::Burst(pods) => {
                try_join_all(pods.iter().map(|pod| self.create(pod))).await?;
                self.pods.extend(pods.iter().map(|pod| pod.name));
                self.settle(&pods.iter().collect::<Vec<_>>(), BURST_PATIENCE)
                    .await?;
            }
            Step::Hold(pod) => {
                let full = self.names.pod(pod.name);
                self.lab.tap.hold(&full);
                self.create_pod(pod).await?;
                until("the bind that is to be held", || async {
                    anyhow::Ok(self.lab.tap.is_waiting(&full))
                })
                .await?;
                // Until the extender has seen the pod as it is now.
                self.lab.pause(WATCH_LAG).await;
            }
            Step::Release(pods) => {
                let full = self.release(pods);
                let answered =
                    || async { anyhow::Ok(full.iter().all(|pod| self.bind_answered(pod))) };
                until("the answer to a bind", answered).await?;
            }
            Step::Begin(pods) => {
                self.release(pods);
                sleep(ALONE).await;
            }
            Step::Retry(pod, tries) => {
                self.lab.tap.allow(&self.names.pod(pod), *tries);
                self.poke().await?;
                self.settle_names(&[pod], PATIENCE).await?;
            }
            Step::PatchNode(node, patch) => {
                // Each of the two takes its own part of the object.
                let (nodes, name) = (self.lab.nodes(), self.names.node(node));
                let (params, patch) = (PatchParams::default(), Patch::Merge(self.real(patch)?));
                nodes.patch(&name, &params, &patch).await?;
                nodes.patch_status(&name, &params, &patch).await?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::DropNode(node) => {
                let (name, now) = (self.names.node(node), DeleteParams::default());
                self.lab.nodes().delete(&name, &now).await?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::AddNode(node) => self.create_node(node).await?,
            Step::PatchPod(pod, patch) => {
                let patch = Patch::Merge(self.real(patch)?);
                let (pods, params) = (self.pods_api(), PatchParams::default());
                pods.patch(pod, &params, &patch).await?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::PatchStatus(pod, patch) => {
                let patch = Patch::Merge(json!({ "status": self.real(patch)? }));
                let (pods, params) = (self.pods_api(), PatchParams::default());
                pods.patch_status(pod, &params, &patch).await?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::Delete(pod) => {
                let now = DeleteParams::default().grace_period(0);
                absent_is_fine(self.pods_api().delete(pod, &now).await)?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::Register => {
                self.register().await?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::Restart => {
                self.quiet().await?;
                self.start_extender().await?;
                self.register().await?;
            }
            Step::Quota(hard) => {
                self.lab.quota(&self.names.namespace(), hard).await?;
                self.lab.pause(WATCH_LAG).await;
            }
        }
        Ok(())
    }

    /// Lets the binds of these pods through. Returns the pods' full names.
    fn release(&self, pods: &[&str]) -> Vec<String> {
        let full: Vec<String> = pods.iter().map(|name| self.names.pod(name)).collect();
        self.lab.tap.release(&full);
        full
    }

    async fn create(&self, pod: &Pod) -> anyhow::Result<()> {
        self.lab.tap.allow(&self.names.pod(pod.name), pod.tries);
        create(&self.pods_api(), self.real(&pod.object)?).await
    }

    async fn create_pod(&mut self, pod: &Pod) -> anyhow::Result<()> {
        self.create(pod).await?;
        if !self.pods.contains(&pod.name) {
            self.pods.push(pod.name);
        }
        if pod.bystander {
            self.lab.pause(WATCH_LAG).await;
        }
        Ok(())
    }

    /// Changes a part of a node that nobody reads, so that kube-scheduler tries waiting pods again.
    async fn poke(&self) -> anyhow::Result<()> {
        let note = json!({ "headroom.dev/poke": jiff::Timestamp::now().to_string() });
        let poke = Patch::Merge(json!({ "metadata": { "annotations": note } }));
        let nodes = self.lab.nodes();
        for node in nodes.list(&ListParams::default()).await? {
            let name = node.metadata.name.unwrap_or_default();
            nodes.patch(&name, &PatchParams::default(), &poke).await?;
        }
        Ok(())
    }
}

//! The extender of a bare cluster: replaces it, asks what it has registered, stops it.

use std::sync::Arc;

use super::{
    Cluster, ClusterError,
    bring_up::{answers, local_client},
    system,
    wait::{PATIENCE, get, until},
};
use plan::{Component, HamiPlan, Programs};

impl Cluster {
    /// Port of the loopback interface at which the cluster's extender answers.
    pub fn extender_port(&self) -> u16 {
        self.ports.hami
    }

    /// Stops the extender that runs, if there is one, starts that of `programs` and waits until it answers. `log` is the name of its log
    /// file. Leader election is off, so that it answers whichever scheduler asks.
    ///
    /// # Errors
    ///
    /// Its files cannot be written, or it does not answer in time.
    pub async fn replace_extender(
        self: &Arc<Self>,
        programs: &Programs,
        plan: &HamiPlan,
        log: &str,
    ) -> Result<(), ClusterError> {
        self.stop_extender().await;
        let dir = self.state.dir();
        let mut program = system::hami(programs, plan, false, self.ports, dir, &self.logs)?;
        program.log = self.logs.join(log);
        self.supervisor.run(program);
        let client = local_client(self.ports.hami)?;
        until("the extender", PATIENCE, || answers(&client, "/healthz")).await
    }

    /// Stops the extender, if there is one.
    pub async fn stop_extender(self: &Arc<Self>) {
        let this = self.clone();
        // Fails only if the runtime is ending, and with it everything.
        let _ =
            tokio::task::spawn_blocking(move || this.supervisor.dismiss(Component::Hami.name()))
                .await;
    }

    /// Waits until the extender has registered a node, which its metrics show.
    ///
    /// # Errors
    ///
    /// The extender does not register it in time.
    pub async fn registered(&self, node: &str) -> Result<(), ClusterError> {
        let client = local_client(self.ports.hami_metrics)?;
        let name = format!("\"{node}\"");
        until("registration of a node", PATIENCE, || async {
            let text = get(&client, "/metrics").await?;
            if text.contains(&name) {
                Ok(())
            } else {
                Err(format!("{node} is not registered"))
            }
        })
        .await
    }
}

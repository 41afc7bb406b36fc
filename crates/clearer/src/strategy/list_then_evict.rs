//! List the node's tasks, cordon it, evict the tasks listed: the article's first version, kept to measure its race.
//!
//! A task that is bound after the list and before kube-scheduler sees the cordon is not on the list. The window is as long
//! as the API server's answers take, unless an experiment makes it wider.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use super::Strategy;
use crate::api::Api;
use crate::clearing::{Clearing, Guard, Halt};

/// See the module.
pub struct ListThenEvict;

impl<A: Api> Strategy<A> for ListThenEvict {
    fn clear<'a>(&'a self, c: &'a mut Clearing<A>) -> BoxFuture<'a, Result<(), Halt>> {
        async move {
            if !c.is_guarded() {
                let listed = c.holders().await?;
                tokio::time::sleep(Duration::from_secs_f64(c.args.cordon_delay)).await;
                let uids = listed.iter().filter_map(Pod::uid).collect();
                c.guard(Guard::Cordon, uids).await?;
                c.evict(&listed).await?;
            }
            // Only the listed tasks are waited for. That is the flaw.
            let mut changes = c.api.changes();
            loop {
                let view = c.view();
                let mut left = c.holders().await?;
                left.retain(|p| p.uid().is_some_and(|uid| c.state.listed.contains(&uid)));
                if left.is_empty() {
                    return Ok(());
                }
                c.evict(&left).await?;
                c.next_change(&mut changes, &view).await;
            }
        }
        .boxed()
    }
}

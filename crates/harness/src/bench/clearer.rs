//! Runs the node clearer beside a run. It starts before the clock, and its decisions go into the run's folder.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use crate::cluster::Cluster;
use crate::observer::Clock;
use crate::tenants::GROUP_LABEL;
use plan::{ClearerPlan, Component, Plan};
use results::judge;
use results::run_folder::{Disturbance, EvidenceSource, Record, RunSummary, RunWriter, reader};

/// Label of every fake machine (`kwok/node.yaml`): the scope of a clearer without a group.
const EVERY_MACHINE: &str = "gpu=on";

/// How long the clearer may take until it leads. It waits for the first lists of its watches and for a free Lease, usually a
/// second or two.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often its log is read meanwhile.
const POLL: Duration = Duration::from_millis(100);

/// Starts the clearer under the cluster's supervisor and waits until it leads.
///
/// # Errors
/// The clearer does not lead in time. Its own messages are in the run's `logs/clearer.log`.
pub async fn start(
    cluster: &Cluster,
    plan: &ClearerPlan,
    writer: &RunWriter,
) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("finding headroom's own program")?;
    let decisions = writer.decisions();
    cluster.run(
        Component::Clearer,
        program,
        arguments(plan),
        Some(decisions.clone()),
    );
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !leads(&decisions) {
        anyhow::ensure!(
            tokio::time::Instant::now() < deadline,
            "the node clearer does not lead after {} s; see {}",
            PATIENCE.as_secs(),
            writer.logs().join("clearer.log").display()
        );
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Writes into a run's summary where the requests were placed that a machine was cleared for, and whose tasks were evicted.
pub fn judge(
    plan: &Plan,
    records: &[Record],
    writer: &RunWriter,
    clock: &Clock,
    summary: &mut RunSummary,
) {
    let mut decisions = Vec::new();
    let clearer = plan.clearer.as_ref();
    if let Some(clearer) = clearer.filter(|_| summary.evidence.has(EvidenceSource::ClearerLog)) {
        match reader::decisions(&writer.decisions()) {
            Ok(read) => {
                decisions = read;
                let zero = clock.zero_wall();
                summary.placements = judge::placements(clearer, records, &decisions, zero);
            }
            Err(error) => {
                let evidence = &mut summary.evidence;
                evidence.lack(EvidenceSource::ClearerLog, error.to_string());
                summary.disturbed.push(Disturbance {
                    kind: "lost-evidence".into(),
                    detail: error.to_string(),
                    remedy: "it is unknown which machine was cleared for which request; run again"
                        .into(),
                });
            }
        }
    }
    judge::who_pays(summary, records, &decisions, clock.zero_wall());
}

fn leads(decisions: &Path) -> bool {
    // `leading` is its first line. The file may not exist yet.
    std::fs::read_to_string(decisions).is_ok_and(|text| text.contains(r#""event":"leading""#))
}

fn arguments(plan: &ClearerPlan) -> Vec<OsString> {
    let scope = match &plan.scope {
        Some(group) => format!("{GROUP_LABEL}={group}"),
        None => EVERY_MACHINE.to_owned(),
    };
    [
        "clearer".to_owned(),
        format!("--scope={scope}"),
        format!("--allow={}", plan.evicts.join(",")),
        format!("--strategy={}", plan.strategy.name()),
        format!("--trigger={}", plan.trigger.name()),
        format!("--time-limit={}", plan.deadline_secs),
        format!("--cordon-delay={}", plan.cordon_delay_secs),
    ]
    .map(OsString::from)
    .into()
}

#[cfg(test)]
mod tests {
    use clap::{Parser as _, ValueEnum as _};

    use super::*;
    use plan::{ClearerStrategy, ClearerTrigger};

    #[derive(clap::Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: clearer::Args,
    }

    /// The plan's arguments as the clearer's own command line parses them.
    fn parsed(plan: &ClearerPlan) -> clearer::Args {
        let line = arguments(plan);
        assert_eq!(line[0], "clearer");
        CommandLine::try_parse_from(line)
            .unwrap_or_else(|error| panic!("{error}"))
            .args
    }

    #[test]
    fn the_clearer_understands_every_setting_of_a_plan() {
        let triggers = ClearerTrigger::value_variants();
        for (strategy, trigger) in ClearerStrategy::value_variants()
            .iter()
            .flat_map(|s| triggers.iter().map(move |t| (*s, *t)))
        {
            let plan = ClearerPlan {
                strategy,
                scope: None,
                evicts: vec!["vision".into(), "speech".into()],
                trigger,
                deadline_secs: 45.5,
                cordon_delay_secs: 0.1,
            };
            let args = parsed(&plan);
            assert_eq!((args.strategy, args.trigger), (strategy, trigger));
            assert!(args.may_evict("speech") && !args.may_evict("research"));
            assert!((args.time_limit - 45.5).abs() < 1e-9);
            assert!((args.cordon_delay - 0.1).abs() < 1e-9);
            assert!(args.lease_secs >= 2 && !args.put_back_all);
        }
    }

    #[test]
    fn a_group_as_scope_leaves_the_other_machines_out_of_reach() {
        use kube::core::SelectorExt as _;
        let plan = ClearerPlan {
            strategy: ClearerStrategy::Reserve,
            scope: Some("shared".into()),
            evicts: vec!["vision".into()],
            trigger: ClearerTrigger::Unschedulable,
            deadline_secs: 60.0,
            cordon_delay_secs: 0.0,
        };
        let scope = parsed(&plan).scope;
        let labels = |group: &str| {
            let all = [("gpu", "on"), (GROUP_LABEL, group)];
            all.map(|(k, v)| (k.to_owned(), v.to_owned())).into()
        };
        assert!(scope.matches(&labels("shared")));
        assert!(!scope.matches(&labels("dedicated")));
        let everywhere = parsed(&ClearerPlan {
            scope: None,
            ..plan
        })
        .scope;
        assert!(everywhere.matches(&labels("dedicated")));
    }
}

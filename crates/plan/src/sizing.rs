//! The cluster's size, and how `--nodes` scales it and the teams.

use super::check::{self, Check};
use super::error::PlanError;
use super::file::{Document, TenantDoc};
use super::{CARDS_PER_NODE, NodeGroup};

/// Default number of machines: that of the article's cluster.
const DEFAULT_NODES: u32 = 50;

/// The cluster after scaling.
pub(super) struct Sizing {
    /// Its groups.
    pub groups: Vec<NodeGroup>,
    /// How much larger it is than the file's.
    factor: f64,
}

impl Sizing {
    pub(super) fn new(doc: &Document, check: Check<'_>) -> Result<Self, PlanError> {
        let cluster = &doc.cluster;
        let mut groups: Vec<(NodeGroup, bool)> = match (&cluster.groups, cluster.nodes) {
            (Some(_), Some(_)) => {
                return Err(check.wrong(
                    "cluster.nodes",
                    "cannot stand beside groups; leave one of them out".to_owned(),
                ));
            }
            (None, nodes) => {
                let nodes = nodes.unwrap_or(DEFAULT_NODES);
                check.whole("cluster.nodes", nodes, check::NODES)?;
                vec![(named("all", nodes), true)]
            }
            (Some(groups), None) => {
                check.not_empty("cluster.groups", groups.len())?;
                let mut all = Vec::new();
                for (name, group) in groups {
                    let path = format!("cluster.groups.{name}");
                    check.name(&path, name)?;
                    check.whole(&format!("{path}.nodes"), group.nodes, check::NODES)?;
                    all.push((named(name, group.nodes), group.scale));
                }
                all
            }
        };
        let before = total(&groups);
        check.whole("cluster.groups", before, check::NODES)?;
        if let Some(nodes) = cluster.resize_to {
            check.whole("cluster.resize_to", nodes, check::NODES)?;
            resize(&mut groups, nodes).map_err(|why| check.wrong("cluster.resize_to", why))?;
        }
        let sizing = Self {
            factor: f64::from(total(&groups)) / f64::from(before),
            groups: groups.into_iter().map(|(group, _)| group).collect(),
        };
        let names: Vec<&String> = sizing.groups.iter().map(|g| &g.name).collect();
        for (name, team) in &doc.tenants {
            if let Some(group) = &team.group {
                check.one_of(&format!("tenants.{name}.group"), "group", group, &names)?;
            }
        }
        Ok(sizing)
    }

    /// Machines of a group, or of all.
    pub(super) fn nodes(&self, group: Option<&str>) -> u32 {
        self.groups
            .iter()
            .filter(|g| group.is_none_or(|name| name == g.name))
            .map(|g| g.nodes)
            .sum()
    }

    /// Cards of a group, or of all.
    pub(super) fn cards(&self, group: Option<&str>) -> u32 {
        self.nodes(group) * CARDS_PER_NODE
    }

    /// The factor on a team's counts.
    pub(super) fn factor(&self, team: &TenantDoc) -> f64 {
        if team.scale { self.factor } else { 1.0 }
    }

    /// A count of a team after scaling.
    pub(super) fn scaled(&self, team: &TenantDoc, count: u32) -> u32 {
        scaled(count, self.factor(team))
    }
}

/// A count after scaling: rounded, and at least 1.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and what is too large is refused by the range check after it"
)]
pub(super) fn scaled(count: u32, factor: f64) -> u32 {
    ((f64::from(count) * factor).round() as u32).max(count.min(1))
}

fn named(name: &str, nodes: u32) -> NodeGroup {
    NodeGroup {
        name: name.to_owned(),
        nodes,
    }
}

fn total(groups: &[(NodeGroup, bool)]) -> u32 {
    groups
        .iter()
        .map(|(g, _)| g.nodes)
        .fold(0, u32::saturating_add)
}

/// Divides the machines that groups of fixed size leave among the other groups, in proportion, by largest remainder.
fn resize(groups: &mut [(NodeGroup, bool)], nodes: u32) -> Result<(), String> {
    let fixed: u32 = groups
        .iter()
        .filter(|(_, scale)| !scale)
        .map(|(g, _)| g.nodes)
        .sum();
    let mut elastic: Vec<&mut NodeGroup> = groups
        .iter_mut()
        .filter(|(_, scale)| *scale)
        .map(|(g, _)| g)
        .collect();
    let least = fixed + u32::try_from(elastic.len()).unwrap_or(u32::MAX);
    if elastic.is_empty() && nodes != fixed {
        return Err(format!(
            "{nodes} is not allowed: no group scales, so must be {fixed}"
        ));
    }
    if nodes < least {
        return Err(format!("{nodes} is too few; must be at least {least}"));
    }
    let before: u32 = elastic.iter().map(|g| g.nodes).sum();
    let room = nodes - fixed;
    let mut remainders = Vec::new();
    let mut given = 0;
    for (index, group) in elastic.iter_mut().enumerate() {
        let exact = u64::from(group.nodes) * u64::from(room);
        let before = u64::from(before);
        group.nodes = u32::try_from(exact / before).unwrap_or(u32::MAX).max(1);
        given += group.nodes;
        remainders.push((std::cmp::Reverse(exact % before), index));
    }
    remainders.sort_unstable();
    for (_, index) in remainders.into_iter().cycle() {
        match given.cmp(&room) {
            std::cmp::Ordering::Equal => break,
            std::cmp::Ordering::Less => {
                elastic[index].nodes += 1;
                given += 1;
            }
            // A group was rounded up to its one machine.
            std::cmp::Ordering::Greater if elastic[index].nodes > 1 => {
                elastic[index].nodes -= 1;
                given -= 1;
            }
            std::cmp::Ordering::Greater => {}
        }
    }
    Ok(())
}

//! What in a plan can have no effect, or promises what it cannot keep. In: a plan. Out: a line each, said before the start.

use super::{CARDS_PER_NODE, Plan, Preempt, QuotaUnit, TenantPlan};

impl Plan {
    /// What its reader should know before it runs, a sentence each; empty where everything can do what it says.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.promises();
        remarks.extend(
            self.tenants
                .iter()
                .flat_map(|team| self.without_effect(team)),
        );
        remarks.extend(self.clearer_without_a_case());
        remarks
    }

    /// Quotas that promise more cards than there are.
    fn promises(&self) -> Vec<String> {
        if !matches!(self.kueue.quota_unit, QuotaUnit::Cards | QuotaUnit::Both) {
            return Vec::new();
        }
        let over = self.cluster.groups.iter().filter_map(|group| {
            let of_group = |team: &&TenantPlan| match &team.group {
                Some(name) => *name == group.name,
                None => self.cluster.groups.len() == 1,
            };
            let teams = self.tenants.iter().filter(of_group);
            let promised: u32 = teams
                .filter_map(|team| Some(team.quota.as_ref()?.nominal_cards))
                .sum();
            let cards = group.nodes * CARDS_PER_NODE;
            (promised > cards).then(|| {
                format!(
                    "quotas promise {promised} cards on {cards} (machines {}): Kueue admits more than can be bound, and \
                     preemption by quota cannot help who waits for a card",
                    group.name
                )
            })
        });
        over.collect()
    }

    /// Preemption policies of a team that nobody is subject to.
    fn without_effect(&self, team: &TenantPlan) -> Vec<String> {
        let Some(quota) = &team.quota else {
            return Vec::new();
        };
        let mut remarks = Vec::new();
        if quota.within_cluster_queue != Preempt::Never {
            remarks.push(format!(
                "within_cluster_queue of {} has no effect: all its Jobs have one priority, {}",
                team.name, team.priority
            ));
        }
        if quota.cohort.is_none() || quota.reclaim_within_cohort == Preempt::Never {
            return remarks;
        }
        let others = self.tenants.iter().filter(|other| {
            let cohort = other.quota.as_ref().and_then(|q| q.cohort.as_ref());
            other.name != team.name && cohort == quota.cohort.as_ref()
        });
        let others: Vec<&TenantPlan> = others.collect();
        if others.is_empty() {
            remarks.push(format!(
                "reclaim_within_cohort of {} has no effect: no other team is in its cohort",
                team.name
            ));
        } else if quota.reclaim_within_cohort == Preempt::LowerPriority
            && others.iter().all(|other| other.priority >= team.priority)
        {
            remarks.push(format!(
                "reclaim_within_cohort of {} has no effect: no team of its cohort has a lower priority than {}",
                team.name, team.priority
            ));
        }
        remarks
    }

    /// A clearer that nobody needs: it empties machines for requests of whole ones.
    fn clearer_without_a_case(&self) -> Option<String> {
        let clearer = self.clearer.as_ref()?;
        let asks = |team: &&TenantPlan| !clearer.evicts.contains(&team.name);
        let whole = |team: &TenantPlan| {
            team.groups()
                .any(|g| g.request.cards == CARDS_PER_NODE && g.request.gpumem_mib.is_none())
        };
        let asked = self.tenants.iter().filter(asks).any(whole);
        (!asked).then(|| {
            "the clearer has nothing to do: it empties machines for requests of whole machines, and no team that it may \
             not evict submits one"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Plan, embedded, load, plans};

    fn plan(text: &str) -> Plan {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.yaml");
        std::fs::write(&path, text).unwrap();
        let experiment = load(path.to_str().unwrap()).unwrap();
        plans(&experiment, &Overrides::default()).unwrap().remove(0)
    }

    fn two_teams(a: &str, b: &str, more: &str) -> Vec<String> {
        let text = format!(
            "name: x\ntitle: x\nobserve_secs: 9\ncluster: {{ groups: {{ all: {{ nodes: 8 }} }} }}\n{more}tenants:\n  a:\n    {a}\n    \
             workload: [{{ burst: {{ requests: [{{ count: 1, request: whole-card }}] }} }}]\n  b:\n    {b}\n    \
             workload: [{{ burst: {{ requests: [{{ count: 1, request: {{ cards: 4 }} }}] }} }}]\n"
        );
        plan(&text).remarks()
    }

    #[test]
    fn quotas_that_promise_more_than_there_is_are_named() {
        let said = two_teams("quota: { cards: 64 }", "quota: { cards: 64 }", "");
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("quotas promise 128 cards on 64"),
            "{said:?}"
        );
        let all = two_teams("quota: { cards: 40 }", "quota: { cards: 24 }", "");
        assert_eq!(all, Vec::<String>::new());
    }

    #[test]
    fn a_policy_that_nobody_is_subject_to_is_named() {
        let within = "quota: { cards: 9, within_cluster_queue: LowerPriority }";
        let said = two_teams(within, "quota: { cards: 9 }", "");
        assert!(
            said[0].contains("all its Jobs have one priority, 0"),
            "{said:?}"
        );
        let alone = "quota: { cards: 9, cohort: c, reclaim_within_cohort: Any }";
        let said = two_teams(alone, "quota: { cards: 9 }", "");
        assert!(
            said[0].contains("no other team is in its cohort"),
            "{said:?}"
        );
        let lower = "quota: { cards: 9, cohort: c, reclaim_within_cohort: LowerPriority }";
        let said = two_teams(lower, "quota: { cards: 9, cohort: c }", "");
        assert!(said[0].contains("lower priority than 0"), "{said:?}");
        let said = two_teams(
            lower,
            "priority: -1\n    quota: { cards: 9, cohort: c }",
            "",
        );
        assert_eq!(said, Vec::<String>::new());
    }

    #[test]
    fn a_clearer_without_a_request_of_a_whole_machine_is_named() {
        let said = two_teams(
            "quota: { cards: 9 }",
            "quota: { cards: 9 }",
            "clearer: { evicts: [a] }\n",
        );
        assert!(said[0].contains("requests of whole machines"), "{said:?}");
    }

    #[test]
    fn the_built_in_experiments_can_do_what_they_say() {
        for experiment in embedded() {
            for plan in plans(&experiment, &Overrides::default()).unwrap() {
                let said = plan.remarks();
                assert_eq!(
                    said,
                    Vec::<String>::new(),
                    "{} {}",
                    plan.experiment,
                    plan.arm
                );
            }
        }
    }
}

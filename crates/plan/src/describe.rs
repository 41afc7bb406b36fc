//! Describes a plan in words, for `--dry-run`.

use serde::Serialize;

use super::{ClientLimit, Plan, QuotaPlan, RoundStart, Stage, TenantPlan, expected_secs, minutes};

impl Plan {
    /// A note beside the compression if nothing was published for it.
    #[must_use]
    pub fn not_comparable(&self) -> &'static str {
        match (self.quick, self.rescaled) {
            (true, _) => " (QUICK: a first look, not comparable with a full run)",
            (false, true) => " (not the experiment's own: nothing was published for it)",
            (false, false) => "",
        }
    }

    /// What the run will do, in lines for a terminal.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut lines = self.settings();
        lines.extend(self.added());
        lines.extend(self.tenants.iter().flat_map(TenantPlan::describe));
        let mut end = match self.observe_secs {
            Some(secs) => format!("after {secs} s, or when all work is done"),
            None => "when all work is done".to_owned(),
        };
        if self.linger_secs > 0.0 {
            end += &format!(" and {} s more have passed", self.linger_secs);
        }
        let (give_up, expected) = (self.give_up_secs, expected_secs(self));
        lines.push(format!(
            "ends        {end}; what is not done after {give_up:.0} s is given up"
        ));
        lines.push(format!(
            "expected    {expected:.0} s per run, without bring-up"
        ));
        lines.into_iter().map(|line| line + "\n").collect()
    }

    fn settings(&self) -> Vec<String> {
        let Self {
            experiment,
            arm,
            compress,
            seed,
            hami,
            kueue,
            scheduler,
            ..
        } = self;
        let runs = match self.soak_secs {
            Some(secs) => format!("as many runs as end within {}", minutes(secs)),
            None if self.repeats == 1 => "1 run".to_owned(),
            None => format!("{} runs", self.repeats),
        };
        let note = self.not_comparable();
        let nodes = self.cluster.nodes();
        let groups = self.cluster.groups.iter();
        let groups: Vec<_> = groups
            .map(|g| format!("{} × {}", g.nodes, g.name))
            .collect();
        let groups = groups.join(", ");
        let (node_policy, gpu_policy) = (hami.node_policy.name(), hami.gpu_policy.name());
        let stamped = if hami.stamp_handshake {
            "stamped"
        } else {
            "not stamped"
        };
        let elect = if scheduler.leader_elect { "on" } else { "off" };
        let quota_unit = written(kueue.quota_unit);
        let [hami, kueue, scheduler, controller_manager] = [
            hami.limit,
            kueue.limit,
            scheduler.limit,
            self.controller_manager.limit,
        ]
        .map(|ClientLimit { qps, burst }| format!("{qps}/{burst}"));
        let answers = self.hardware.device_plugin_delay_secs;
        vec![
            format!("experiment  {experiment} (arm {arm}, {runs} of it)"),
            format!("compress    {compress}{note}, seed {seed}"),
            format!("machines    {nodes} of 8 cards: {groups}"),
            format!(
                "HAMi        nodes {node_policy}, cards {gpu_policy}, limit {hami}, handshake {stamped}"
            ),
            format!("Kueue       quota in {quota_unit}, limit {kueue}"),
            format!(
                "others      kube-scheduler limit {scheduler} (leader election {elect}), kube-controller-manager limit {controller_manager}"
            ),
            format!("hardware    device plugin answers after {answers} s"),
        ]
    }

    fn added(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(data_plane) = &self.data_plane {
            let by = data_plane.compressed_by;
            lines.push(format!("data plane  played, its seconds divided by {by}"));
            lines.extend(data_plane.in_words().into_iter().map(below));
        }
        if let Some(clearer) = &self.clearer {
            lines.push(format!("clearer     {}", clearer.in_words()));
        }
        if !self.stalls.is_empty() {
            let each = self.stalls.iter();
            let each = each.map(|s| format!("{} s at {:.0} s", s.secs, s.at_secs));
            let each: Vec<String> = each.collect();
            lines.push(format!("stalls      of etcd: {}", each.join(", ")));
        }
        lines
    }
}

/// A line that belongs to the one above it.
fn below(text: impl std::fmt::Display) -> String {
    format!("              {text}")
}

impl TenantPlan {
    fn describe(&self) -> Vec<String> {
        let (name, priority) = (&self.name, self.priority);
        let on = match &self.group {
            Some(group) => format!("machines {group}"),
            None => "any machine".to_owned(),
        };
        let how = match (self.background, self.awaited) {
            (true, _) => ", background",
            (false, false) => ", not waited for",
            (false, true) => "",
        };
        let quota = self.quota.as_ref();
        let quota = quota.map_or_else(|| "bare pods, no quota".to_owned(), in_words);
        let mut more = vec![quota];
        more.extend(self.reserved_cards.map(|n| format!("{n} cards set aside")));
        more.extend(self.stages.iter().map(Stage::in_words));
        let ideal = self.ideal_secs;
        more.extend(ideal.map(|secs| format!("ideal makespan {secs:.1} s")));
        let published = self.published.iter();
        more.extend(published.map(|(metric, value)| format!("published {metric} {value}")));
        let team = format!("team        {name}: {on}, priority {priority}{how}");
        std::iter::once(team)
            .chain(more.into_iter().map(below))
            .collect()
    }
}

impl Stage {
    fn in_words(&self) -> String {
        let mut classes: Vec<(String, u32)> = Vec::new();
        for group in self.groups() {
            let class = group.request.class();
            match classes.iter_mut().find(|(name, _)| *name == class) {
                Some((_, count)) => *count += group.count,
                None => classes.push((class, group.count)),
            }
        }
        let work: Vec<String> = classes
            .iter()
            .map(|(class, count)| format!("{count} × {class}"))
            .collect();
        let starts = self.rounds.first().zip(self.rounds.last());
        let when = match starts.map(|(first, last)| (first.start, last.start)) {
            Some((RoundStart::AtSecs(from), RoundStart::AtSecs(to))) if from < to => {
                format!("from {from:.1} to {to:.1} s")
            }
            Some((RoundStart::AtSecs(at), _)) => format!("at {at:.1} s"),
            Some((RoundStart::ThinkSecs(think), _)) => {
                format!("each {think:.2} s after the one before")
            }
            None => String::new(),
        };
        let (name, work, n) = (&self.name, work.join(" + "), self.rounds.len());
        let rounds = if n == 1 { "round" } else { "rounds" };
        format!("stage {name}: {work} in {n} {rounds}, {when}")
    }
}

fn in_words(quota: &QuotaPlan) -> String {
    let mut text = format!("quota {} cards", quota.nominal_cards);
    let Some(cohort) = &quota.cohort else {
        return text + ", no cohort";
    };
    // Writing to a String cannot fail.
    text += &format!(", cohort {cohort}");
    if let Some(cards) = quota.borrowing_limit_cards {
        text += &format!(", borrows {cards} at most");
    }
    if let Some(cards) = quota.lending_limit_cards {
        text += &format!(", lends {cards} at most");
    }
    text += &format!(", reclaims {}", written(quota.reclaim_within_cohort));
    text
}

/// A setting as it is written in an experiment file.
fn written(setting: impl Serialize) -> String {
    let value = serde_json::to_value(setting).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

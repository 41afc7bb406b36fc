//! Describes a plan in words, for `--dry-run`.

use std::fmt::Write;

use serde::Serialize;

use super::{ClientLimit, Plan, QuotaPlan, RoundStart, Stage, TenantPlan, expected_secs, minutes};

impl Plan {
    /// What the run will do, in lines for a terminal.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text);
        text
    }

    /// A note beside the compression if nothing was published for it.
    #[must_use]
    pub fn not_comparable(&self) -> &'static str {
        match (self.quick, self.rescaled) {
            (true, _) => " (QUICK: a first look, not comparable with a full run)",
            (false, true) => " (not the experiment's own: nothing was published for it)",
            (false, false) => "",
        }
    }

    fn write(&self, f: &mut String) -> std::fmt::Result {
        writeln!(
            f,
            "experiment  {} (arm {}, {} of it)",
            self.experiment,
            self.arm,
            match self.soak_secs {
                Some(secs) => format!("as many runs as end within {}", minutes(secs)),
                None => runs(self.repeats),
            }
        )?;
        writeln!(
            f,
            "compress    {}{}, seed {}",
            self.compress,
            self.not_comparable(),
            self.seed
        )?;
        let groups: Vec<String> = self
            .cluster
            .groups
            .iter()
            .map(|g| format!("{} × {}", g.nodes, g.name))
            .collect();
        writeln!(
            f,
            "machines    {} of 8 cards: {}",
            self.cluster.nodes(),
            groups.join(", ")
        )?;
        writeln!(
            f,
            "HAMi        nodes {}, cards {}, limit {}, handshake {}",
            self.hami.node_policy.name(),
            self.hami.gpu_policy.name(),
            limit(self.hami.limit),
            if self.hami.stamp_handshake {
                "stamped"
            } else {
                "not stamped"
            }
        )?;
        writeln!(
            f,
            "Kueue       quota in {}, limit {}",
            written(self.kueue.quota_unit),
            limit(self.kueue.limit)
        )?;
        writeln!(
            f,
            "others      kube-scheduler limit {} (leader election {}), kube-controller-manager limit {}",
            limit(self.scheduler.limit),
            if self.scheduler.leader_elect {
                "on"
            } else {
                "off"
            },
            limit(self.controller_manager.limit)
        )?;
        writeln!(
            f,
            "hardware    device plugin answers after {} s",
            self.hardware.device_plugin_delay_secs
        )?;
        self.write_what_is_added(f)?;
        for team in &self.tenants {
            team.write(f)?;
        }
        let end = match self.observe_secs {
            Some(secs) => format!("after {secs} s, or when all work is done"),
            None => "when all work is done".to_owned(),
        };
        let end = if self.linger_secs > 0.0 {
            format!("{end} and {} s more have passed", self.linger_secs)
        } else {
            end
        };
        writeln!(
            f,
            "ends        {end}; what is not done after {:.0} s is given up",
            self.give_up_secs
        )?;
        writeln!(
            f,
            "expected    {:.0} s per run, without bring-up",
            expected_secs(self)
        )
    }

    fn write_what_is_added(&self, f: &mut String) -> std::fmt::Result {
        if let Some(data_plane) = &self.data_plane {
            let by = data_plane.compressed_by;
            writeln!(f, "data plane  played, its seconds divided by {by}")?;
            for class in data_plane.in_words() {
                writeln!(f, "              {class}")?;
            }
        }
        if let Some(clearer) = &self.clearer {
            writeln!(f, "clearer     {}", clearer.in_words())?;
        }
        if !self.stalls.is_empty() {
            let each = self.stalls.iter();
            let each = each.map(|s| format!("{} s at {:.0} s", s.secs, s.at_secs));
            let each: Vec<String> = each.collect();
            writeln!(f, "stalls      of etcd: {}", each.join(", "))?;
        }
        Ok(())
    }
}

impl TenantPlan {
    fn write(&self, f: &mut String) -> std::fmt::Result {
        let on = self
            .group
            .as_deref()
            .map_or("any machine".to_owned(), |g| format!("machines {g}"));
        let how = match (self.background, self.awaited) {
            (true, _) => ", background",
            (false, false) => ", not waited for",
            (false, true) => "",
        };
        writeln!(
            f,
            "team        {}: {on}, priority {}{how}",
            self.name, self.priority
        )?;
        match &self.quota {
            None => writeln!(f, "              bare pods, no quota")?,
            Some(quota) => writeln!(f, "              {}", in_words(quota))?,
        }
        if let Some(cards) = self.reserved_cards {
            writeln!(f, "              {cards} cards set aside")?;
        }
        for stage in &self.stages {
            writeln!(f, "              {}", stage.in_words())?;
        }
        if let Some(secs) = self.ideal_secs {
            writeln!(f, "              ideal makespan {secs:.1} s")?;
        }
        for (metric, value) in &self.published {
            writeln!(f, "              published {metric} {value}")?;
        }
        Ok(())
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
        let when = match (self.rounds.first(), self.rounds.last()) {
            (Some(first), Some(last)) => match (first.start, last.start) {
                (RoundStart::AtSecs(from), RoundStart::AtSecs(to)) if from < to => {
                    format!("from {from:.1} to {to:.1} s")
                }
                (RoundStart::AtSecs(at), _) => format!("at {at:.1} s"),
                (RoundStart::ThinkSecs(think), _) => {
                    format!("each {think:.2} s after the one before")
                }
            },
            _ => String::new(),
        };
        let rounds = if self.rounds.len() == 1 {
            "round"
        } else {
            "rounds"
        };
        format!(
            "stage {}: {} in {} {rounds}, {when}",
            self.name,
            work.join(" + "),
            self.rounds.len()
        )
    }
}

fn in_words(quota: &QuotaPlan) -> String {
    let mut text = format!("quota {} cards", quota.nominal_cards);
    let Some(cohort) = &quota.cohort else {
        return text + ", no cohort";
    };
    // Writing to a String cannot fail.
    let _ = write!(text, ", cohort {cohort}");
    if let Some(cards) = quota.borrowing_limit_cards {
        let _ = write!(text, ", borrows {cards} at most");
    }
    if let Some(cards) = quota.lending_limit_cards {
        let _ = write!(text, ", lends {cards} at most");
    }
    let _ = write!(text, ", reclaims {}", written(quota.reclaim_within_cohort));
    text
}

/// A setting as it is written in an experiment file.
fn written(setting: impl Serialize) -> String {
    let value = serde_json::to_value(setting).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn limit(limit: ClientLimit) -> String {
    format!("{}/{}", limit.qps, limit.burst)
}

fn runs(repeats: u32) -> String {
    if repeats == 1 {
        "1 run".to_owned()
    } else {
        format!("{repeats} runs")
    }
}

//! Turns the phases of the experiment file into stages of rounds, in seconds: what a team submits.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::check::{self, Check};
use super::error::PlanError;
use super::file::{Burst, Phase, Stream, TenantDoc};
use super::resolve::last_submit_secs;
use super::sizing::scaled;
use super::timeline::Timeline;
use super::value::{Count, NamedCount, RequestShape, RunTime};
use super::workload::Group;
use super::{CARD_MEMORY_MIB, QuotaPlan, Request, Round, RoundStart, Stage, Via};

/// A team whose stages are worked out.
pub(super) struct Work<'a> {
    pub check: Check<'a>,
    /// Path of the team in the document.
    pub path: String,
    pub team: &'a TenantDoc,
    pub quota: Option<&'a QuotaPlan>,
    /// Cards of its group of machines.
    pub group_cards: u32,
    /// The factor on its counts.
    pub factor: f64,
    pub compress: f64,
    pub seed: u64,
}

impl Work<'_> {
    /// The team's stages, checked.
    pub(super) fn stages(
        &self,
        timelines: &BTreeMap<String, Timeline>,
    ) -> Result<Vec<Stage>, PlanError> {
        let mut rng = StdRng::seed_from_u64(self.seed);
        let mut stages: Vec<Stage> = Vec::new();
        let mut names = BTreeSet::new();
        for (i, phase) in self.team.workload.iter().enumerate() {
            let path = format!("{}.workload.{i}", self.path);
            let earliest = last_submit_secs(&stages);
            let (starts, new) = match phase {
                Phase::Timeline(name) => {
                    // Every timeline that the document names has been loaded.
                    let timeline = timelines.get(name);
                    let new = timeline.map(|t| t.stages(self.compress, self.via()));
                    (0.0, new.unwrap_or_default())
                }
                Phase::Burst(burst) => {
                    let path = format!("{path}.burst");
                    (burst.at_secs, vec![self.burst(&path, burst, &mut rng)?])
                }
                Phase::Stream(stream) => {
                    let path = format!("{path}.stream");
                    (
                        stream.from_secs,
                        vec![self.stream(&path, stream, &mut rng)?],
                    )
                }
            };
            if self.team.background && !matches!(phase, Phase::Burst(b) if b.at_secs == 0.0) {
                let problem = "a background team is submitted before the clock starts: only bursts at 0 are allowed";
                return Err(self.check.wrong(&path, problem.to_owned()));
            }
            if !stages.is_empty() && starts < earliest {
                let problem =
                    "starts before the phase above has been submitted; give it a team of its own";
                return Err(self.check.wrong(&path, problem.to_owned()));
            }
            for Stage { name, .. } in &new {
                self.check.require(names.insert(name.clone()), &path, || {
                    format!("there is already a stage {name:?}; name it differently")
                })?;
            }
            stages.extend(new);
        }
        let groups = stages.iter().flat_map(Stage::groups);
        let all = groups.map(|g| g.count).fold(0, u32::saturating_add);
        if all > *check::COUNT.end() {
            self.check
                .whole(&format!("{}.workload", self.path), all, check::COUNT)?;
        }
        Ok(stages)
    }

    fn via(&self) -> Via {
        if self.quota.is_some() {
            Via::Job
        } else {
            Via::Pod
        }
    }

    fn burst(&self, path: &str, burst: &Burst, rng: &mut StdRng) -> Result<Stage, PlanError> {
        self.check.name(&format!("{path}.name"), &burst.name)?;
        self.check.number(
            &format!("{path}.at_secs"),
            burst.at_secs,
            check::SECS_OR_ZERO,
        )?;
        self.check
            .not_empty(&format!("{path}.requests"), burst.requests.len())?;
        let mut groups = Vec::new();
        for (i, requests) in burst.requests.iter().enumerate() {
            let path = format!("{path}.requests.{i}");
            let request = self.request(&path, requests.request)?;
            let count = self.count(&path, requests.count, request)?;
            let run = self.run(&path, requests.run_secs, requests.run_minutes)?;
            groups.extend(self.groups(count, request, run, rng));
        }
        Ok(Stage {
            name: burst.name.clone(),
            rounds: vec![Round {
                start: RoundStart::AtSecs(burst.at_secs),
                groups,
                interleave: burst.interleave,
            }],
        })
    }

    fn stream(&self, path: &str, stream: &Stream, rng: &mut StdRng) -> Result<Stage, PlanError> {
        self.check.name(&format!("{path}.name"), &stream.name)?;
        self.check.number(
            &format!("{path}.from_secs"),
            stream.from_secs,
            check::SECS_OR_ZERO,
        )?;
        self.check.number(
            &format!("{path}.every_secs"),
            stream.every_secs,
            check::SECS,
        )?;
        let request = self.request(path, stream.request)?;
        let count = self.count(path, Count::Number(stream.count), request)?;
        let run = self.run(path, stream.run_secs, stream.run_minutes)?;
        // A larger cluster gets proportionally more per second, over the same time.
        let every_secs = stream.every_secs / self.factor;
        let rounds = (0..count).map(|i| Round {
            start: RoundStart::AtSecs(stream.from_secs + f64::from(i) * every_secs),
            groups: self.groups(1, request, run, rng),
            interleave: false,
        });
        Ok(Stage {
            name: stream.name.clone(),
            rounds: rounds.collect(),
        })
    }

    /// Requests as groups: one group if all run equally long, else one group each.
    fn groups(
        &self,
        count: u32,
        request: Request,
        run: Option<RunTime>,
        rng: &mut StdRng,
    ) -> Vec<Group> {
        let group = |count, run_secs| Group {
            count,
            request,
            run_secs,
            via: self.via(),
        };
        match run {
            None => vec![group(count, None)],
            Some(RunTime::Fixed(secs)) => vec![group(count, Some(secs))],
            Some(RunTime::Between(range)) => (0..count)
                .map(|_| group(1, Some(rng.random_range(range.from..=range.to))))
                .collect(),
        }
    }

    fn request(&self, path: &str, shape: RequestShape) -> Result<Request, PlanError> {
        let request = shape.request();
        let path = format!("{path}.request");
        self.check.cards(&format!("{path}.cards"), request.cards)?;
        if let Some(mib) = request.gpumem_mib {
            self.check
                .whole(&format!("{path}.gpumem_mib"), mib, 1..=CARD_MEMORY_MIB)?;
        }
        if let Some(percent) = request.gpucores {
            self.check
                .whole(&format!("{path}.gpucores"), percent, 1..=100)?;
        }
        Ok(request)
    }

    fn count(&self, path: &str, count: Count, request: Request) -> Result<u32, PlanError> {
        let field = format!("{path}.count");
        let count = match count {
            Count::Number(count) => {
                self.check.whole(&field, count, check::COUNT)?;
                scaled(count, self.factor)
            }
            Count::Named(NamedCount::Nominal) => match self.quota {
                Some(quota) => quota.nominal_cards / request.cards,
                None => {
                    return Err(self
                        .check
                        .wrong(&field, "\"nominal\" needs a quota".to_owned()));
                }
            },
            Count::Share(share) => {
                let path = format!("{field}.share_of_cards");
                self.check
                    .number(&path, share.share_of_cards, check::SHARE)?;
                scaled(self.group_cards, share.share_of_cards) / request.cards
            }
        };
        self.check.whole(&field, count, check::COUNT)?;
        Ok(count)
    }

    /// How long each runs, in seconds.
    fn run(
        &self,
        path: &str,
        secs: Option<RunTime>,
        minutes: Option<RunTime>,
    ) -> Result<Option<RunTime>, PlanError> {
        let (field, given, range, factor) = match (secs, minutes) {
            (Some(_), Some(_)) => {
                return Err(self.check.wrong(
                    &format!("{path}.run_minutes"),
                    "cannot stand beside run_secs; leave one of them out".to_owned(),
                ));
            }
            (None, None) => return Ok(None),
            (Some(secs), None) => ("run_secs", secs, check::SECS, 1.0),
            (None, Some(minutes)) => ("run_minutes", minutes, check::MINUTES, 60.0 / self.compress),
        };
        let field = format!("{path}.{field}");
        Ok(Some(match given {
            RunTime::Fixed(value) => {
                self.check.number(&field, value, range)?;
                RunTime::Fixed(value * factor)
            }
            RunTime::Between(mut between) => {
                between.check(self.check, &field, range)?;
                between.from *= factor;
                between.to *= factor;
                RunTime::Between(between)
            }
        }))
    }
}

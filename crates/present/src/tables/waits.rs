//! Where time goes, in a sentence: what a run's requests waited for most, and the setting behind it.

use plan::{Component, Plan};
use results::run_folder::RunSummary;
use results::waits::{Bottleneck, Cause, Waits};

use crate::text::{percent, secs};

/// The bottleneck and its setting; `None` where nothing waited for a second, or it was not recorded.
pub fn sentence(run: &RunSummary, plan: &Plan) -> Option<String> {
    let all = together(run)?;
    let bottleneck = all.bottleneck().filter(|b| b.secs >= 1.0)?;
    let Bottleneck {
        cause,
        share,
        limit,
        ..
    } = &bottleneck;
    let of_all: f64 = all.secs.values().sum();
    let head = format!(
        "{} of the {} that requests waited were for {}",
        percent(*share),
        secs(of_all),
        cause.words()
    );
    let component = limit.as_ref().and_then(|(name, _)| Component::named(name));
    let (Some(component), Some((_, used))) = (component, limit) else {
        return Some(match cause {
            Cause::Quota | Cause::Machine | Cause::Start => format!("{head}."),
            _ => format!("{head}; no client limit was used up for half of that time."),
        });
    };
    let limit = Component::client_limits(plan)
        .remove(component.name())
        .flatten();
    let limit = limit.map_or(String::new(), |l| format!(" of {}/{}", l.qps, l.burst));
    let setting = component.limit_setting().unwrap_or_default();
    Some(format!(
        "{head}; {}'s client limit{limit} was used up for {} of that time: its setting is {setting}.",
        component.name(),
        percent(*used)
    ))
}

/// What all teams' requests waited for; `None` where it was not recorded.
fn together(run: &RunSummary) -> Option<Waits> {
    let mut each = run.tenants.iter().filter_map(|team| team.waits.as_ref());
    let mut all = each.next()?.clone();
    each.for_each(|waits| all.add(waits));
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::fixtures::{full, plan, team};

    fn run(secs: &[(Cause, f64)], at_limit: &[(Cause, &str, f64)]) -> RunSummary {
        let mut run = full().runs.remove(0);
        let mut waits = Waits {
            secs: secs.iter().copied().collect(),
            ..Waits::default()
        };
        for (cause, component, secs) in at_limit {
            let by = waits.at_limit.entry(*cause).or_default();
            by.insert((*component).to_owned(), *secs);
        }
        run.tenants[0].waits = Some(waits);
        run
    }

    #[test]
    fn the_bottleneck_is_named_with_its_setting_if_its_limit_was_used_up() {
        let plan = plan(vec![team("a", 8, false)]);
        let hami = run(
            &[(Cause::Hami, 80.0), (Cause::Controllers, 20.0)],
            &[(Cause::Hami, "hami", 76.0)],
        );
        assert_eq!(
            sentence(&hami, &plan).unwrap(),
            "80 % of the 100 s that requests waited were for HAMi; hami's client limit of 50/100 was used up for 95 % of \
             that time: its setting is --kube-qps and --kube-burst."
        );
        let locked = run(&[(Cause::Hami, 80.0)], &[(Cause::Hami, "hami", 10.0)]);
        let words = sentence(&locked, &plan).unwrap();
        assert!(
            words.ends_with("no client limit was used up for half of that time."),
            "{words}"
        );
        let quota = sentence(&run(&[(Cause::Quota, 80.0)], &[]), &plan).unwrap();
        assert_eq!(
            quota,
            "100 % of the 80 s that requests waited were for quota."
        );
        assert_eq!(sentence(&run(&[(Cause::Start, 0.5)], &[]), &plan), None);
        assert_eq!(sentence(&full().runs[0], &plan), None);
    }
}

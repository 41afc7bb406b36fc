//! The rows among each other, and keys.

use std::collections::BTreeMap;

use super::key::form;
use super::*;

#[test]
fn a_row_stands_where_its_metric_points_and_no_name_means_two() {
    let mut names = BTreeMap::new();
    for (i, row) in CATALOGUE.iter().enumerate() {
        assert_eq!(row.metric as usize, i, "{}", row.id);
        assert_eq!(row.metric.row().id, row.id);
        for id in [&row.id].into_iter().chain(row.aliases) {
            assert_eq!(names.insert(*id, row.id), None, "{id} stands for two");
            assert_eq!(Metric::by_id(id), Some(row.metric));
            let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(id.chars().all(snake), "{id}");
        }
        assert!(row.definition.ends_with('.'), "{}", row.id);
        // A team can't be called as such a metric is, so that `<id>.<component>` is no metric of a team.
        assert!(
            row.scope != Scope::Component || row.id.contains('_'),
            "{}",
            row.id
        );
    }
}

#[test]
fn an_id_tells_the_unit() {
    for row in CATALOGUE {
        let told = match row.unit {
            Unit::Secs => row.id.ends_with("_secs"),
            Unit::Ms => row.id.ends_with("_ms"),
            Unit::CardSeconds => row.id.starts_with("card_seconds_"),
            Unit::PerHour => row.id.ends_with("_per_hour"),
            Unit::PerSec => row.id.ends_with("_per_sec"),
            Unit::Share => row.id.ends_with("_share"),
            Unit::Mib => row.id.ends_with("_mib"),
            Unit::Cards => row.id.contains("cards"),
            Unit::Count | Unit::Calls => !row.id.ends_with("_secs"),
        };
        assert!(told, "{} is in {}", row.id, row.unit.words());
    }
}

#[test]
fn every_key_reads_back_and_old_ones_are_today_s() {
    for row in CATALOGUE {
        let keys: Vec<MetricKey> = match row.scope {
            Scope::Run => vec![MetricKey::run(row.metric)],
            Scope::Team => vec![MetricKey::team("vision", row.metric)],
            Scope::Class => vec![MetricKey::class("vision", "whole-card", row.metric)],
            Scope::TeamAndClass => vec![
                MetricKey::team("vision", row.metric),
                MetricKey::class("vision", "2.5-cards", row.metric),
            ],
            Scope::Component => vec![MetricKey::component("kube-scheduler", row.metric)],
        };
        for key in keys {
            assert_eq!(key.to_string().parse(), Ok(key.clone()));
            let team = key.team_name().unwrap_or_default();
            assert_eq!(
                MetricKey::parse_in_team(team, &key.in_team()),
                Ok(key.clone())
            );
            for old in row.aliases {
                let old = key.to_string().replace(row.id, old);
                assert_eq!(old.parse(), Ok(key.clone()), "{old}");
            }
        }
    }
    let old: MetricKey = "shared.whole-card.bound_p95_secs".parse().unwrap();
    assert_eq!(old.to_string(), "shared.whole-card.bind_latency_p95_secs");
    let old: MetricKey = "research.not_landed_right".parse().unwrap();
    assert_eq!(old.metric, Metric::NotPlacedRight);
}

#[test]
fn what_is_no_key_says_what_would_be() {
    let error = |text: &str| text.parse::<MetricKey>().unwrap_err().to_string();
    assert!(error("shared.makespan_sec").contains("did you mean \"makespan_secs\""));
    assert!(error("makespan_secs").contains("written <team>.makespan_secs"));
    assert!(error("shared.restarts").contains("written restarts"));
    assert!(error("shared.bind_latency_p95_secs").contains("<team>.<class>."));
    assert!(error("calls_per_pod").contains("calls_per_pod.<component>"));
    assert!(error("").contains("no metric"));
    let all = CATALOGUE.iter().map(form);
    assert!(
        all.map(|f| f.replace(['<', '>'], ""))
            .all(|f| !f.is_empty())
    );
}

#[test]
fn old_names_of_phases_are_read() {
    assert_eq!(Phase::by_name("bound"), Some(Phase::BindLatency));
    assert_eq!(Phase::by_name("bind"), Some(Phase::SchedulingLatency));
    let read: Phase = serde_json::from_str("\"bound\"").unwrap();
    assert_eq!(read, Phase::BindLatency);
    for phase in Phase::ALL {
        assert_eq!(Phase::by_name(phase.name()), Some(*phase));
        let written = serde_json::to_string(phase).unwrap();
        assert_eq!(written, format!("{:?}", phase.name()));
    }
}

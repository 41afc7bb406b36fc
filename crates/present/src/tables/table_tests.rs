//! Which rows a table has.

use super::*;
use plan::metric::{CATALOGUE, Phase, Scope, Use};
use plan::{DataPlane, DataPlanePlan};
use results::fixtures::full;
use results::fixtures::{plan, team};
use results::metrics::Source;
use results::run_folder::Bill;

fn table_of(run: &RunSummary, plan: &Plan, session: &Summary) -> String {
    let values = results::metrics::values(&Source::without_plan(run, &[]), Use::Show);
    run_table(run, &values, plan, session)
}

#[test]
fn time_to_useful_work_stands_beside_time_to_bind_where_a_data_plane_is_played_and_only_there() {
    let mut plan = plan(vec![team("shared", 40, true)]);
    let session = full();
    let mut run = session.runs[0].clone();
    let tenant = &mut run.tenants[0];
    tenant.makespan_secs = Some(451.0);
    let spread = tenant.latency["whole-card"][&Phase::BindLatency].clone();
    tenant.bill = Bill {
        by_kueue: 1,
        rebound: Some(spread.clone()),
        ..Bill::default()
    };
    let without = table_of(&run, &plan, &session);
    assert!(without.contains("whole-card: bind latency"), "{without}");
    assert!(without.contains("  control plane's share"), "{without}");
    for word in ["useful", "data plane"] {
        assert!(!without.contains(word), "{without}");
    }

    plan.data_plane = Some(DataPlanePlan {
        compressed_by: 6.0,
        classes: [("whole-card".to_owned(), DataPlane::default())].into(),
    });
    let tenant = &mut run.tenants[0];
    tenant.card_seconds.useful = Some(1234.4);
    tenant.bill.useful_again = Some(spread.clone());
    let phases = tenant.latency.get_mut("whole-card").unwrap();
    phases.insert(Phase::Useful, spread.clone());
    phases.insert(Phase::Prepare, spread);
    let with = table_of(&run, &plan, &session);
    for part in [
        "data plane: played, its seconds divided by 6",
        "whole-card: submit → useful work, p50",
        "whole-card: bound → useful work, p50",
        "evicted → useful work again, p50",
        "  control and data plane's share",
    ] {
        assert!(with.contains(part), "{part} is not in {with}");
    }
    let row = with.lines().find(|l| l.contains("at useful work"));
    assert!(row.unwrap().contains("1,234 card·s"), "{with}");
    let at = |text: &str| with.find(text).unwrap();
    assert!(at("bind latency") < at("submit → useful work"));
}

/// A metric is a row of the catalogue and an extractor: nothing here names it.
#[test]
fn every_metric_of_the_catalogue_that_has_a_value_has_a_row() {
    let plan = plan(vec![team("shared", 40, true)]);
    let session = full();
    let run = &session.runs[0];
    let of = |row: &Row| match row.scope {
        Scope::Run => MetricKey::run(row.metric),
        Scope::Team | Scope::TeamAndClass => MetricKey::team("shared", row.metric),
        Scope::Class => MetricKey::class("shared", "whole-card", row.metric),
        Scope::Component => MetricKey::component("hami", row.metric),
    };
    let text = |values: &Values| run_table(run, values, &plan, &session);
    for row in CATALOGUE.iter().filter(|row| is_brief(row.metric)) {
        let with = text(&[(of(row), Amount::Over(90.0))].into());
        let shown = with.contains(row.name) && with.contains(&amount(row.unit, Amount::Over(90.0)));
        assert_eq!(
            shown,
            row.metric != Metric::SubmittedCount,
            "{}: {with}",
            row.id
        );
    }
    let none = text(&Values::new());
    assert!(
        !none.contains("makespan") && !none.contains("client limit used"),
        "{none}"
    );
}

//! Which rows a table has.

use super::*;
use plan::{DataPlane, DataPlanePlan};
use results::fixtures::full;
use results::fixtures::{plan, team};
use results::run_folder::Bill;

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
    let without = run_table(&run, &plan, &session);
    assert!(without.contains("whole-card: submit → bound"), "{without}");
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
    let with = run_table(&run, &plan, &session);
    for part in [
        "data plane: played, its seconds divided by 6",
        "whole-card: submit → useful work p50 / p95, s",
        "whole-card: bound → useful work p50 / p95, s",
        "  until useful again p50 / max, s",
        "  control and data plane's share",
    ] {
        assert!(with.contains(part), "{part} is not in {with}");
    }
    let row = with.lines().find(|l| l.contains("at useful work"));
    assert!(row.unwrap().contains("1234"), "{with}");
    let at = |text: &str| with.find(text).unwrap();
    assert!(at("submit → bound") < at("submit → useful work"));
}

//! What simulated comparisons showed, as Markdown tables.

use super::cells::either;
use crate::text::{number, table, whole};
use compare::power::{Power, Shape};

/// Simulated comparisons as a Markdown table a metric, and one of the false alarms.
pub fn power_text(of: &Power) -> String {
    let title = |s: &Shape| match s.nights {
        1 => format!("{} + {} runs", s.base_runs, s.new_runs),
        nights => format!("{nights} nights + 1, of {} runs", s.new_runs),
    };
    let titles: Vec<String> = of.shapes.iter().map(title).collect();
    let header: Vec<&str> = std::iter::once("")
        .chain(titles.iter().map(String::as_str))
        .collect();
    let table = |rows: Vec<Vec<String>>| table(&header, 0..0, rows);
    let share = |s: f64| format!("{:.1} %", s * 100.0);
    let alarms = |name: &str, of_shape: fn(&Shape) -> f64| {
        let shares = of.shapes.iter().map(|s| share(of_shape(s)));
        std::iter::once(name.to_owned())
            .chain(shares)
            .collect::<Vec<_>>()
    };
    let mut text = format!(
        "{} simulated comparisons of each kind, from {} real runs of {} ({} disturbed) on {}.\n\nFalse alarms, over all declared metrics together (allowed: {}):\n\n",
        whole(f64::from(of.draws)),
        of.runs,
        of.experiment,
        of.disturbed,
        of.ran.hami,
        share(of.alpha)
    );
    text += &table(vec![
        alarms("no change", |s| s.false_alarms),
        alarms("of these, rare events", |s| s.false_alarms_of_rare),
        alarms("every metric worse by exactly its threshold", |s| {
            s.false_alarms_at_threshold
        }),
    ]);
    text += "\n\nRare events, none of them in the baseline:\n\n";
    let rates = of
        .shapes
        .first()
        .map(|s| s.rare_found.clone())
        .unwrap_or_default();
    let rows = rates.iter().enumerate().map(|(i, (rate, _))| {
        let shares = of
            .shapes
            .iter()
            .map(|s| s.rare_found.get(i).map_or(0.0, |(_, s)| *s));
        let first = format!("in {:.0} % of new runs", rate * 100.0);
        std::iter::once(first).chain(shares.map(share)).collect()
    });
    text += &table(rows.collect());
    for metric in &of.metrics {
        let unit = metric.metric.row().unit;
        text += &format!(
            "\n\n{}: median {}, {} to {} in the runs; threshold {}.\n",
            metric.metric.words(),
            number(unit, metric.median),
            number(unit, metric.min),
            number(unit, metric.max),
            either("", metric.threshold_percent, metric.threshold, unit)
        );
        let own = |s: &Shape| {
            let found = s
                .detection
                .iter()
                .find(|d| d.arm == metric.arm && d.metric == metric.metric);
            found.map(|d| d.found.clone())
        };
        let Some(first) = of.shapes.first().and_then(own) else {
            text += "It is the same in all of these runs, so there is nothing to simulate.\n";
            continue;
        };
        let rows = first.iter().enumerate().map(|(e, (effect, _))| {
            let shares = of.shapes.iter().map(|s| {
                own(s)
                    .and_then(|f| f.get(e).copied())
                    .map_or_else(|| "-".into(), |(_, s)| share(s))
            });
            std::iter::once(format!("{effect} % worse"))
                .chain(shares)
                .collect()
        });
        text += "\n";
        text += &table(rows.collect());
    }
    text + "\n"
}

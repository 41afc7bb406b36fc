//! `headroom conformance`.

use host::usage::{OrUsage as _, Usage};
use host::{errln, out, outln};
use std::path::Path;

use anyhow::Context as _;
use jiff::Timestamp;

use super::args::ConformanceArgs;
use super::bench::prepare;
use super::setting::find_hami;
use super::{Exit, Interrupted, Place, signals};
use ::conformance::record::{self, Recorded};
use ::conformance::scenario::Scenario;
use ::conformance::{Order, catalog, recorded, run, table};
use ::results::run_folder::place::{self, RUNS};

/// Plays the scenarios and prints the table.
///
/// # Errors
/// Usage errors before anything is started. Later, a control plane that fails.
pub async fn conformance(place: &Place, args: ConformanceArgs) -> anyhow::Result<Exit> {
    let scenarios = chosen(&args.scenarios)?;
    if args.list {
        for scenario in scenarios {
            outln!("{:<32} {}", scenario.name, scenario.about);
        }
        return Ok(Exit::Done);
    }
    let against = match &args.against {
        Some(path) => Some((path.clone(), Recorded::read(path).or_usage()?)),
        None => None,
    };
    check(
        &args,
        against.as_ref().map(|(_, recorded)| recorded),
        &scenarios,
    )?;

    let cache = place.open()?;
    let mut sides = Vec::new();
    let registry = args.registry.clone().unwrap_or_default();
    for choice in &args.hami {
        sides.push(find_hami(choice, &registry, &cache).await?);
    }
    let [first, ..] = sides.as_slice() else {
        // `check` has counted them.
        return Err(Usage::new("--hami is missing").into());
    };
    let bench = match prepare(place, &cache, first).await {
        Err(error) if error.is::<Interrupted>() => return Ok(Exit::Interrupted),
        bench => bench?,
    };
    let order = Order {
        against,
        scenarios,
        repeats: args.repeat,
        programs: bench.programs,
        state_root: bench.state_root,
        out: args
            .out
            .unwrap_or_else(|| place::free(Path::new(RUNS), Timestamp::now(), "conformance")),
        sides,
    };
    let session = run(&order, signals::stop()).await?;
    out!("{}", table::markdown(&session));
    errln!("results: {}", order.out.display());
    if signals::stop().is_cancelled() {
        return Ok(Exit::Interrupted);
    }
    if let Some(path) = &args.record {
        let side = usize::from(order.against.is_some());
        record::write(path, &recorded(&order, &session, side)).context("recording the outcomes")?;
        errln!("outcomes recorded: {}", path.display());
    }
    Ok(match session.equivalent {
        Some(false) => Exit::Failed,
        // Nothing to compare with: recording was all that was asked for.
        Some(true) | None => Exit::Done,
    })
}

/// The scenarios named; all if none is named.
fn chosen(names: &[String]) -> Result<Vec<Scenario>, Usage> {
    let all = catalog::all();
    for name in names {
        if !all.iter().any(|scenario| scenario.name == name) {
            let nearest = all.iter().map(|s| s.name).max_by(|a, b| {
                let likeness = |other: &str| strsim::jaro_winkler(name, other);
                likeness(a).total_cmp(&likeness(b))
            });
            return Err(Usage::new(format!(
                "--scenario {name}: there is no such scenario; nearest: {}; `headroom conformance --list` shows all",
                nearest.unwrap_or_default()
            )));
        }
    }
    let wanted = |s: &Scenario| names.is_empty() || names.iter().any(|name| name == s.name);
    Ok(all.into_iter().filter(wanted).collect())
}

fn check(
    args: &ConformanceArgs,
    against: Option<&Recorded>,
    scenarios: &[Scenario],
) -> Result<(), Usage> {
    let bad = |problem: &str| Err(Usage::new(problem.to_owned()));
    match (args.hami.len(), against, &args.record) {
        (1, None, None) => bad(
            "one --hami is not enough to compare: give two, or --against FILE to compare it with recorded outcomes, or --record FILE",
        ),
        (1, ..) | (2, None, _) => match against.map(|recorded| recorded.lacking(scenarios)) {
            Some(lacking) if !lacking.is_empty() => Err(Usage::new(format!(
                "--against: the file has nothing about {}; record it again, or name others with --scenario",
                lacking.join(", ")
            ))),
            _ => Ok(()),
        },
        (0, ..) => {
            bad("name two extenders: give --hami twice, each builtin, auto, image[:TAG] or a path")
        }
        (2, ..) => bad("--against replaces a --hami: give only one"),
        _ => bad("--hami is given more than twice; two can be compared"),
    }
}

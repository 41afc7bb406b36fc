//! `headroom bench`.

use host::{errln, outln};

use super::all::All;
use super::args::BenchArgs;
use super::order::{order, own_folders};
use super::resume;
use super::setting::Setting;
use super::{Exit, Place, signals};
use components::{self, Cache, Hami};
use harness::bench::resume::Earlier;
use harness::bench::{self, Bench, News};
use harness::tenants;
use host::terminal::in_one;
use plan::{Order, Takes};
use present::tables::page::Outcome;
use present::tables::{soak, table, verdicts};

/// Runs experiments.
///
/// # Errors
/// Usage errors before anything is started. Later, a component or a file that fails.
pub async fn bench(place: &Place, mut args: BenchArgs) -> anyhow::Result<Exit> {
    let mut all = All::asked(&mut args)?;
    // All of them first: a mistake in the last must not show after an hour.
    let orders = if let Some(all) = &mut all {
        all.orders(place, &args)?
    } else {
        let each = args.experiments.iter();
        let orders: Vec<_> = each
            .map(|name| order(name, place, &args))
            .collect::<anyhow::Result<_>>()?;
        own_folders(&orders)?;
        orders
    };
    let earlier = resume::earlier(&args, &orders)?;
    if args.dry_run {
        dry_run(&orders, &earlier)?;
        return Ok(Exit::Done);
    }
    // Asked before anything is built: a wrong path is told at once.
    let mut settings: Vec<(&Setting, Cache, Hami)> = Vec::new();
    for (_, setting) in &orders {
        if settings.iter().all(|(known, ..)| *known != setting) {
            let cache = setting.place.open()?;
            let hami = setting.find_hami(&cache).await?;
            settings.push((setting, cache, hami));
        }
    }
    for plan in orders.iter().flat_map(|(order, _)| &order.plans) {
        for remark in plan.remarks() {
            errln!("note: {} {}: {remark}", plan.experiment, plan.arm);
        }
    }
    errln!("{}", expectation(&orders, &earlier, &settings));
    let mut benches = Vec::new();
    for (setting, cache, hami) in &settings {
        benches.push(prepare(&setting.place, cache, hami).await?);
    }
    let of = |setting: &Setting| {
        let mut ready = settings.iter().zip(&benches);
        let found = ready.find(|((known, ..), _)| *known == setting);
        found.map(|(_, bench)| bench)
    };
    resume::fits(&orders, &earlier, of)?;
    let mut outcomes = resume::complete(&orders, &earlier);
    let mut page = Ok(());
    for (i, (order, setting)) in orders.iter().enumerate() {
        if outcomes[i].is_some() {
            continue;
        }
        let Some(bench) = of(setting) else {
            continue; // every order's setting is among them
        };
        let outcome = match bench::session(bench, order, &mut tell, signals::stop()).await {
            Ok(ended) => {
                errln!("results: {}", ended.dir.display());
                Outcome::Ended(Box::new(ended))
            }
            Err(error) if orders.len() == 1 => return Err(error),
            Err(error) => {
                let error = in_one(&error);
                errln!("headroom: {}: {error}", order.experiment);
                Outcome::Failed(error)
            }
        };
        let interrupted = outcome.interrupted();
        outcomes[i] = Some(outcome);
        if let Some(all) = &all {
            page = all.write(&orders, &outcomes);
        }
        if interrupted {
            break;
        }
    }
    if let Some(all) = &all {
        all.print(&orders, &outcomes);
    }
    // What was measured is printed also where it can't be written.
    page?;
    Ok(exit(&outcomes))
}

/// Prints what happened in a session.
pub fn tell(news: News<'_>) {
    match news {
        News::Run {
            run,
            metrics,
            plan,
            session,
        } => outln!("{}", table::run_table(run, metrics, plan, session)),
        News::Failed(failed) => errln!("headroom: {}", verdicts::of_failed(failed)),
        News::Ended(summary) => {
            outln!("{}", verdicts::verdicts(summary));
            if let Some(of) = &summary.soak {
                let published = plan::published_restarts_per_hour();
                outln!("{}", soak::text(of, &summary.runs, published));
            }
        }
    }
}

fn exit(outcomes: &[Option<Outcome>]) -> Exit {
    let any = |of: fn(&Outcome) -> bool| outcomes.iter().flatten().any(of);
    if any(Outcome::interrupted) {
        Exit::Interrupted
    } else if any(Outcome::failed) {
        Exit::Failed
    } else if any(Outcome::disturbed) {
        Exit::Disturbed
    } else {
        Exit::Done
    }
}

/// Builds what is missing, and collects what every run needs.
///
/// # Errors
/// Those of [`components::setup`]; [`Interrupted`] if a signal stopped it.
pub async fn prepare(place: &Place, cache: &Cache, hami: &Hami) -> anyhow::Result<Bench> {
    Ok(Bench {
        programs: hami.among(place.programs(cache).await?),
        hami: hami.source.clone(),
        state_root: Place::state_root(cache),
    })
}

/// How long everything will take, for the first line.
fn expectation(
    orders: &[(Order, Setting)],
    earlier: &[Option<Earlier>],
    settings: &[(&Setting, Cache, Hami)],
) -> String {
    let (mut missing, mut setup_secs) = (Vec::new(), 0);
    for (setting, cache, _) in settings {
        if setting.place.components.is_none() {
            let (names, secs) = components::estimate(cache);
            missing.extend(names);
            setup_secs += secs;
        }
    }
    let setup = if missing.is_empty() {
        "set-up: nothing to build".to_owned()
    } else {
        let missing = missing.join(", ");
        format!("set-up: building {missing}, about {setup_secs} s")
    };
    let takes: Takes = resume::takes(orders, earlier).sum();
    format!("{setup}; {takes}")
}

fn dry_run(orders: &[(Order, Setting)], earlier: &[Option<Earlier>]) -> anyhow::Result<()> {
    for plan in orders.iter().flat_map(|(order, _)| &order.plans) {
        outln!("{}", plan.describe());
        for remark in plan.remarks() {
            outln!("note        {remark}");
        }
        outln!("objects");
        for object in tenants::objects(plan) {
            outln!("---\n{}", serde_saphyr::to_string(&object)?);
        }
    }
    if orders.len() > 1 {
        for ((order, _), takes) in orders.iter().zip(resume::takes(orders, earlier)) {
            outln!("{}: {takes}", order.experiment);
        }
    }
    let takes: Takes = resume::takes(orders, earlier).sum();
    outln!("in all: {takes}, without set-up");
    Ok(())
}

//! `headroom bench`.

use host::{errln, outln};
use std::collections::BTreeSet;
use std::io::{ErrorKind, IsTerminal};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};

use super::all::All;
use super::args::{BenchArgs, ShapeArgs};
use super::setting::{self, Setting};
use super::{Exit, Place, signals};
use ::results::run_folder::files;
use components::{self, Cache, Hami, Progress};
use harness::bench::{self, Bench, News};
use harness::tenants;
use host::terminal::in_one;
use host::usage::{OrUsage as _, Usage};
use plan::Order;
use plan::{self, Overrides, Plan, minutes};
use present::tables::page::Outcome;
use present::tables::{soak, table, verdicts};

/// Runs experiments.
///
/// # Errors
/// Usage errors before anything is started; a component or a file that fails, later.
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
    if args.dry_run {
        dry_run(&orders)?;
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
    errln!("{}", expectation(&orders, &settings));
    let mut benches = Vec::new();
    for (setting, cache, hami) in &settings {
        benches.push(prepare(&setting.place, cache, hami).await?);
    }
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut page = Ok(());
    for (order, setting) in &orders {
        let mut ready = settings.iter().zip(&benches);
        let Some((_, bench)) = ready.find(|((known, ..), _)| *known == setting) else {
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
        outcomes.push(outcome);
        if let Some(all) = &all {
            page = all.write(&orders, &outcomes);
        }
        if outcomes.last().is_some_and(Outcome::interrupted) {
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

/// Prints what a session has to tell.
pub fn tell(news: News<'_>) {
    match news {
        News::Run { run, plan, session } => outln!("{}", table::run_table(run, plan, session)),
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

fn exit(outcomes: &[Outcome]) -> Exit {
    let any = |of: fn(&Outcome) -> bool| outcomes.iter().any(of);
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

/// This command, to be recorded.
pub fn command_line() -> Vec<String> {
    std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// What is to be done for one experiment.
///
/// # Errors
/// If the experiment or the options for it are wrong.
pub fn order(name: &str, place: &Place, args: &BenchArgs) -> anyhow::Result<(Order, Setting)> {
    let experiment = plan::load(name).or_usage()?;
    let overrides = Overrides {
        compress: args.compress,
        timeline: args.timeline.clone(),
        quick: args.quick,
        repeat: args.repeat,
        soak_secs: args.soak,
        arms: args.arms.clone(),
        ..shape_overrides(&args.shape)
    };
    let out = args.out.as_ref().map(|out| match args.experiments.len() {
        1 => out.clone(),
        // A session an experiment: each has a folder of its own under the one that was named.
        _ => out.join(&experiment.name),
    });
    let mut host = setting::host(place, &args.shape, &experiment);
    host.out = out.or(host.out);
    if let Some(out) = &host.out {
        untaken(out)?;
    }
    host.keep |= args.keep;
    let setting = Setting::new(&host, &experiment)?;
    let plans = plan::plans(&experiment, &overrides).or_usage()?;
    if host.keep && plans.iter().any(|plan| plan.soak_secs.is_some()) {
        let problem = "--keep does not go with --soak: which run is the last is not known before; leave out one of them";
        return Err(Usage::new(problem.to_owned()).into());
    }
    let one = args.experiments.len() == 1;
    if args.quick && one && !plans.iter().any(|plan| plan.quick) {
        let name = &experiment.name;
        errln!("note: --quick changes nothing in {name}, which has no timeline");
    }
    let order = Order {
        expect: experiment.expected(&plans, &overrides),
        plans,
        experiment: experiment.name,
        host,
        command: command_line(),
    };
    Ok((order, setting))
}

/// Checks that a session's folder is new or empty.
pub fn untaken(path: &Path) -> Result<(), Usage> {
    let problem = match path.read_dir().map(|mut entries| entries.next().is_some()) {
        Ok(true) if path.join(files::SUMMARY).exists() => "it holds a session already",
        Ok(true) => "there are files in it",
        Err(error) if error.kind() == ErrorKind::NotADirectory => "it is no folder",
        _ => return Ok(()),
    };
    Err(Usage::new(format!(
        "--out {}: {problem}; name a new folder or an empty one",
        path.display()
    )))
}

/// Checks that no two sessions are to be written into one folder: `--out` has one for each experiment's name.
fn own_folders(orders: &[(Order, Setting)]) -> Result<(), Usage> {
    let mut taken = BTreeSet::new();
    let out = |(order, _): &(Order, Setting)| order.host.out.clone();
    match orders
        .iter()
        .filter_map(out)
        .find(|dir| !taken.insert(dir.clone()))
    {
        Some(dir) => Err(Usage::new(format!(
            "two experiments would be written to {}: give them names of their own, or use --repeat",
            dir.display()
        ))),
        None => Ok(()),
    }
}

/// What the options that shape a cluster say.
pub fn shape_overrides(shape: &ShapeArgs) -> Overrides {
    Overrides {
        limits: shape.limits,
        node_policy: shape.node_policy,
        nodes: shape.nodes,
        seed: shape.seed,
        ..Overrides::default()
    }
}

/// Builds what is missing and puts together what every run needs.
///
/// # Errors
/// As [`components::setup`]; [`Interrupted`] if a signal stopped it.
pub async fn prepare(place: &Place, cache: &Cache, hami: &Hami) -> anyhow::Result<Bench> {
    Ok(Bench {
        programs: hami.among(place.programs(cache).await?),
        hami: hami.source.clone(),
        state_root: Place::state_root(cache),
    })
}

/// How long it will all take, for the line at the start.
fn expectation(orders: &[(Order, Setting)], settings: &[(&Setting, Cache, Hami)]) -> String {
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
    format!("{setup}; {}", all_runs(orders))
}

fn dry_run(orders: &[(Order, Setting)]) -> anyhow::Result<()> {
    for plan in orders.iter().flat_map(|(order, _)| &order.plans) {
        outln!("{}", plan.describe());
        outln!("objects");
        for object in tenants::objects(plan) {
            outln!("---\n{}", serde_saphyr::to_string(&object)?);
        }
    }
    if orders.len() > 1 {
        for order in orders {
            let runs = all_runs(std::slice::from_ref(order));
            outln!("{}: {runs}", order.0.experiment);
        }
    }
    outln!("in all: {}, set-up not counted", all_runs(orders));
    Ok(())
}

/// How many runs there are and how long they take, bring-up and tear-down included.
fn all_runs(orders: &[(Order, Setting)]) -> String {
    let plans = || orders.iter().flat_map(|(order, _)| &order.plans);
    let runs = |plan: &Plan| f64::from(plan.repeats) * plan::run_secs(plan);
    // Of a soak all arms have the same time, together.
    let soaks = orders
        .iter()
        .filter_map(|(order, _)| order.plans.first()?.soak_secs);
    let soak_secs: f64 = soaks.sum();
    let fixed = || plans().filter(|plan| plan.soak_secs.is_none());
    let secs = soak_secs + fixed().map(runs).sum::<f64>();
    match fixed().map(|plan| plan.repeats).sum() {
        0 => format!("as many runs as end within {}", minutes(secs)),
        n if soak_secs > 0.0 => format!("{n} runs and a soak, about {}", minutes(secs)),
        1 => format!("1 run, about {}", minutes(secs)),
        n => format!("{n} runs, about {}", minutes(secs)),
    }
}

/// Says how a set-up goes on: one line that is overwritten on a terminal, plain lines elsewhere.
pub fn setup_report() -> impl FnMut(Progress) + Send {
    let bar = std::io::stderr().is_terminal().then(|| {
        let style = ProgressStyle::with_template("{wide_msg}");
        ProgressBar::new_spinner()
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
    });
    move |news| match (&bar, &news) {
        (Some(bar), Progress::Running { .. }) => bar.set_message(news.to_string()),
        (Some(bar), _) => bar.println(news.to_string()),
        // Each second would be too much for a log.
        (None, Progress::Running { elapsed, .. }) if elapsed.as_secs() % 10 != 0 => {}
        (None, _) => errln!("{news}"),
    }
}

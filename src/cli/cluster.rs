//! `headroom up`, `status`, `down`: a cluster left running to look into.

use super::args::UpArgs;
use super::bench::{prepare, shape_overrides};
use super::setting::{self, Setting};
use super::{Exit, Place, signals};
use harness::bench::run::{USER_AGENT, bring_up};
use harness::cluster::{self, SessionState};
use harness::tenants;
use host::usage::OrUsage as _;
use host::{errln, out, outln};

/// Brings a cluster with an experiment's teams up, leaves it running, and prints the line that points kubectl at it.
///
/// # Errors
/// As a run's bring-up.
pub async fn up(place: &Place, args: UpArgs) -> anyhow::Result<Exit> {
    let ended = brought_up(place, args).await;
    if ended.is_err() {
        // Whoever evaluates this must not go on with the cluster that they were logged into before.
        outln!("export KUBECONFIG=/dev/null; false");
    }
    ended
}

async fn brought_up(place: &Place, args: UpArgs) -> anyhow::Result<Exit> {
    let experiment = plan::load(&args.experiment).or_usage()?;
    let plans = plan::plans(&experiment, &shape_overrides(&args.shape)).or_usage()?;
    let Some(plan) = plans.first() else {
        anyhow::bail!(
            "experiment {} has no arm that runs by default",
            experiment.name
        );
    };
    let host = setting::host(place, &args.shape, &experiment);
    let setting = Setting::new(&host, &experiment)?;
    let cache = setting.place.open()?;
    let hami = setting.find_hami(&cache).await?;
    let bench = prepare(&setting.place, &cache, &hami).await?;
    // Not in the session's own folder, which `down` removes: whoever asks why a component died wants its log.
    let logs = cache.folder().join("up-logs");
    let _ = std::fs::remove_dir_all(&logs);
    let cluster = bring_up(&bench, plan, &logs, signals::stop()).await?;
    let client = cluster.client(USER_AGENT).await?;
    tenants::apply(&client, &tenants::objects(plan)).await?;
    tenants::admissible(&client, plan).await?;
    let (id, kubeconfig) = (cluster.id().to_owned(), cluster.kubeconfig());
    let secs = cluster.bring_up_secs();
    cluster.keep()?;
    errln!(
        "cluster {id} is up after {secs:.1} s; logs in {}; `headroom down` ends it",
        logs.display()
    );
    outln!("export KUBECONFIG={}", kubeconfig.display());
    Ok(Exit::Done)
}

/// Lists clusters and their components.
///
/// # Errors
/// If the folder of live clusters cannot be read.
pub fn status(place: &Place) -> anyhow::Result<Exit> {
    let cache = place.open()?;
    let sessions = cluster::list(&Place::state_root(&cache))?;
    if sessions.is_empty() {
        outln!("no cluster is running; `headroom up` brings one up");
    }
    for session in sessions {
        out!("{}", describe(&session));
    }
    Ok(Exit::Done)
}

fn describe(session: &SessionState) -> String {
    let what = match (session.kept, session.owner_pid) {
        (true, _) => "left running".to_owned(),
        (false, Some(pid)) => format!("in use by process {pid}"),
        (false, None) => "in use".to_owned(),
    };
    let mut text = format!(
        "{} ({what})\n  export KUBECONFIG={}\n",
        session.id,
        session.kubeconfig.display()
    );
    for (name, pid) in &session.components {
        text += &match pid {
            Some(pid) => format!("  {name:<24} process {pid}\n"),
            None => format!(
                "  {name:<24} DEAD (`headroom down {} && headroom up` for a fresh one)\n",
                session.id
            ),
        };
    }
    text
}

/// Takes kept clusters down.
///
/// # Errors
/// If `id` is no kept cluster, or something of it cannot be removed.
pub fn down(place: &Place, id: Option<&str>) -> anyhow::Result<Exit> {
    let cache = place.open()?;
    let ended = cluster::down(&Place::state_root(&cache), id).or_usage()?;
    if ended.is_empty() {
        outln!("no cluster was left running");
    }
    for id in ended {
        outln!("{id} is down");
    }
    Ok(Exit::Done)
}

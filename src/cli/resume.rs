//! `headroom bench --resume`: what the sessions of a folder have done, before anything is started.

use host::errln;

use super::args::BenchArgs;
use super::setting::Setting;
use harness::bench::Bench;
use harness::bench::resume::{Earlier, NoResume};
use host::usage::Usage;
use plan::{Order, Takes};
use present::tables::page::{Outcome, Page};

/// For each order the session that it continues, if it does.
///
/// # Errors
/// A session cannot be continued, there is none, or all are complete.
pub fn earlier(
    args: &BenchArgs,
    orders: &[(Order, Setting)],
) -> Result<Vec<Option<Earlier>>, Usage> {
    let Some(dir) = &args.resume else {
        return Ok(orders.iter().map(|_| None).collect());
    };
    let no = |why: String| Err(Usage::new(format!("--resume {}: {why}", dir.display())));
    if orders.iter().all(|(order, _)| !order.resume) {
        return no(if !dir.is_dir() {
            "there is no such folder".to_owned()
        } else if orders.len() == 1 && Page::is_in(dir) {
            "it is a folder of `headroom bench all`: name all, or the folder of the one session"
                .into()
        } else {
            "it holds no session of what is to run; name its folder, or the folder of `headroom bench all`".into()
        });
    }
    let of = |(order, _): &(Order, Setting)| {
        order
            .resume
            .then(|| checked(order))
            .transpose()
            .map_err(|e| told(&e))
    };
    let earlier = orders.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    if complete(orders, &earlier).iter().all(Option::is_some) {
        return no("it is complete; there is nothing to continue".to_owned());
    }
    for ((order, _), earlier) in orders.iter().zip(&earlier) {
        let name = &order.experiment;
        match earlier {
            Some(earlier) => {
                let (kept, left) = (earlier.kept(), earlier.left(order).len());
                errln!("continuing {name}: {kept} runs stay, {left} are left");
            }
            None => errln!("continuing: {name} has not begun"),
        }
    }
    Ok(earlier)
}

fn checked(order: &Order) -> Result<Earlier, NoResume> {
    let earlier = Earlier::read(order)?;
    earlier.at_rest()?;
    earlier.fits(order, None)?;
    Ok(earlier)
}

fn told(error: &NoResume) -> Usage {
    Usage::new(error.to_string())
}

/// Checks that the sessions go on with the programs with which they began.
///
/// # Errors
/// One does not.
pub fn fits<'a>(
    orders: &[(Order, Setting)],
    earlier: &[Option<Earlier>],
    bench: impl Fn(&Setting) -> Option<&'a Bench>,
) -> Result<(), Usage> {
    for ((order, setting), earlier) in orders.iter().zip(earlier) {
        if let Some(earlier) = earlier {
            earlier.fits(order, bench(setting)).map_err(|e| told(&e))?;
        }
    }
    Ok(())
}

/// For each order its end, if its session is complete.
pub fn complete(orders: &[(Order, Setting)], earlier: &[Option<Earlier>]) -> Vec<Option<Outcome>> {
    let each = orders.iter().zip(earlier);
    each.map(|((order, _), earlier)| {
        let ended = earlier.as_ref()?.complete(order)?;
        Some(Outcome::Ended(Box::new(ended)))
    })
    .collect()
}

/// For each order how long its runs take that are left.
pub fn takes(
    orders: &[(Order, Setting)],
    earlier: &[Option<Earlier>],
) -> impl Iterator<Item = Takes> {
    let each = orders.iter().zip(earlier);
    each.map(|((order, _), earlier)| match earlier {
        Some(earlier) => earlier.takes(order),
        None => order.takes(),
    })
}

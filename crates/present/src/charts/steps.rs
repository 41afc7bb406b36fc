//! Numbers of cards or requests over time, as steps.

use results::run_folder::Record;

/// What `records` held admitted over time, as steps from 0 to `end_secs`.
pub fn admitted_over_time<'a>(
    records: impl Iterator<Item = &'a Record>,
    end_secs: f64,
) -> Vec<(f64, f64)> {
    let mut changes = Vec::new();
    for record in records {
        let cards = f64::from(record.request.cards);
        for attempt in &record.attempts {
            if let Some(from) = attempt.admitted_secs {
                changes.push((from, cards));
                changes.push((attempt.released_secs.unwrap_or(f64::MAX), -cards));
            }
        }
    }
    steps(changes, end_secs)
}

/// Adds up changes over time to steps from 0 to `end_secs`. Of changes at one instant the losses come first.
pub fn steps(mut changes: Vec<(f64, f64)>, end_secs: f64) -> Vec<(f64, f64)> {
    changes.retain(|(at, _)| at.is_finite());
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut held = 0.0;
    let mut steps = vec![(0.0, 0.0)];
    for (at, change) in changes {
        if at > end_secs {
            break;
        }
        held += change;
        steps.push((at.max(0.0), held));
    }
    steps.push((end_secs, held));
    steps
}

/// The highest of them.
pub fn highest(steps: &[(f64, f64)]) -> f64 {
    steps.iter().map(|(_, height)| *height).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up_and_end_at_the_end() {
        let all = steps(vec![(3.0, 8.0), (1.0, 8.0), (3.0, -8.0), (99.0, 1.0)], 10.0);
        assert_eq!(
            all,
            [(0.0, 0.0), (1.0, 8.0), (3.0, 0.0), (3.0, 8.0), (10.0, 8.0)]
        );
    }
}

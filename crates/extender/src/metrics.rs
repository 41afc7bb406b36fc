//! `/metrics`: cards, quotas and pods' shares under HAMi's names, in Prometheus' text format. As in HAMi, cards are shown as
//! of the end of the last registration round.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::accounts::Accounts;
use super::api::lock;
use super::cards::{CardUse, NodeUse};
use super::server::Extender;

const BYTES_PER_MIB: f64 = 1024.0 * 1024.0;

/// The route that a scraper uses.
pub(crate) fn routes(extender: Arc<Extender>) -> Router {
    Router::new()
        .route("/metrics", get(scrape))
        .with_state(extender)
}

async fn scrape(State(extender): State<Arc<Extender>>) -> Response {
    let overview = extender.registration.read().await.overview.clone();
    let mut nodes: Vec<&NodeUse> = overview.values().collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    let text = render(&nodes, &lock(&extender.accounts));
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

type Labels<'a> = Vec<(&'a str, String)>;

fn gauge<'a>(
    text: &mut String,
    name: &str,
    help: &str,
    samples: impl IntoIterator<Item = (Labels<'a>, f64)>,
) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
    for (labels, value) in samples {
        let escaped = labels.iter().map(|(key, value)| {
            let value = value
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            format!("{key}=\"{value}\"")
        });
        let labels: Vec<String> = escaped.chain(["zone=\"vGPU\"".to_owned()]).collect();
        let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
    }
}

fn card_labels<'a>(node: &str, card: &CardUse, extra: &[(&'a str, i32)]) -> Labels<'a> {
    let card = &card.card;
    let mut labels = vec![
        ("node", node.to_owned()),
        ("device_uuid", card.id.clone()),
        ("device_index", card.index.to_string()),
        ("device_type", card.model.clone()),
    ];
    labels.extend(extra.iter().map(|(key, value)| (*key, value.to_string())));
    labels
}

/// A metric with one sample per card.
struct CardMetric {
    name: &'static str,
    help: &'static str,
    extra: fn(&CardUse) -> Vec<(&'static str, i32)>,
    value: fn(&CardUse) -> f64,
}

const CARD_METRICS: [CardMetric; 7] = [
    CardMetric {
        name: "hami_gpu_memory_limit_bytes",
        help: "Memory of a card",
        extra: |_| vec![],
        value: |card| bytes(card.card.mem_mib),
    },
    CardMetric {
        name: "hami_gpu_core_limit_ratio",
        help: "Cores of a card in percent",
        extra: |_| vec![],
        value: |card| f64::from(card.card.cores),
    },
    CardMetric {
        name: "hami_gpu_memory_allocated_bytes",
        help: "Memory of a card that is reserved",
        extra: |card| vec![("device_cores", card.card.cores)],
        value: |card| bytes(card.used_mem_mib),
    },
    CardMetric {
        name: "hami_gpu_shared_count",
        help: "Places of a card that are taken",
        extra: |_| vec![],
        value: |card| f64::from(card.used),
    },
    CardMetric {
        name: "hami_gpu_core_allocated_ratio",
        help: "Cores of a card that are reserved, in percent",
        extra: |_| vec![],
        value: |card| f64::from(card.used_cores),
    },
    CardMetric {
        name: "hami_node_gpu_overview",
        help: "Memory of a card that is reserved, beside its limits",
        extra: |card| {
            vec![
                ("device_cores", card.card.cores),
                ("device_memory_limit", card.card.mem_mib),
            ]
        },
        value: |card| bytes(card.used_mem_mib),
    },
    CardMetric {
        name: "hami_node_gpu_memory_allocated_ratio",
        help: "Part of a card's memory that is reserved",
        extra: |_| vec![],
        value: |card| match card.card.mem_mib {
            0 => 0.0,
            whole => f64::from(card.used_mem_mib) / f64::from(whole),
        },
    },
];

fn bytes(mib: i32) -> f64 {
    f64::from(mib) * BYTES_PER_MIB
}

fn render(nodes: &[&NodeUse], accounts: &Accounts) -> String {
    let mut text = String::new();
    for metric in CARD_METRICS {
        let cards = nodes
            .iter()
            .flat_map(|node| node.cards.iter().map(|card| (&node.name, card)));
        let samples = cards.map(|(node, card)| {
            let labels = card_labels(node, card, &(metric.extra)(card));
            (labels, (metric.value)(card))
        });
        gauge(&mut text, metric.name, metric.help, samples);
    }
    render_quotas(&mut text, accounts);
    render_pods(&mut text, accounts);
    text
}

fn render_quotas(text: &mut String, accounts: &Accounts) {
    #[expect(
        clippy::cast_precision_loss,
        reason = "metrics are floats; amounts this large do not occur"
    )]
    let number = |value: i64| value as f64;
    let (mut used, mut limits) = (Vec::new(), Vec::new());
    for (namespace, resource, quota) in accounts.quotas.all() {
        let mut labels = vec![
            ("namespace", namespace.to_owned()),
            ("quota_name", resource.to_owned()),
        ];
        if let Some(limit) = quota.limit {
            limits.push((labels.clone(), number(limit)));
        }
        labels.push(("limit", quota.limit.unwrap_or(0).to_string()));
        used.push((labels, number(quota.used)));
    }
    let help = "Reserved in a namespace";
    gauge(text, "hami_resource_quota_used", help, used);
    let help = "Limit of a namespace";
    gauge(text, "hami_resource_quota_limit", help, limits);
}

fn render_pods(text: &mut String, accounts: &Accounts) {
    let (mut memory, mut cores) = (Vec::new(), Vec::new());
    for held in accounts.reservations() {
        let containers = held.devices.values().flat_map(|it| it.iter().enumerate());
        for (index, container) in containers {
            for share in container {
                let labels = vec![
                    ("namespace", held.namespace.clone()),
                    ("node", held.node.clone()),
                    ("pod", held.pod.clone()),
                    ("container_index", index.to_string()),
                    ("device_uuid", share.uuid.clone()),
                ];
                memory.push((labels.clone(), bytes(share.mem_mib)));
                cores.push((labels, f64::from(share.cores)));
            }
        }
    }
    let help = "Memory reserved for a pod on a card";
    gauge(text, "hami_vgpu_memory_allocated_bytes", help, memory);
    let help = "Cores reserved for a pod on a card, in percent";
    gauge(text, "hami_vgpu_core_allocated_ratio", help, cores);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards::of_node;
    use crate::testing::{eight_cards, node};

    #[test]
    fn a_card_shows_under_hamis_names() {
        let mut node = NodeUse::idle(
            "gpu-00",
            &of_node(&node("gpu-00", &eight_cards("gpu-00"))).unwrap(),
        );
        node.cards[0].take(1, 2456, 10);
        node.cards[0].card.model = "A \"card\"".to_owned();
        let text = render(&[&node], &Accounts::default());
        let labels =
            r#"node="gpu-00",device_uuid="gpu-00-gpu-0",device_index="0",device_type="A \"card\"""#;
        assert!(
            text.contains(&format!(
                "hami_gpu_shared_count{{{labels},zone=\"vGPU\"}} 1\n"
            )),
            "{text}"
        );
        assert!(text.contains(&format!(
            "hami_gpu_memory_limit_bytes{{{labels},zone=\"vGPU\"}} 25757220864\n"
        )));
        assert_eq!(text.matches("\nhami_gpu_core_limit_ratio{").count(), 8);
    }
}

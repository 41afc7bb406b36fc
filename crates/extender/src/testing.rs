//! Objects for unit tests.

use std::sync::Arc;

use clap::Parser;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

use super::args::Args;
use super::device_config::Nvidia;

/// The device file that the harness writes.
pub fn nvidia() -> Nvidia {
    Nvidia {
        count: "nvidia.com/gpu".to_owned(),
        memory: "nvidia.com/gpumem".to_owned(),
        memory_percent: "nvidia.com/gpumem-percentage".to_owned(),
        cores: "nvidia.com/gpucores".to_owned(),
        default_mem_mib: 0,
        default_cores: 0,
        memory_factor: 1,
    }
}

/// A pod `team/job` with these containers.
pub fn pod(containers: &Value) -> Pod {
    let pod = json!({
        "metadata": { "namespace": "team", "name": "job", "uid": "u1" },
        "spec": { "containers": containers },
    });
    serde_json::from_value(pod).unwrap()
}

/// A pod that asks for cards in one container.
pub fn card_pod(limits: &Value) -> Pod {
    pod(&json!([{ "name": "main", "resources": { "limits": limits } }]))
}

/// A node whose device plugin reported this.
pub fn node(name: &str, register: &str) -> Arc<Node> {
    let node = json!({ "metadata": { "name": name, "annotations": { "hami.io/node-nvidia-register": register } } });
    Arc::new(serde_json::from_value(node).unwrap())
}

/// The report of a node of eight RTX 4090, four on each NUMA node.
pub fn eight_cards(node: &str) -> String {
    let cards: Vec<Value> = (0..8)
        .map(|index| {
            json!({
                "id": format!("{node}-gpu-{index}"), "index": index, "count": 10, "devmem": 24564, "devcore": 100,
                "type": "NVIDIA-NVIDIA GeForce RTX 4090", "numa": index / 4, "mode": "hami-core", "health": true,
            })
        })
        .collect();
    Value::from(cards).to_string()
}

/// A command line with these flags and a device file.
pub fn args(flags: &[&str]) -> Result<Args, clap::Error> {
    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }
    let device_file = concat!(
        "--device-config-file=",
        concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
        "/manifests/hami-device-config.yaml"
    );
    let all = ["extender", device_file]
        .into_iter()
        .chain(flags.iter().copied());
    Command::try_parse_from(all).map(|command| command.args)
}

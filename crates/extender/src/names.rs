//! The annotation and label keys that HAMi v2.10, its device plugin and its users share.

/// Chosen node, written at filter time (annotation and label).
pub const ASSIGNED_NODE: &str = "hami.io/vgpu-node";
/// Unix seconds of the filter decision.
pub const ASSIGNED_TIME: &str = "hami.io/vgpu-time";
/// Cards that the device plugin must still hand over.
pub const TO_ALLOCATE: &str = "hami.io/vgpu-devices-to-allocate";
/// Cards reserved for the pod. Reservations are restored from it.
pub const ALLOCATED: &str = "hami.io/vgpu-devices-allocated";
/// `allocating` from the bind on; the device plugin sets it to `success` or `failed`.
pub const BIND_PHASE: &str = "hami.io/bind-phase";
/// Unix seconds of the bind.
pub const BIND_TIME: &str = "hami.io/bind-time";

/// A node's cards as the device plugin reports them (JSON).
pub const NODE_REGISTER: &str = "hami.io/node-nvidia-register";
/// How well a node's cards are linked to each other (JSON).
pub const NODE_PAIR_SCORES: &str = "hami.io/node-nvidia-score";
/// Cards of a node that take no new pods, comma separated.
pub const NODE_CORDONED_CARDS: &str = "hami.io/device-cordon";
/// The node lock: `RFC3339,namespace,pod`.
pub const NODE_LOCK: &str = "hami.io/mutex.lock";

/// Handshake of NVIDIA's device plugin.
pub const HANDSHAKE: &str = "hami.io/node-handshake";
/// Handshakes that HAMi makes with every node for other vendors, whether or not they have cards there.
pub const OTHER_HANDSHAKES: [&str; 4] = [
    "hami.io/node-handshake-dcu",
    "hami.io/node-handshake-xpu",
    "hami.io/node-handshake-va",
    "hami.io/node-handshake-biren",
];

/// A pod's own node policy.
pub const NODE_POLICY: &str = "hami.io/node-scheduler-policy";
/// A pod's own card policy.
pub const GPU_POLICY: &str = "hami.io/gpu-scheduler-policy";
/// A pod's own weights for scoring cards: `slot=1,core=1,memory=1`.
pub const SCORING_WEIGHTS: &str = "hami.io/device-scoring-weights";
/// Card models that a pod requires, comma separated.
pub const USE_TYPE: &str = "nvidia.com/use-gputype";
/// Card models that a pod refuses, comma separated.
pub const NO_USE_TYPE: &str = "nvidia.com/nouse-gputype";
/// Cards that a pod requires, comma separated.
pub const USE_UUID: &str = "nvidia.com/use-gpuuuid";
/// Cards that a pod refuses, comma separated.
pub const NO_USE_UUID: &str = "nvidia.com/nouse-gpuuuid";
/// Whether all of a container's cards must share a NUMA node.
pub const NUMA_BIND: &str = "nvidia.com/numa-bind";
/// The sharing mode that a pod requires.
pub const ALLOCATE_MODE: &str = "nvidia.com/vgpu-mode";

/// Marks a member of a pod group, whose bind waits for a contended node lock.
pub const POD_GROUP_LABEL: &str = "scheduling.x-k8s.io/pod-group";

/// The vendor word in device annotations.
pub const NVIDIA: &str = "NVIDIA";

//! Creates objects given as JSON.

use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

/// The API server refused an object.
#[derive(Debug, thiserror::Error)]
#[error("could not create {kind} {name}: {source}")]
pub struct ApplyError {
    kind: String,
    name: String,
    source: Box<kube::Error>,
}

/// Creates the objects one after the other.
///
/// # Errors
/// Names the first object that is refused, with the API server's reason.
pub async fn apply(client: &Client, objects: &[Value]) -> Result<(), ApplyError> {
    for object in objects {
        create(client, object).await?;
    }
    Ok(())
}

/// Creates one object.
///
/// # Errors
/// The API server refused it or could not be reached.
pub async fn create(client: &Client, object: &Value) -> Result<(), ApplyError> {
    let text = |pointer| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let error = |source| ApplyError {
        kind: kind.to_owned(),
        name: text("/metadata/name").to_owned(),
        source: Box::new(source),
    };
    let parsed =
        serde_json::from_value(object.clone()).map_err(|e| error(kube::Error::SerdeError(e)))?;
    api.create(&PostParams::default(), &parsed)
        .await
        .map_err(error)?;
    Ok(())
}

//! A way to a registry that misbehaves.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Forwards connections, and ends each after some bytes of answers.
pub struct Proxy {
    pub address: String,
    log: Arc<Mutex<Vec<u8>>>,
}

impl Proxy {
    /// Starts in front of `upstream`; each connection ends after `bytes` of answers.
    pub async fn cutting_after(upstream: &str, bytes: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let log = Arc::default();
        tokio::spawn(accept(
            listener,
            upstream.to_owned(),
            bytes,
            Arc::clone(&log),
        ));
        Self { address, log }
    }

    /// Heads of the requests that came through.
    pub fn requests(&self) -> Vec<String> {
        let log = String::from_utf8_lossy(&self.log.lock().unwrap()).to_lowercase();
        log.split("\r\n\r\n")
            .filter(|head| !head.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

async fn accept(listener: TcpListener, upstream: String, bytes: usize, log: Arc<Mutex<Vec<u8>>>) {
    while let Ok((client, _)) = listener.accept().await {
        let server = TcpStream::connect(&upstream).await.unwrap();
        tokio::spawn(forward(client, server, bytes, Arc::clone(&log)));
    }
}

async fn forward(client: TcpStream, server: TcpStream, bytes: usize, log: Arc<Mutex<Vec<u8>>>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = async move {
        let mut buffer = vec![0; 1 << 14];
        while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
            log.lock().unwrap().extend_from_slice(&buffer[..read]);
            if to_server.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    };
    let answers = async move {
        let mut buffer = vec![0; 1 << 14];
        let mut left = bytes;
        while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
            let passed = read.min(left);
            if to_client.write_all(&buffer[..passed]).await.is_err() {
                return;
            }
            left -= passed;
            if left == 0 {
                return;
            }
        }
    };
    // Whichever side ends first ends the connection: both halves are dropped.
    tokio::select! { () = requests => {}, () = answers => {} }
}

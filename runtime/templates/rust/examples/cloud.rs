//! Serves the cloud in memory on loopback: `cargo run --example cloud -- 8080`, and the URL is printed.

#[path = "../tests/cloud.rs"]
mod cloud;

fn main() -> std::io::Result<()> {
    let port = std::env::args()
        .nth(1)
        .and_then(|it| it.parse().ok())
        .unwrap_or(0);
    let served = aerostat_sdk::testing::serve(cloud::Cloud::default(), port)?;
    println!("{}", served.url());
    served.wait();
    Ok(())
}

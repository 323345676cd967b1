//! Places for the connections to one server, and which connection goes when there are too many.
//!
//! Everybody who reaches the port may connect, so that nobody is refused: a newcomer always gets a place, and an older
//! connection goes. Else those who connect and stay silent would keep the kubelet's probe out, and the kubelet would end
//! the process.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

/// How far a connection has come. Each stage has places of its own: many connections in one stage take nothing from
/// those who are past it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum ConnectionStage {
    /// A TCP connection, without a TLS handshake so far.
    Connected,
    /// It has TLS, and has sent no head of a request.
    Encrypted,
    /// It has sent the head of a request, as probes do.
    Asked,
    /// It is past a limit: it has sent a token that the API server knows, as scrapers do, or has one of the few questions
    /// that webhooks may ask the cloud.
    Admitted,
}

impl ConnectionStage {
    /// How many connections may be in it. A connection costs an attacker the less the earlier its stage is, so that there
    /// are most places where it has to hold out against most. All together stay far below 1024, a common limit of open
    /// files.
    fn places(self) -> usize {
        match self {
            Self::Connected => 256,
            Self::Encrypted | Self::Asked | Self::Admitted => 64,
        }
    }
}

/// A connection and its last sign of life.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Connection {
    id: u64,
    peer: IpAddr,
    stage: ConnectionStage,
}

/// Which connection has to go, so that `stage` has no more than its places.
///
/// `connections` begin with the one that did nothing for longest. Of the peer with the most connections in this stage the
/// first one goes: whoever opens many loses his own, and where all peers are equal, or one, the longest silent goes.
fn surplus(connections: &[Connection], stage: ConnectionStage) -> Option<usize> {
    let here = || connections.iter().enumerate().filter(|(_, it)| it.stage == stage);
    if here().count() <= stage.places() {
        return None;
    }
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for (_, connection) in here() {
        *counts.entry(connection.peer).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    here().find(|(_, it)| counts[&it.peer] == most).map(|(index, _)| index)
}

/// Whom an address stands for: a network of 64 bits is one peer, as one machine has all of its addresses.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(it) => Ipv6Addr::from_bits(it.to_bits() & !u128::from(u64::MAX)).into(),
        it @ IpAddr::V4(_) => it,
    }
}

/// The places of one server.
#[derive(Default)]
pub(crate) struct ConnectionPlaces(Mutex<OpenConnections>);

#[derive(Default)]
struct OpenConnections {
    ids: u64,
    /// The longest silent first. A connection goes when its sender is dropped.
    connections: Vec<Connection>,
    ends: HashMap<u64, oneshot::Sender<()>>,
}

/// A connection's place, until it is dropped.
pub(crate) struct ConnectionPlace {
    places: Arc<ConnectionPlaces>,
    id: u64,
}

impl ConnectionPlaces {
    /// A place for a new connection, and what is ready when it has to go.
    pub(crate) fn take(
        self: &Arc<Self>,
        address: IpAddr,
    ) -> (ConnectionPlace, impl Future<Output = ()> + Send + use<>) {
        let (end, ended) = oneshot::channel();
        let mut held = self.held();
        held.ids += 1;
        let id = held.ids;
        held.ends.insert(id, end);
        held.connections.push(Connection { id, peer: peer(address), stage: ConnectionStage::Connected });
        held.shed(ConnectionStage::Connected);
        // Nothing is ever sent: the end is that the sender is gone.
        let ended = async { drop(ended.await) };
        (ConnectionPlace { places: self.clone(), id }, ended)
    }

    fn held(&self) -> MutexGuard<'_, OpenConnections> {
        self.0.lock()
    }
}

impl OpenConnections {
    fn remove(&mut self, id: u64) -> Option<Connection> {
        let index = self.connections.iter().position(|it| it.id == id)?;
        Some(self.connections.remove(index))
    }

    fn shed(&mut self, stage: ConnectionStage) {
        if let Some(index) = surplus(&self.connections, stage) {
            let Connection { id, .. } = self.connections.remove(index);
            self.ends.remove(&id);
        }
    }
}

impl ConnectionPlace {
    /// Says how far the connection has come, and that it did something now. It never falls back.
    pub(crate) fn reach(&self, stage: ConnectionStage) {
        let mut held = self.places.held();
        // None: it was shed a moment ago.
        if let Some(connection) = held.remove(self.id) {
            let stage = stage.max(connection.stage);
            held.connections.push(Connection { stage, ..connection });
            held.shed(stage);
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut held = self.places.held();
        held.remove(self.id);
        held.ends.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn connections(parts: &[(&str, ConnectionStage, usize)]) -> Vec<Connection> {
        let all =
            parts.iter().flat_map(|&(it, stage, count)| std::iter::repeat_n((peer(it.parse().unwrap()), stage), count));
        all.zip(0..).map(|((peer, stage), id)| Connection { id, peer, stage }).collect()
    }

    /// `parts` are the connections, the longest silent first: their address, their stage, and how many of them follow
    /// each other.
    fn check(parts: &[(&str, ConnectionStage, usize)], stage: ConnectionStage, goes: Option<usize>) {
        assert_eq!(surplus(&connections(parts), stage), goes, "{parts:?}, {stage:?}");
    }

    #[test]
    fn adv_102_the_connection_to_end_is_chosen() {
        use ConnectionStage::{Admitted, Asked, Connected, Encrypted};
        const KUBELET: &str = "192.0.2.1";
        const NEIGHBOUR: &str = "198.51.100.7";
        // There is room.
        check(&[], Connected, None);
        check(&[(NEIGHBOUR, Connected, 256)], Connected, None);
        check(&[(NEIGHBOUR, Connected, 256), (KUBELET, Connected, 1)], Asked, None);
        // Many connections of one address lose one of their own, whether the probe came before or after it.
        check(&[(NEIGHBOUR, Connected, 256), (KUBELET, Connected, 1)], Connected, Some(0));
        check(&[(KUBELET, Connected, 1), (NEIGHBOUR, Connected, 256)], Connected, Some(1));
        // At the probe's own address the longest silent goes, and the probe has come last.
        check(&[(KUBELET, Connected, 257)], Connected, Some(0));
        // Those in other stages are neither counted nor ended.
        check(&[(NEIGHBOUR, Encrypted, 64), (NEIGHBOUR, Connected, 256), (KUBELET, Connected, 1)], Connected, Some(64));
        check(&[(NEIGHBOUR, Connected, 256), (KUBELET, Encrypted, 1)], Encrypted, None);
        check(&[(KUBELET, Asked, 1), (NEIGHBOUR, Asked, 64), (NEIGHBOUR, Admitted, 1)], Asked, Some(1));
        check(&[(KUBELET, Admitted, 64), (NEIGHBOUR, Asked, 65)], Asked, Some(64));
        check(&[(KUBELET, Admitted, 65)], Admitted, Some(0));
        // One machine with many addresses is one peer.
        check(
            &[(KUBELET, Encrypted, 1), ("2001:db8::1", Encrypted, 32), ("2001:db8::2", Encrypted, 32)],
            Encrypted,
            Some(1),
        );
        check(&[(KUBELET, Encrypted, 32), ("::ffff:192.0.2.1", Encrypted, 33)], Encrypted, Some(0));
    }

    #[test]
    fn adv_102_among_many_equal_peers_the_longest_silent_goes() {
        let peers: Vec<_> = (0..=256).map(|it: u32| IpAddr::from((0x7f00_0001 + it).to_be_bytes())).collect();
        let connection = |(id, &peer): (u64, &IpAddr)| Connection { id, peer, stage: ConnectionStage::Connected };
        let connections: Vec<_> = (0..).zip(&peers).map(connection).collect();
        assert_eq!(surplus(&connections, ConnectionStage::Connected), Some(0));
    }

    #[test]
    fn a_place_is_given_back_and_its_connection_closed() {
        let places = Arc::new(ConnectionPlaces::default());
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let (first, first_ended) = places.take(address);
        let (second, second_ended) = places.take(address);
        // It did something, so that the second is now the longest silent.
        first.reach(ConnectionStage::Connected);
        let others: Vec<_> = (2..=ConnectionStage::Connected.places()).map(|_| places.take(address)).collect();
        assert!(second_ended.now_or_never().is_some(), "it was the longest silent");
        assert!(first_ended.now_or_never().is_none());
        second.reach(ConnectionStage::Asked);
        assert_eq!(places.held().connections.len(), ConnectionStage::Connected.places(), "whoever has gone stays away");
        drop((first, second, others));
        assert!(places.held().connections.is_empty() && places.held().ends.is_empty());
    }

    #[test]
    fn no_stage_is_lost_again() {
        let places = Arc::new(ConnectionPlaces::default());
        let (place, _ended) = places.take("192.0.2.1".parse().unwrap());
        for (reached, stage) in [
            (ConnectionStage::Encrypted, ConnectionStage::Encrypted),
            (ConnectionStage::Admitted, ConnectionStage::Admitted),
            (ConnectionStage::Asked, ConnectionStage::Admitted),
        ] {
            place.reach(reached);
            assert_eq!(places.held().connections[0].stage, stage);
        }
    }
}

//! Identifies the process at the other end of a connection within this machine. Works on Linux;
//! elsewhere nothing is known, and nothing is refused because of it.
//!
//! Used once per connection by `http::listener` (another user?), and by `http::guard` on calls that
//! only people may make (a process of an agent?).

use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;

/// The two ends of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    remote: SocketAddr,
    local: SocketAddr,
}

/// The owner of the socket at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nobody tells"))]
enum Owner {
    /// A process of this user, by the socket's inode.
    Known { user: u32, inode: u64 },
    /// The socket is closed.
    Gone,
    /// The system does not reveal it.
    Unknown,
}

impl Peer {
    /// The two ends of a connection; `None` if it is broken.
    pub fn of(stream: &TcpStream) -> Option<Self> {
        Some(Self::new(stream.peer_addr().ok()?, stream.local_addr().ok()?))
    }

    /// A connection between two addresses. IPv4 addresses mapped to IPv6, as on dual-stack sockets,
    /// become plain IPv4.
    pub fn new(remote: SocketAddr, local: SocketAddr) -> Self {
        let canonical =
            |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        Self { remote: canonical(remote), local: canonical(local) }
    }

    /// The address of the other end.
    pub fn address(&self) -> IpAddr {
        self.remote.ip()
    }

    /// Whether both ends are on this machine.
    fn is_within_this_machine(&self) -> bool {
        self.remote.ip().is_loopback() || self.remote.ip() == self.local.ip()
    }

    /// Whether another user of this machine is at the other end. Root does not count: no server is
    /// safe from it. A peer that has hung up counts as another user, because its owner is no longer
    /// known.
    pub fn is_another_user(&self) -> bool {
        if !self.is_within_this_machine() {
            return false;
        }
        match linux::owner(self.remote, self.local) {
            Owner::Known { user, .. } => user != 0 && user != linux::own_user(),
            Owner::Gone => true,
            Owner::Unknown => false,
        }
    }

    /// Whether a process started by an agent is at the other end. A local peer that has hung up
    /// counts as one: a client that answers a permission request waits for the response. Blocks for
    /// a moment.
    pub fn is_agent(&self) -> bool {
        match linux::owner(self.remote, self.local) {
            Owner::Known { inode, .. } => linux::started_here(inode),
            Owner::Gone => self.is_within_this_machine(),
            Owner::Unknown => false,
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::sync::LazyLock;

    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

    use super::Owner;

    /// The owner of the socket that is bound to `socket` and connected to `other`.
    pub(super) fn owner(socket: SocketAddr, other: SocketAddr) -> Owner {
        match ask(socket, other) {
            Ok(owner) => owner,
            // Not found, or the kernel cannot be asked: the table decides.
            Err(_) => look_up(socket, other),
        }
    }

    pub(super) fn own_user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    /// Whether a descendant of this process has the socket open.
    pub(super) fn started_here(inode: u64) -> bool {
        let socket = format!("socket:[{inode}]");
        platform::supervisor::started_processes().into_iter().any(|process| {
            let open = fs::read_dir(format!("/proc/{process}/fd"));
            open.into_iter().flatten().flatten().any(|file| {
                fs::read_link(file.path()).is_ok_and(|target| target == Path::new(&socket))
            })
        })
    }

    const DIAG_BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    const HEADER: usize = 16;
    /// Length of a request with its header, in bytes.
    const LENGTH: u32 = 72;
    /// Offsets of the user and the inode in an answer.
    const USER: usize = HEADER + 64;
    const INODE: usize = HEADER + 68;
    const TCP: u8 = 6;

    /// Shared by all callers, and opened before the system can run out of file handles. The kernel
    /// answers each request before the call that sends it returns.
    static SOCKET: LazyLock<Option<parking_lot::Mutex<(OwnedFd, u32)>>> = LazyLock::new(|| {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol = Some(netlink::SOCK_DIAG);
        let kind = SocketType::DGRAM;
        match rustix::net::socket_with(AddressFamily::NETLINK, kind, flags, protocol) {
            Ok(socket) => Some(parking_lot::Mutex::new((socket, 0))),
            Err(error) => {
                tracing::info!(%error, "can't ask the kernel who has a socket, its table is read");
                None
            }
        }
    });

    /// Asks the kernel (`sock_diag`) about exactly this socket.
    fn ask(socket: SocketAddr, other: SocketAddr) -> io::Result<Owner> {
        let shared = SOCKET.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let mut shared = shared.lock();
        shared.1 = shared.1.wrapping_add(1);
        let number = shared.1;
        rustix::net::send(&shared.0, &question(socket, other, number), SendFlags::empty())?;
        let mut answer = [0; 512];
        loop {
            let (_, length) = rustix::net::recv(&shared.0, &mut answer[..], RecvFlags::DONTWAIT)?;
            let answer = answer.get(..length).unwrap_or(&answer);
            // The answer to an earlier request that was given up.
            if word(answer, 8)? != number {
                continue;
            }
            // Another type of message: an error, such as not found.
            if answer.get(4..6) != Some(&DIAG_BY_FAMILY.to_ne_bytes()) {
                return Err(io::ErrorKind::NotFound.into());
            }
            return Ok(known(word(answer, USER)?, word(answer, INODE)?.into()));
        }
    }

    fn question(socket: SocketAddr, other: SocketAddr, number: u32) -> Vec<u8> {
        let family = match socket {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let family = u8::try_from(family.as_raw()).unwrap_or_default();
        let mut bytes = Vec::with_capacity(72);
        bytes.extend(LENGTH.to_ne_bytes());
        bytes.extend(DIAG_BY_FAMILY.to_ne_bytes());
        bytes.extend(REQUEST.to_ne_bytes());
        bytes.extend(number.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend([family, TCP, 0, 0]);
        // Sockets in any state.
        bytes.extend(u32::MAX.to_ne_bytes());
        bytes.extend(socket.port().to_be_bytes());
        bytes.extend(other.port().to_be_bytes());
        for address in [socket.ip(), other.ip()] {
            match address {
                IpAddr::V4(address) => {
                    bytes.extend(address.octets());
                    bytes.extend([0; 12]);
                }
                IpAddr::V6(address) => bytes.extend(address.octets()),
            }
        }
        // On any interface, with any cookie.
        bytes.extend([0; 4]);
        bytes.extend([0xff; 8]);
        bytes
    }

    fn word(bytes: &[u8], place: usize) -> io::Result<u32> {
        let word = bytes.get(place..place + 4).and_then(|word| word.try_into().ok());
        word.map(u32::from_ne_bytes).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// A closed socket has no inode, and appears to belong to root.
    fn known(user: u32, inode: u64) -> Owner {
        if inode == 0 { Owner::Gone } else { Owner::Known { user, inode } }
    }

    /// The same from `/proc/net/tcp`, for kernels that cannot be asked.
    fn look_up(socket: SocketAddr, other: SocketAddr) -> Owner {
        let mut is_told = false;
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            let Ok(text) = fs::read_to_string(table) else { continue };
            is_told = true;
            let is_wide = table.ends_with('6');
            let (Some(socket), Some(other)) = (name(socket, is_wide), name(other, is_wide)) else {
                continue;
            };
            if let Some(owner) = find(&text, &socket, &other) {
                return owner;
            }
        }
        if is_told { Owner::Gone } else { Owner::Unknown }
    }

    fn find(table: &str, socket: &str, other: &str) -> Option<Owner> {
        table.lines().find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields.get(1) != Some(&socket) || fields.get(2) != Some(&other) {
                return None;
            }
            Some(known(fields.get(7)?.parse().ok()?, fields.get(9)?.parse().ok()?))
        })
    }

    /// An address in the format of the table; `None` if it is of the other family.
    fn name(address: SocketAddr, is_wide: bool) -> Option<String> {
        let port = address.port();
        let octets: Vec<u8> = match address.ip() {
            IpAddr::V4(short) if is_wide => Ipv4Addr::to_ipv6_mapped(&short).octets().into(),
            IpAddr::V4(short) => short.octets().into(),
            IpAddr::V6(long) if is_wide => long.octets().into(),
            IpAddr::V6(_) => return None,
        };
        let words = octets.chunks_exact(4).map(|word| {
            let word = word.try_into().map(u32::from_ne_bytes).unwrap_or_default();
            format!("{word:08X}")
        });
        Some(format!("{}:{port:04X}", words.collect::<String>()))
    }

    #[cfg(test)]
    mod tests {
        use std::net::{TcpListener, TcpStream};
        use std::os::fd::{AsFd, AsRawFd};
        use std::os::linux::fs::MetadataExt;

        use super::*;

        #[test]
        fn both_ways_tell_who_has_a_socket_and_when_nobody_has_it_any_more() {
            for address in ["127.0.0.1:0", "[::1]:0"] {
                let Ok(listener) = TcpListener::bind(address) else { continue };
                let server = listener.local_addr().expect("bound");
                let client = TcpStream::connect(server).expect("connects");
                let (accepted, remote) = listener.accept().expect("a connection");
                let file = format!("/proc/self/fd/{}", client.as_fd().as_raw_fd());
                let inode = fs::metadata(file).expect("open").st_ino();
                let known = Owner::Known { user: own_user(), inode };
                assert_eq!(ask(remote, server).expect("the kernel tells"), known);
                assert_eq!(look_up(remote, server), known);
                drop(client);
                for owner in [owner(remote, server), look_up(remote, server)] {
                    assert_eq!(owner, Owner::Gone);
                }
                drop(accepted);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use std::net::SocketAddr;

    use super::Owner;

    pub(super) fn owner(_socket: SocketAddr, _other: SocketAddr) -> Owner {
        Owner::Unknown
    }

    pub(super) fn own_user() -> u32 {
        0
    }

    pub(super) fn started_here(_inode: u64) -> bool {
        false
    }
}

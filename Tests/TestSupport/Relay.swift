import Foundation
import Glibc
import Synchronization

/// A TCP proxy on a loopback port before the socket of a PostgreSQL server, which can discard all bytes without closing
/// a connection, as a router does that has lost its connection table.
package final class Relay: Sendable {
    package var port: UInt16 { listener.port }
    private let listener: ListeningSocket
    private let destination: String
    private let isDiscarding = Atomic(false)
    private let accepted = Atomic(0)
    private let discarded = Atomic(0)
    /// Those that may be shut down. Each is closed under the lock: from then on its number may be another file's.
    private let sockets: Mutex<Set<Int32>>

    /// - Parameters:
    ///   - socketDirectory: the directory of the server's socket.
    ///   - host: the last byte of the loopback address, 127.0.0.1 by default.
    ///   - port: a free one by default.
    package init(to socketDirectory: String, host: UInt8 = 1, port: UInt16 = 0) throws {
        destination = socketDirectory + "/.s.PGSQL.5432"
        let listener = try ListeningSocket(host: host, port: port)
        self.listener = listener
        sockets = Mutex([listener.descriptor])
        Thread { [self] in accept() }.start()
    }

    /// The number of connections that were made to it; a cancel request of libpq is one too.
    package var connectionCount: Int { accepted.load(ordering: .sequentiallyConsistent) }

    /// Whether bytes have come that were discarded.
    package var hasDiscarded: Bool { discarded.load(ordering: .sequentiallyConsistent) > 0 }

    /// Discards all bytes from now on: on the present connections for good, on new ones until `recover()`.
    package func discard() { isDiscarding.store(true, ordering: .sequentiallyConsistent) }

    /// Lets new connections work again.
    package func recover() { isDiscarding.store(false, ordering: .sequentiallyConsistent) }

    /// Ends all connections and takes no more.
    package func stop() {
        sockets.withLock { for socket in $0 { shutdown(socket, Int32(SHUT_RDWR)) } }
    }

    private func accept() {
        var unserved: [Int32] = []
        while case let client = Glibc.accept(listener.descriptor, nil, nil), client >= 0 {
            accepted.add(1, ordering: .sequentiallyConsistent)
            sockets.withLock { _ = $0.insert(client) }
            // A connection that is accepted meanwhile has no server, also later.
            guard !isDiscarding.load(ordering: .sequentiallyConsistent), let server = connect() else {
                unserved.append(client)
                continue
            }
            sockets.withLock { _ = $0.insert(server) }
            let pair = Pair()
            for (from, to) in [(client, server), (server, client)] {
                Thread { [self] in
                    pump(from, to, pair)
                    if pair.ended.add(1, ordering: .sequentiallyConsistent).newValue == 2 { close([client, server]) }
                }.start()
            }
        }
        close(unserved + [listener.descriptor])
    }

    private func close(_ ended: [Int32]) {
        sockets.withLock { open in
            for socket in ended where open.remove(socket) != nil { Glibc.close(socket) }
        }
    }

    private func connect() -> Int32? {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: destination.utf8.prefix($0.count - 1)) }
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(server, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected else {
            Glibc.close(server)
            return nil
        }
        return server
    }

    /// A connection, and its own to the server.
    private final class Pair: Sendable {
        /// Whether bytes were discarded, which makes the rest of the stream useless.
        let isLost = Atomic(false)
        /// The directions in which nothing is passed on any more.
        let ended = Atomic(0)
    }

    private func pump(_ from: Int32, _ to: Int32, _ pair: Pair) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(from, &buffer, buffer.count), count > 0 {
            if isDiscarding.load(ordering: .sequentiallyConsistent) {
                pair.isLost.store(true, ordering: .sequentiallyConsistent)
            }
            guard !pair.isLost.load(ordering: .sequentiallyConsistent) else {
                discarded.add(1, ordering: .sequentiallyConsistent)
                continue
            }
            guard send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(to, Int32(SHUT_RDWR))
    }
}

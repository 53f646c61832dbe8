import Foundation
import Glibc
import Synchronization

/// Ports of the loopback address on which no socket listens.
package enum FreePort {
    /// Below the ephemeral ports of Linux (`ip_local_port_range`), so that no outgoing connection takes a chosen port
    /// before the listener binds it.
    private static let range = 16_384..<32_768 as Range<UInt16>

    /// The ports that this process has chosen before: a listener may be about to bind them.
    private static let chosen = Mutex<Set<UInt16>>([])

    package static func choose(_ count: Int) throws -> [UInt16] {
        try (0..<count).map { _ in
            for _ in range {
                let port = UInt16.random(in: range)
                guard chosen.withLock({ $0.insert(port).inserted }), isFree(port) else { continue }
                return port
            }
            throw POSIXError(.EADDRINUSE)
        }
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

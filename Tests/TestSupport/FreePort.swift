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
        guard let listener = try? ListeningSocket(port: port) else { return false }
        close(listener.descriptor)
        return true
    }
}

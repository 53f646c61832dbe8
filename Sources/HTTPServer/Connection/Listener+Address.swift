import Glibc
import NIOCore

extension Listener.Configuration {
    /// Finds out whether the address can be bound, and lets go of it.
    ///
    /// - Throws: `BindError`, as `run` would. A caller that has more to start than this listener has nothing to undo yet.
    package func requireAddress() throws {
        do {
            let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
            let descriptor = socket(
                address.protocol.rawValue, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
            defer { close(descriptor) }
            var reuse: CInt = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<CInt>.size))
            let result = address.withSockAddr { bind(descriptor, $0, socklen_t($1)) }
            guard result == 0 else { throw IOError(errnoCode: errno, reason: "bind") }
        } catch {
            throw Listener.BindError(self, error)
        }
    }
}

import Foundation
import TestSupport
import Testing

/// A TCP connection on which a test writes bytes that no HTTP library would. Reading blocks, so each wait has a thread
/// of its own; all waits end after a minute.
final class RawConnection: Sendable {
    private let socket: Int32

    init(_ port: UInt16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(socket) }

    /// Sends until the peer has closed the connection.
    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Everything until the peer closes its side.
    func readToEnd() async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [socket] in
                var received: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while true {
                    let count = recv(socket, &buffer, buffer.count, 0)
                    guard count > 0 else { break }
                    received += buffer[..<count]
                }
                continuation.resume(returning: String(decoding: received, as: UTF8.self))
            }
        }
    }

    /// Sends one request and returns its whole answer; the request should ask for the connection to be closed.
    static func exchange(_ port: UInt16, _ request: String) async throws -> RawAnswer {
        let connection = try RawConnection(port)
        connection.send(request)
        return RawAnswer(await connection.readToEnd())
    }
}

/// An answer as it was on the wire.
struct RawAnswer: Sendable {
    let text: String
    let status: Int
    /// The names in lower case.
    let fields: [(name: String, value: String)]
    let body: String

    init(_ text: String) {
        self.text = text
        let parts = text.components(separatedBy: "\r\n\r\n")
        let lines = parts[0].components(separatedBy: "\r\n")
        status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        fields = lines.dropFirst().map { line in
            let field = line.components(separatedBy: ": ")
            return (field[0].lowercased(), field.dropFirst().joined(separator: ": "))
        }
        body = parts.dropFirst().joined(separator: "\r\n\r\n")
    }

    /// The one value of a field; nil when there is none, or more than one.
    subscript(_ name: String) -> String? {
        let values = values(name)
        return values.count == 1 ? values[0] : nil
    }

    func values(_ name: String) -> [String] { fields.filter { $0.name == name.lowercased() }.map(\.value) }
}

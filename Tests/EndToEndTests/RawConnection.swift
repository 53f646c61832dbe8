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

    /// The next bytes that come; none when the peer has closed its side, or reset the connection.
    func readSome() async -> [UInt8] {
        await FinishedProcess.onThread { [socket] in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(socket, &buffer, buffer.count, 0)
            return Array(buffer.prefix(max(0, count)))
        }
    }

    /// Everything until the peer closes its side, or resets the connection.
    func readToEnd() async -> [UInt8] {
        var received: [UInt8] = []
        while case let bytes = await readSome(), !bytes.isEmpty { received += bytes }
        return received
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
    /// Whether a body in chunks has its last one.
    let isWhole: Bool

    init(_ bytes: [UInt8]) {
        text = String(decoding: bytes, as: UTF8.self)
        let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) ?? bytes.endIndex..<bytes.endIndex
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        fields = lines.dropFirst().map { line in
            let field = line.components(separatedBy: ": ")
            return (field[0].lowercased(), field.dropFirst().joined(separator: ": "))
        }
        let rest = bytes[end.upperBound...]
        guard fields.contains(where: { $0.name == "transfer-encoding" && $0.value == "chunked" }) else {
            (body, isWhole) = (String(decoding: rest, as: UTF8.self), true)
            return
        }
        let (content, isWhole) = Self.unchunked(rest)
        (body, self.isWhole) = (String(decoding: content, as: UTF8.self), isWhole)
    }

    /// The content of the chunks (RFC 9112 §7.1), and whether the last one is there.
    private static func unchunked(_ bytes: ArraySlice<UInt8>) -> (content: [UInt8], isWhole: Bool) {
        var (rest, content) = (bytes, [UInt8]())
        while let end = rest.firstIndex(of: UInt8(ascii: "\r")),
            let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16)
        {
            guard size > 0 else { return (content, true) }
            let chunk = rest[end...].dropFirst(2)
            content += chunk.prefix(size)
            rest = chunk.dropFirst(size + 2)
        }
        return (content, false)
    }

    /// The one value of a field; nil when there is none, or more than one.
    subscript(_ name: String) -> String? {
        let values = values(name)
        return values.count == 1 ? values[0] : nil
    }

    func values(_ name: String) -> [String] { fields.filter { $0.name == name.lowercased() }.map(\.value) }
}

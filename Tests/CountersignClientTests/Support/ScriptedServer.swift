import Foundation

@testable import CountersignClient

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// An HTTP/1.1 server on the loopback interface whose answers a test scripts. A thread serves each connection. It records
/// what it is sent, and ends on release.
final class ScriptedServer: Sendable {
    struct Request: Sendable {
        let method: String
        /// Path and query, as they were sent.
        let target: String
        let headers: [(name: String, value: String)]
        let body: Data

        var path: String { String(target.prefix { $0 != "?" }) }
        var json: [String: JSONValue]? { JSONValue.object(in: body) }
        var bearer: String? {
            let values = self["authorization"]
            return values.count == 1 && values[0].hasPrefix("Bearer ") ? String(values[0].dropFirst(7)) : nil
        }

        /// Every value of a header.
        subscript(name: String) -> [String] { headers.filter { $0.name.lowercased() == name }.map(\.value) }
    }

    enum Reply: Sendable {
        case answer(Int, String, headers: [String: String] = [:])
        /// The bytes as they are; then the connection ends. A head that doesn't say so (`Connection: close`) has the next request
        /// lost on it at times.
        case raw(String)
        /// The connection ends.
        case drop
        /// Nothing for as long as the client waits.
        case silence
        /// A head, and then a byte every now and then for as long as the client waits.
        case drip
        /// A head without a length and these bytes, and then nothing for as long as the client waits. Not more and more bytes:
        /// while there are some to read, `URLSession` on Linux does nothing else, neither for other requests nor to end one.
        case unended(String)

        static func json(_ status: Int, _ text: String, headers: [String: String] = [:]) -> Reply {
            .answer(status, text, headers: headers.merging(["Content-Type": "application/json"]) { $1 })
        }

        static func problem(_ status: Int, _ code: String, headers: [String: String] = [:]) -> Reply {
            .answer(
                status, #"{"type":"/problems/\#(code)","title":"no","status":\#(status),"code":"\#(code)"}"#,
                headers: headers.merging(["Content-Type": "application/problem+json"]) { $1 })
        }

        static let noContent = Reply.answer(204, "")
    }

    let port: UInt16
    private let listener: Int32
    private let received = Locked<[Request]>([])

    /// - Parameter script: called on the thread of the connection, which it may block.
    init(_ script: @escaping @Sendable (Request) -> Reply) throws {
        signal(SIGPIPE, SIG_IGN)
        #if canImport(Glibc)
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let listener = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 128) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        let received = received
        Thread.detachNewThread {
            while case let client = accept(listener, nil, nil), client >= 0 {
                Thread.detachNewThread {
                    Self.serve(client, script) { request in received.withLock { $0.append(request) } }
                    close(client)
                }
            }
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    var requests: [Request] { received.withLock { $0 } }

    func requests(to path: String) -> [Request] { requests.filter { $0.path == path } }

    func url(_ path: String = "", host: String = "127.0.0.1") -> URL {
        URL(string: "http://\(host):\(port)\(path)") ?? URL(fileURLWithPath: "/")
    }

    private static func serve(_ client: Int32, _ script: (Request) -> Reply, record: (Request) -> Void) {
        var buffer: [UInt8] = []
        while let request = nextRequest(client, &buffer) {
            record(request)
            switch script(request) {
            case .answer(let status, let body, let headers):
                var head = "HTTP/1.1 \(status) Reason\r\n"
                for (name, value) in headers { head += "\(name): \(value)\r\n" }
                if status != 204 { head += "Content-Length: \(body.utf8.count)\r\n" }
                guard write(head + "\r\n" + body, to: client) else { return }
            case .raw(let text):
                _ = write(text, to: client)
                return
            case .drop: return
            case .silence:
                _ = nextRequest(client, &buffer)
                return
            case .unended(let body):
                guard write("HTTP/1.1 200 Reason\r\nConnection: close\r\n\r\n" + body, to: client) else { return }
                _ = nextRequest(client, &buffer)
                return
            case .drip:
                guard write("HTTP/1.1 200 Reason\r\nContent-Length: 1000000\r\n\r\n", to: client) else { return }
                while write(" ", to: client) { Thread.sleep(forTimeInterval: 0.02) }
                return
            }
        }
    }

    private static func write(_ text: String, to client: Int32) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(client, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// The next request of a connection; nil at its end.
    private static func nextRequest(_ client: Int32, _ buffer: inout [UInt8]) -> Request? {
        while true {
            if let request = Request(taking: &buffer) { return request }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = recv(client, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            buffer += chunk[..<count]
        }
    }
}

extension ScriptedServer.Request {
    /// Takes a whole request from the begin of the buffer, if there is one.
    fileprivate init?(taking buffer: inout [UInt8]) {
        guard let end = Data(buffer).range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let headers = lines.dropFirst().map { line in
            let parts = line.components(separatedBy: ": ")
            return (name: parts[0], value: parts.dropFirst().joined(separator: ": "))
        }
        let length = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        guard buffer.count >= end.upperBound + length else { return nil }
        let words = lines[0].components(separatedBy: " ")
        method = words[0]
        target = words.count > 1 ? words[1] : ""
        self.headers = headers
        body = Data(buffer[end.upperBound..<end.upperBound + length])
        buffer.removeFirst(end.upperBound + length)
    }
}

import Glibc
import JSON
import NIOCore
import NIOPosix
import Testing

/// A TCP connection on which a test writes any bytes and reads the responses.
struct RawConnection {
    /// The server closed the connection where an answer was expected.
    struct ClosedEarly: Error {
        let received: String
    }

    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let channel: any Channel
    private var buffer = ByteBuffer()

    /// - Parameter readsByItself: if `false`, the client reads nothing from the socket until `startReading`.
    static func open<Result>(
        _ port: Int, readsByItself: Bool = true, _ body: (inout RawConnection) async throws -> Result
    ) async throws -> Result {
        var bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.allowRemoteHalfClosure, value: true)
        if !readsByItself {
            bootstrap = bootstrap.channelOption(.autoRead, value: false)
                .channelOption(.socketOption(.so_rcvbuf), value: 4096)
        }
        let connection = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                    wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
            }
        }
        return try await connection.executeThenClose { inbound, outbound in
            var raw = RawConnection(
                inbound: inbound.makeAsyncIterator(), outbound: outbound, channel: connection.channel)
            return try await body(&raw)
        }
    }

    /// Opens so many connections, each after an answer of `/v1/ping` to the one before.
    static func open(_ count: Int, _ port: Int, _ body: () async throws -> Void) async throws {
        guard count > 0 else { return try await body() }
        try await open(port) { connection in
            #expect(try await connection.exchange(get()).status == 200)
            try await open(count - 1, port, body)
        }
    }

    private init(
        inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
        outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>, channel: any Channel
    ) {
        self.inbound = inbound
        self.outbound = outbound
        self.channel = channel
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Returns when the kernel has taken the bytes, so that a closed connection is noticed.
    func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Queues the bytes on the event loop, which sends them as the server reads.
    func sendEventually(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    /// Sends the bytes again and again from the event loop, which no other test's work delays, until a write fails since
    /// the server has cut the connection.
    func sendUntilCut(_ bytes: [UInt8], every interval: TimeAmount) async throws {
        let sending = channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: interval) { [channel] _ in
            channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        }
        defer { sending.cancel() }
        try await channel.closeFuture.get()
    }

    /// Closes the client's side; the server may still answer.
    func finishSending() { outbound.finish() }

    /// Ends the connection at once, both ways.
    func reset() async throws {
        try await (channel as? any SocketOptionProvider)?.setSoLinger(Glibc.linger(l_onoff: 1, l_linger: 0)).get()
        try await channel.close()
    }

    func startReading() async throws { try await channel.setOption(.autoRead, value: true).get() }

    /// The next answer, which ends where `Content-Length` or the last chunk says.
    mutating func answer(toHead: Bool = false) async throws -> Answer {
        while true {
            if let answer = Answer(&buffer, toHead: toHead) { return answer }
            guard let bytes = try await inbound.next() else {
                throw ClosedEarly(received: String(String(buffer: buffer).prefix(1000)))
            }
            buffer.writeImmutableBuffer(bytes)
        }
    }

    mutating func exchange(_ text: String) async throws -> Answer {
        try await send(text)
        return try await answer()
    }

    /// Reads until the server closes its side, and returns how many bytes came.
    mutating func readToEnd() async throws -> Int {
        var count = buffer.readableBytes
        buffer.clear()
        while let bytes = try await inbound.next() { count += bytes.readableBytes }
        return count
    }

    /// What comes until the connection ends, and whether it ended by a reset.
    mutating func readToCut() async throws -> (text: String, isReset: Bool) {
        do {
            while let bytes = try await inbound.next() { buffer.writeImmutableBuffer(bytes) }
            return (String(buffer: buffer), false)
        } catch let error as IOError where error.errnoCode == ECONNRESET { return (String(buffer: buffer), true) }
    }

    /// Fails unless the server closes its side without another byte.
    mutating func expectEnd(_ location: SourceLocation = #_sourceLocation) async throws {
        let count = try await readToEnd()
        #expect(count == 0, "bytes came after the last answer", sourceLocation: location)
    }
}

/// The text of a request without a body.
func get(
    _ path: String = "/v1/ping", _ fields: String = "", method: String = "GET", version: String = "1.1"
) -> String { "\(method) \(path) HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n" }

/// An HTTP answer as it was on the wire.
struct Answer {
    let statusLine: String
    let fields: [(name: String, value: String)]
    let body: [UInt8]
    /// The sizes of its chunks, the last one's aside; empty where it came with a length.
    private(set) var chunks: [Int] = []

    /// Removes one whole answer from the front of `buffer`, or leaves the buffer unchanged.
    fileprivate init?(_ buffer: inout ByteBuffer, toHead: Bool) {
        let text = String(buffer: buffer)
        guard let end = text.utf8Range(of: "\r\n\r\n") else { return nil }
        let lines = text.prefix(utf8Count: end).split(separator: "\r\n", omittingEmptySubsequences: false)
        statusLine = String(lines[0])
        fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            return (parts[0].lowercased(), parts.count == 2 ? String(parts[1]) : "")
        }
        if !toHead, fields.contains(where: { $0.name == "transfer-encoding" && $0.value == "chunked" }) {
            var rest = buffer.getSlice(at: buffer.readerIndex + end + 4, length: buffer.readableBytes - end - 4)
            guard let whole = rest?.readChunks() else { return nil }
            buffer.moveReaderIndex(forwardBy: buffer.readableBytes - (rest?.readableBytes ?? 0))
            body = whole.body
            self.chunks = whole.sizes
            return
        }
        let length = toHead ? 0 : fields.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
        guard buffer.readableBytes >= end + 4 + length else { return nil }
        buffer.moveReaderIndex(forwardBy: end + 4)
        body = buffer.readBytes(length: length) ?? []
    }

    var status: Int { Int(statusLine.split(separator: " ")[1]) ?? 0 }

    /// The one value of a field; nil when there is none, or more than one.
    subscript(_ name: String) -> String? {
        let values = fields.filter { $0.name == name.lowercased() }
        return values.count == 1 ? values[0].value : nil
    }

    var json: JSONValue? { try? JSONValue(parsing: body) }

    var code: String? { json?["code"]?.string }

    /// The errors of a problem, each as `field reason`.
    var errors: [String]? {
        json?["errors"]?.elements?.map { "\($0["field"]?.string ?? "") \($0["reason"]?.string ?? "")" }
    }

    var text: String { String(decoding: body, as: UTF8.self) }
}

extension ByteBuffer {
    /// A chunked body without trailers (RFC 9112 §7.1), or `nil` when its last chunk is yet to come.
    fileprivate mutating func readChunks() -> (body: [UInt8], sizes: [Int])? {
        var body: [UInt8] = []
        var sizes: [Int] = []
        while let end = readableBytesView.firstIndex(of: UInt8(ascii: "\r")),
            let size = Int(String(decoding: readableBytesView[..<end], as: UTF8.self), radix: 16)
        {
            let digits = end - readerIndex
            guard readableBytes >= digits + 2 + size + 2 else { return nil }
            moveReaderIndex(forwardBy: digits + 2)
            body += readBytes(length: size) ?? []
            moveReaderIndex(forwardBy: 2)
            if size == 0 { return (body, sizes) }
            sizes.append(size)
        }
        return nil
    }
}

extension String {
    fileprivate func utf8Range(of separator: String) -> Int? {
        let bytes = Array(utf8)
        let wanted = Array(separator.utf8)
        guard bytes.count >= wanted.count else { return nil }
        return (0...(bytes.count - wanted.count)).first { bytes[$0..<$0 + wanted.count].elementsEqual(wanted) }
    }

    fileprivate func prefix(utf8Count: Int) -> String { String(decoding: utf8.prefix(utf8Count), as: UTF8.self) }
}

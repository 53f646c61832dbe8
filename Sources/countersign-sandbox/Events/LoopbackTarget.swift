import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Primitives

/// A receiver of events on this machine. Nothing is sent to any other machine.
struct LoopbackTarget: Sendable {
    /// The receiver's response.
    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
    }

    enum Failure: String, Error {
        /// No connection could be established.
        case connect
        /// The connection was closed, or thirty seconds passed, before there was a response.
        case noAnswer = "no_answer"
    }

    static let maximumAnswerBytes = 65_536

    private let host: String
    private let port: Int
    private let path: String

    /// nil unless it is an `http:` URL whose host is a loopback address or `localhost`.
    init?(_ url: String) {
        guard let parts = URLComponents(string: url), parts.scheme == "http", parts.user == nil,
            let name = parts.host.map({ $0.hasPrefix("[") ? String($0.dropFirst().dropLast()) : $0 }),
            name.isLoopbackHost
        else { return nil }
        host = name
        port = parts.port ?? 80
        path =
            (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath)
            + (parts.percentEncodedQuery.map { "?" + $0 } ?? "")
    }

    private typealias Connection = NIOAsyncChannel<NIOHTTPClientResponseFull, HTTPClientRequestPart>

    func post(_ body: [UInt8], type: String) async throws(Failure) -> Answer {
        let connection = try await connect()
        let timeout = connection.channel.eventLoop.scheduleTask(in: .seconds(30)) {
            connection.channel.close(promise: nil)
        }
        defer { timeout.cancel() }
        do {
            return try await connection.executeThenClose { inbound, outbound in
                let headers: HTTPHeaders = [
                    "Host": "\(host.contains(":") ? "[\(host)]" : host):\(port)", "Content-Type": type,
                    "Content-Length": String(body.count), "Connection": "close",
                ]
                let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: path, headers: headers)
                try await outbound.write(.head(head))
                try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body))))
                try await outbound.write(.end(nil))
                for try await response in inbound {
                    let body = response.body.map { Array($0.readableBytesView) } ?? []
                    return Answer(status: Int(response.head.status.code), body: body)
                }
                throw Failure.noAnswer
            }
        } catch {
            throw .noAnswer
        }
    }

    private func connect() async throws(Failure) -> Connection {
        do {
            return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(5))
                .connect(host: host, port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHTTPClientHandlers()
                        try pipeline.addHandler(
                            NIOHTTPClientResponseAggregator(maxContentLength: Self.maximumAnswerBytes))
                        return try Connection(wrappingChannelSynchronously: channel)
                    }
                }
        } catch {
            throw .connect
        }
    }
}

import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Middleware that applies the fault that is set for a request to the provider side.
struct FaultMiddleware: RouterMiddleware {
    let plan: FaultPlan
    let history: RequestHistory

    func handle(
        _ request: Request, context: SandboxContext,
        next: (Request, SandboxContext) async throws -> Response
    ) async throws -> Response {
        let clearings = plan.clearings
        guard let entry = context.historyEntry,
            let fault = plan.nextFault(method: request.method.rawValue, path: request.uri.path)
        else { return try await next(request, context) }
        history.note(fault: fault.name.rawValue, in: entry)
        let done = fault.comesAfterwards ? try await next(request, context) : nil
        if fault.delay > .zero { try await plan.pause(for: fault.delay, since: clearings) }
        switch fault.effect {
        case .none, .altered:
            if let done { return done }
            return try await next(request, context)
        case .answer(let status, let headers, let body):
            return Self.answer(status, headers, ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
        case .redirect(let status, let location):
            return Self.answer(status, [("Location", location)], ResponseBody())
        case .oversized(let bytes):
            return Self.answer(200, [("Content-Type", "application/json;charset=UTF-8")], Self.blank(bytes))
        case .truncated:
            return try await next(request, context).altered { writer, length in
                TruncatingWriter(parent: writer, remaining: length / 2) { ConnectionReset() }
            }
        case .resetMidBody:
            return try await next(request, context).altered { writer, length in
                TruncatingWriter(parent: writer, remaining: length / 2) { try await context.reset() }
            }
        case .slow(let rate):
            return try await next(request, context).altered { writer, _ in ThrottledWriter(parent: writer, rate: rate) }
        case .hang:
            try await plan.pause(for: Self.hangDuration, since: clearings)
            throw try await context.reset()
        case .reset:
            throw try await context.reset()
        }
    }

    /// Longer than any of our clients waits.
    private static let hangDuration: Duration = .seconds(600)

    private static func answer(
        _ status: Int, _ headers: [(name: String, value: String)], _ body: ResponseBody
    ) -> Response {
        var fields = HTTPFields()
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return Response(status: .init(code: status), headers: fields, body: body)
    }

    private static func blank(_ count: Int) -> ResponseBody {
        ResponseBody(contentLength: count) { writer in
            let chunk = ByteBuffer(repeating: UInt8(ascii: " "), count: 16_384)
            var remaining = count
            while remaining > 0 {
                let size = min(remaining, chunk.readableBytes)
                try await writer.write(chunk.getSlice(at: 0, length: size) ?? chunk)
                remaining -= size
            }
            try await writer.finish(nil)
        }
    }
}

/// The connection was closed by a fault, so no response can be sent.
struct ConnectionReset: Error {}

extension SandboxContext {
    /// Ends the connection with RST instead of FIN: with a linger time of zero, the kernel discards unsent data
    /// (socket(7)).
    func reset() async throws -> ConnectionReset {
        if let socket = channel as? any SocketOptionProvider {
            try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await channel.close()
        return ConnectionReset()
    }
}

extension Response {
    /// The same response with the same announced length, its body written through another writer.
    fileprivate func altered(
        _ alter: @escaping @Sendable (any ResponseBodyWriter, Int) -> any ResponseBodyWriter
    ) -> Response {
        var response = self
        let body = body
        let length = body.contentLength ?? 0
        response.body = ResponseBody(contentLength: body.contentLength) { writer in
            try await body.write(alter(writer, length))
        }
        return response
    }
}

/// A body writer that passes on `remaining` bytes, then ends the connection.
private struct TruncatingWriter: ResponseBodyWriter {
    var parent: any ResponseBodyWriter
    var remaining: Int
    let end: @Sendable () async throws -> ConnectionReset

    mutating func write(_ buffer: ByteBuffer) async throws {
        var buffer = buffer
        guard let head = buffer.readSlice(length: min(remaining, buffer.readableBytes)) else { return }
        remaining -= head.readableBytes
        try await parent.write(head)
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        throw try await end()
    }
}

/// A body writer that passes on `rate` bytes a second, one by one.
private struct ThrottledWriter: ResponseBodyWriter {
    var parent: any ResponseBodyWriter
    let rate: Int

    mutating func write(_ buffer: ByteBuffer) async throws {
        var buffer = buffer
        while let octet = buffer.readSlice(length: 1) {
            try await Task.sleep(for: .seconds(1) / rate)
            try await parent.write(octet)
        }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws { try await parent.finish(trailingHeaders) }
}

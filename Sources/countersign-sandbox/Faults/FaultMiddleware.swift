import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Lets a request to the provider side meet the fault that is set for it.
struct FaultMiddleware: RouterMiddleware {
    let plan: FaultPlan
    let history: RequestHistory

    func handle(
        _ request: Request, context: SandboxContext,
        next: (Request, SandboxContext) async throws -> Response
    ) async throws -> Response {
        guard let entry = context.historyEntry,
            let fault = plan.strike(method: request.method.rawValue, path: request.uri.path)
        else { return try await next(request, context) }
        history.note(fault: fault.name.rawValue, in: entry)
        let done = fault.comesAfterwards ? try await next(request, context) : nil
        if fault.delay > .zero { try await Task.sleep(for: fault.delay) }
        switch fault.effect {
        case .none:
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
                CutOff(parent: writer, remaining: length / 2) { ConnectionReset() }
            }
        case .torn:
            return try await next(request, context).altered { writer, length in
                CutOff(parent: writer, remaining: length / 2) { try await context.reset() }
            }
        case .slow(let rate):
            return try await next(request, context).altered { writer, _ in Trickle(parent: writer, rate: rate) }
        case .hang:
            try await Task.sleep(for: Self.patience)
            throw try await context.reset()
        case .reset:
            throw try await context.reset()
        }
    }

    /// No client of ours waits for longer.
    private static let patience: Duration = .seconds(600)

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

/// The connection is gone; there is nobody to answer.
struct ConnectionReset: Error {}

extension SandboxContext {
    /// Ends the connection with RST instead of FIN: with no lingering, the kernel drops what it has (socket(7)).
    func reset() async throws -> ConnectionReset {
        if let socket = channel as? any SocketOptionProvider {
            try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await channel.close()
        return ConnectionReset()
    }
}

extension Response {
    /// The same answer, with the length that it announces, through another writer.
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

/// Passes on so many bytes, then ends the connection.
private struct CutOff: ResponseBodyWriter {
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

/// Passes on so many bytes a second, one by one.
private struct Trickle: ResponseBodyWriter {
    var parent: any ResponseBodyWriter
    let rate: Int

    mutating func write(_ buffer: ByteBuffer) async throws {
        var buffer = buffer
        while let octet = buffer.readSlice(length: 1) {
            try await Task.sleep(for: .seconds(1) / rate)
            try await parent.write(octet)
        }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await parent.finish(trailingHeaders)
    }
}

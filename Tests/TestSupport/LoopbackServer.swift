import Foundation
import Synchronization

/// A small HTTP/1.1 server on a loopback socket whose answers are scripts, faults included, and which keeps a history
/// of its requests. It stops when it is released.
package final class LoopbackServer: Sendable {
    package struct Request: Sendable {
        /// Counts connections from 0 in the order of arrival.
        package let connection: Int
        package let method: String
        package let target: String
        package let headers: [(name: String, value: String)]
        package let body: [UInt8]

        package func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    /// A step of an answer, which is a list of steps. After the last one the connection waits for its next request.
    package enum Step: Sendable {
        case send([UInt8])
        case repeated([UInt8], times: Int)
        /// One byte at a time.
        case drip([UInt8], every: Duration)
        /// Sends nothing until `release()`.
        case hold
        case close
        /// Ends the connection with RST instead of FIN.
        case reset

        package static func send(_ text: String) -> Step { .send(Array(text.utf8)) }

        /// A whole response.
        package static func respond(_ status: Int = 200, headers: [(String, String)] = [], body: [UInt8] = []) -> Step {
            var head = "HTTP/1.1 \(status) Scripted\r\nContent-Length: \(body.count)\r\n"
            for (name, value) in headers { head += "\(name): \(value)\r\n" }
            return .send(Array((head + "\r\n").utf8) + body)
        }

        package static func respond(
            _ status: Int = 200, headers: [(String, String)] = [], text: String
        ) -> Step { respond(status, headers: headers, body: Array(text.utf8)) }
    }

    package struct History: Sendable {
        package var requests: [Request] = []
        package var opened = 0
        package var closed = 0
    }

    struct State {
        var history = History()
        var waiters: [(isMet: @Sendable (History) -> Bool, continuation: CheckedContinuation<History, Never>)] = []
        var isReleased = false
        var isStopping = false
    }

    package let port: UInt16
    private let loop: LoopbackLoop

    package init(_ answer: @escaping @Sendable (Request) -> [Step]) throws {
        loop = try LoopbackLoop(answer: answer)
        port = loop.listener.port
        let thread = Thread { [loop] in loop.run() }
        thread.name = "loopback"
        thread.start()
    }

    deinit { loop.change { $0.isStopping = true } }

    package var url: String { "http://127.0.0.1:\(port)" }

    package var history: History { loop.state.withLock(\.history) }

    /// Resumes every script that is at a `hold`, now and later.
    package func release() { loop.change { $0.isReleased = true } }

    /// Waits for the history to fulfil a condition.
    @discardableResult
    package func history(when isMet: @escaping @Sendable (History) -> Bool) async -> History {
        await withCheckedContinuation { continuation in loop.change { $0.waiters.append((isMet, continuation)) } }
    }
}

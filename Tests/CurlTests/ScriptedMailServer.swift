import Foundation
import Glibc
import Synchronization
import TestSupport

/// A mail server whose replies a test scripts, for one client after the other. Ends on release.
final class ScriptedMailServer: Sendable {
    enum Reply: Sendable {
        case say(String)
        case late(String, after: Duration)
        /// Nothing, while the client waits.
        case silence
        /// The connection ends.
        case drop
        /// A reply that never ends.
        case flood
    }

    var port: UInt16 { listener.port }
    private let listener: ListeningSocket
    private let received = Mutex<[String]>([])

    /// - Parameter replies: by the verb of the command, `greeting` before any, `.` after the message. A command without
    ///   one gets its default.
    init(_ replies: [String: Reply] = [:]) throws {
        let listener = try ListeningSocket()
        self.listener = listener
        let defaults: [String: Reply] = [
            "greeting": .say("220 scripted"), "EHLO": .say("250-scripted\r\n250 SIZE"), "MAIL": .say("250 ok"),
            "RCPT": .say("250 ok"), "DATA": .say("354 go on"), ".": .say("250 taken"), "QUIT": .say("221 bye"),
        ]
        let script = defaults.merging(replies) { $1 }
        Thread.detachNewThread { [weak self] in
            while case let client = accept(listener.descriptor, nil, nil), client >= 0 {
                Self.converse(client, script) { line in self?.received.withLock { $0.append(line) } }
                close(client)
            }
            close(listener.descriptor)
        }
    }

    deinit { shutdown(listener.descriptor, Int32(SHUT_RDWR)) }

    /// Commands, and lines of messages, in the order in which they came.
    var lines: [String] { received.withLock(\.self) }

    private static func converse(_ client: Int32, _ script: [String: Reply], record: (String) -> Void) {
        guard answer(script["greeting"], to: client) else { return }
        var buffer: [UInt8] = []
        var isMessage = false
        while let line = nextLine(from: client, &buffer) {
            record(line)
            if isMessage && line != "." { continue }
            let verb = String(line.prefix { $0 != " " && $0 != ":" })
            guard answer(script[verb] ?? .say("502 what?"), to: client) else { return }
            isMessage = if case .say(let text)? = script[verb] { text.hasPrefix("354") } else { false }
        }
    }

    /// False when the conversation is over.
    private static func answer(_ reply: Reply?, to client: Int32) -> Bool {
        switch reply {
        case .say(let text): return send("\(text)\r\n", to: client)
        case .late(let text, let delay):
            Thread.sleep(forTimeInterval: TimeInterval(delay.components.seconds))
            return send("\(text)\r\n", to: client)
        case .flood:
            while send("250-and another thing\r\n", to: client) {}
            return false
        case .drop: return false
        case .silence, nil: return true
        }
    }

    private static func send(_ text: String, to client: Int32) -> Bool {
        let bytes = Array(text.utf8)
        return Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private static func nextLine(from client: Int32, _ buffer: inout [UInt8]) -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<end].filter { $0 != 0x0D }, as: UTF8.self)
            }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = recv(client, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            buffer += chunk[..<count]
        }
    }
}

package import Logging
import Synchronization

/// A log handler that keeps what is logged.
package struct RecordingLog: LogHandler {
    private final class Lines: Sendable {
        let lines = Mutex<[String]>([])
    }

    private let written = Lines()
    package var logLevel = Logger.Level.trace
    package var metadata: Logger.Metadata = [:]

    package init() {}

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package var logger: Logger { Logger(label: "tests") { _ in self } }

    /// `level message key=value …`, the keys sorted.
    package var lines: [String] { written.lines.withLock(\.self) }

    package func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let members = all.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        written.lines.withLock { $0.append("\(event.level) \(event.message) \(members)") }
    }
}

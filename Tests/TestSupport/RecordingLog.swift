package import Logging
import Primitives
import Synchronization

/// A log handler that keeps what is logged.
package struct RecordingLog: LogHandler {
    package struct Entry: Sendable {
        package let level: Logger.Level
        package let message: String
        package let metadata: [String: String]
        /// Personal data, which the log of the service may leave out.
        package let personal: [String: String]
    }

    private final class Entries: Sendable {
        let all = Mutex<[Entry]>([])
    }

    private let written = Entries()
    private let context: Logger.MetadataProvider?
    package var logLevel = Logger.Level.trace
    package var metadata: Logger.Metadata = [:]

    /// - Parameter context: the metadata of the task that logs.
    package init(context: Logger.MetadataProvider? = nil) { self.context = context }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package var logger: Logger { Logger(label: "tests") { _ in self } }

    package var entries: [Entry] { written.all.withLock(\.self) }

    /// `level message key=value …`, the keys sorted.
    package var lines: [String] {
        entries.map { entry in
            let members = entry.metadata.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
            return "\(entry.level) \(entry.message) \(members)"
        }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(context?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        let personal = all.compactMapValues { value in
            if case .stringConvertible(let text as PersonalText) = value { text.revealed } else { nil as String? }
        }
        let entry = Entry(
            level: event.level, message: "\(event.message)", metadata: all.mapValues { "\($0)" }, personal: personal)
        written.all.withLock { $0.append(entry) }
    }
}

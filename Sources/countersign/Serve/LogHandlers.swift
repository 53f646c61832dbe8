import Accounts
import Foundation
import JOSE
import Logging

/// Where log lines go and in which form: standard error, one line each.
enum LogHandlers {
    static func handler(_ configuration: LogConfiguration) -> any LogHandler {
        switch configuration.format {
        case .json:
            return JSONLogHandler(logLevel: configuration.level)
        case .text:
            var handler = StreamLogHandler.standardError(label: "countersign")
            handler.logLevel = configuration.level
            return handler
        }
    }
}

/// One JSON object per line: `time` (RFC 3339, UTC, milliseconds), `level`, `message`, and the metadata as strings. Escaping
/// is the JSON writer's, so nothing that was logged can begin a line of its own.
struct JSONLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    init(logLevel: Logger.Level) {
        self.logLevel = logLevel
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = JSONWriter()
        line.beginObject()
        line.member("time", SystemClock().now().rfc3339Milliseconds)
        line.member("level", event.level.rawValue)
        line.member("message", event.message.description)
        let added = event.metadata ?? [:]
        for (key, value) in metadata where added[key] == nil { line.member(key, value.description) }
        for (key, value) in added { line.member(key, value.description) }
        line.endObject()
        // One write per line, so that the lines of two threads do not mix. One that fails is lost: a full disk or a closed
        // pipe behind the log must not end the service.
        let bytes = line.bytes + [UInt8(ascii: "\n")]
        _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

extension Timestamp {
    /// RFC 3339 with milliseconds, for log lines.
    fileprivate var rfc3339Milliseconds: String {
        let milliseconds = String(1000 + (self.milliseconds - seconds * 1000))
        return rfc3339.dropLast() + "." + milliseconds.dropFirst() + "Z"
    }
}

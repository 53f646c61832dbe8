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
        line.member("time", Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        line.member("level", event.level.rawValue)
        line.member("message", event.message.description)
        for (key, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { _, new in new }) {
            line.member(key, value.description)
        }
        line.endObject()
        // One write per line, so that the lines of two threads do not mix.
        FileHandle.standardError.write(Data(line.bytes + [UInt8(ascii: "\n")]))
    }
}

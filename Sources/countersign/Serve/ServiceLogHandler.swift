import Accounts
import HTTPServer
import JSON
import Logging
import Primitives

/// The log handler of `serve`: one line on standard error for each event. A line has `time` (RFC 3339, UTC,
/// milliseconds), `level`, `message` and the metadata, sorted by name: that of the call, of the request on whose behalf
/// it was made, of the logger.
struct ServiceLogHandler: LogHandler {
    /// The level that was set on this logger. If nil, the service's current level applies.
    private var ownLevel: Logger.Level?
    private let level: Reloadable<Logger.Level>
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider? = RequestContext.metadataProvider
    let format: LogFormat
    /// Whether values that are marked as personal are written. If not, they are left out together with their names.
    let revealsPersonalData: Bool
    private let output: LogOutput

    /// - Parameter level: the lowest level that is logged; read for each event.
    init(_ configuration: LogConfiguration, level: Reloadable<Logger.Level>) {
        self.init(level: level, format: configuration.format, revealsPersonalData: configuration.personalData)
    }

    init(
        level: Reloadable<Logger.Level>, format: LogFormat = .json, revealsPersonalData: Bool = false,
        output: LogOutput = .standardError
    ) {
        self.level = level
        self.format = format
        self.revealsPersonalData = revealsPersonalData
        self.output = output
    }

    var logLevel: Logger.Level {
        get { ownLevel ?? level.value }
        set { ownLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        // Few fields: to look for a name among them costs less than a dictionary of them all.
        var merged = event.metadata.map(Array.init) ?? []
        for others in [metadataProvider?.get(), metadata] {
            for field in others ?? [:] where !merged.contains(where: { $0.key == field.key }) { merged.append(field) }
        }
        let fields = merged.compactMap { name, value in text(of: value).map { (name: name, value: $0) } }
            .sorted { $0.name < $1.name }
        output.write(line(event.level, event.message.description, fields)) { lost in
            line(.warning, "log lines lost", [("lines", "\(lost)")])
        }
    }

    private func line(_ level: Logger.Level, _ message: String, _ fields: [(name: String, value: String)]) -> [UInt8] {
        let time = SystemClock().now().rfc3339Milliseconds
        var line =
            switch format {
            case .json: Self.json(time, level, message, fields)
            case .text: Self.plain(time, level, message, fields)
            }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private func text(of value: Logger.MetadataValue) -> String? {
        guard case .stringConvertible(let personal as PersonalText) = value else { return value.description }
        return revealsPersonalData ? personal.revealed : nil
    }

    /// One JSON object. The JSON writer escapes values, so no logged value can begin a line of its own.
    private static func json(
        _ time: String, _ level: Logger.Level, _ message: String, _ fields: [(name: String, value: String)]
    ) -> [UInt8] {
        JSONWriter.object { line in
            line.member("time", time)
            line.member("level", level.rawValue)
            line.member("message", message)
            for field in fields { line.member(field.name, field.value) }
        }
    }

    /// The line for a terminal: `time level message name=value …`. Values that are not plain are quoted as in JSON, so
    /// that here too no value can begin a line of its own, or a field.
    private static func plain(
        _ time: String, _ level: Logger.Level, _ message: String, _ fields: [(name: String, value: String)]
    ) -> [UInt8] {
        var line = Array("\(time) \(level.rawValue) ".utf8)
        line +=
            message.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
            ? quoted(message) : Array(message.utf8)
        for field in fields {
            line += Array(" \(field.name)=".utf8)
            line +=
                field.value.utf8.allSatisfy(isPlain) && !field.value.isEmpty
                ? Array(field.value.utf8) : quoted(field.value)
        }
        return line
    }

    private static func quoted(_ text: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.string(text)
        return writer.bytes
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        0x21...0x7E ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=") && byte != UInt8(ascii: "\\")
    }
}

extension Timestamp {
    /// RFC 3339 with milliseconds, for log lines.
    fileprivate var rfc3339Milliseconds: String {
        CivilTime(secondsSince1970: seconds).rfc3339(milliseconds: Int(milliseconds - seconds * 1000))
    }
}

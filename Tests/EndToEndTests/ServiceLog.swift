import JSON
import TestSupport
import Testing

/// The lines that a service has written, each a JSON object.
extension Countersign {
    /// The complete lines so far.
    func logLines(_ location: SourceLocation = #_sourceLocation) throws -> [JSONValue] {
        let whole = log.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        // When it starts the service logs a list of its parts, which is long.
        var limits = JSONLimits.standard
        limits.maximumStringBytes = 1 << 20
        limits.maximumBytes = 1 << 20
        return try whole.map { line in
            let value = try? JSONValue(parsing: Array(line), limits: limits)
            return try #require(value, "not a JSON line: \(Substring(line))", sourceLocation: location)
        }
    }

    /// Waits for the line of a request, which has the reason that its answer withholds.
    func logged(_ requestID: String, _ location: SourceLocation = #_sourceLocation) async throws -> JSONValue {
        var line: JSONValue?
        try await eventually("a log line of the request \(requestID)") {
            line = try logLines(location).first {
                $0["requestId"]?.string == requestID && $0["message"]?.string == "request"
            }
            return line != nil
        }
        return try #require(line, sourceLocation: location)
    }
}

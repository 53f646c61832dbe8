import ArgumentParser

/// A time span on the command line: a number and `s`, `m`, `h` or `d`, such as `30d`. In seconds.
enum CommandDuration {
    /// How old something is, at least a second.
    @Sendable static func age(_ text: String) throws -> Int64 {
        guard let seconds = seconds(text, in: 1...36_500 * 86_400) else {
            throw ValidationError("an age is a number and s, m, h or d, such as 30d")
        }
        return seconds
    }

    /// A time for which something is kept, at most 30 days.
    @Sendable static func time(_ text: String) throws -> Int64 {
        guard let seconds = seconds(text, in: 0...30 * 86_400) else {
            throw ValidationError("a time is a number and s, m, h or d, at most 30d")
        }
        return seconds
    }

    private static func seconds(_ text: String, in range: ClosedRange<Int64>) -> Int64? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
            case (let seconds, let overflow) = count.multipliedReportingOverflow(by: unit), !overflow,
            range.contains(seconds)
        else { return nil }
        return seconds
    }
}

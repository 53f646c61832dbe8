import ArgumentParser
import Primitives

/// What every command that changes something of a person needs.
struct StatedReason: ParsableArguments {
    @Option(
        name: .customLong("reason"), help: "Why, without personal data; kept in the audit trail. At most 1,024 bytes.")
    var text: String

    func validate() throws {
        guard 1...1024 ~= text.utf8.count, !text.utf8.contains(where: \.isASCIIControl) else {
            throw ValidationError("--reason is a line of 1 to 1,024 bytes")
        }
    }
}

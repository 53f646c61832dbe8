import Foundation

/// A question before an act that takes something away. Only a person at a terminal is asked: in a script or a pipeline
/// nobody would answer.
struct TerminalQuestion {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// - Throws: `CommandFailure` when anything but `yes` is answered, the end of the input too.
    func requireYes() throws {
        guard isatty(STDIN_FILENO) == 1 else { return }
        FileHandle.standardError.write(Data(text.utf8))
        guard readLine() == "yes" else { throw CommandFailure("Nothing was done.") }
    }
}

import Foundation

/// A question before an act that takes something away. Only a person at a terminal is asked: in a script or a pipeline
/// nobody would answer.
struct TerminalQuestion {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Whether somebody is there to answer.
    static var canBeAsked: Bool { isatty(STDIN_FILENO) == 1 }

    /// Anything but `yes` is no, the end of the input too.
    func isAnsweredByYes() -> Bool {
        FileHandle.standardError.write(Data(text.utf8))
        return readLine() == "yes"
    }

    /// - Throws: `CommandFailure` when the answer is no.
    func requireYes() throws {
        guard Self.canBeAsked else { return }
        guard isAnsweredByYes() else { throw CommandFailure("Nothing was done.") }
    }
}

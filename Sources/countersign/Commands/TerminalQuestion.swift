import ArgumentParser
import Foundation

/// A question before an act that takes something away. It is asked at a terminal only: a script or a pipeline has no
/// answer, and says `--yes` instead.
struct TerminalQuestion {
    private let text: String

    init(_ text: String) { self.text = text }

    /// Whether standard input is a terminal.
    static var canBeAsked: Bool { isatty(STDIN_FILENO) == 1 }

    /// - Parameter isSaid: whether `--yes` is there.
    /// - Throws: `ValidationError` where it is not, and no terminal to ask at.
    static func requireTerminal(unlessSaid isSaid: Bool) throws {
        guard isSaid || canBeAsked else { throw ValidationError("say --yes: there is no terminal to ask at") }
    }

    /// Anything but `yes` is no, the end of the input too.
    func isAnsweredByYes() -> Bool {
        StandardError.write(text)
        return readLine() == "yes"
    }

    /// - Throws: `CommandFailure` when the answer is no.
    func requireYes() throws {
        guard isAnsweredByYes() else { throw CommandFailure("Nothing was done.") }
    }
}

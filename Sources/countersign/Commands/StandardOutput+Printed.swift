import Synchronization

extension StandardOutput {
    /// Why something that was printed is not written. Nothing is written behind it.
    private static let firstFault = Mutex<(any Error)?>(nil)

    /// Whether all that was printed has been written: a list ends where it is not, and a change goes on.
    static var isWhole: Bool { firstFault.withLock { $0 == nil } }

    /// - Throws: as `flush` did when something that was printed could not be written.
    static func requirePrinted() throws { if let fault = firstFault.withLock({ $0 }) { throw fault } }

    /// Prints a text at once.
    static func write(_ text: String) {
        firstFault.withLock { fault in
            guard fault == nil else { return }
            do {
                var output = StandardOutput()
                try output.append(Array(text.utf8))
                try output.flush()
            } catch let reason {
                fault = reason
            }
        }
    }
}

/// Prints a line on standard output. That it can't be written is said when the command has ended.
func printLine(_ line: String) { StandardOutput.write(line + "\n") }

/// Prints a line that is shown this once, of a change that stands by now.
///
/// - Parameter remedy: what is said where it can't be written.
func printOnce(_ line: String, orSay remedy: String) {
    printLine(line)
    if !StandardOutput.isWhole { printNotice(remedy) }
}

import Foundation

/// Standard error. That its disk is full, or that it is closed, stops no command: there is nowhere else to say so.
enum StandardError {
    static func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Foundation.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest.removeFirst(count)
            } else if !StandardStream.isToBeTriedAgain(STDERR_FILENO, POLLOUT) {
                return
            }
        }
    }
}

/// Prints a sentence for the operator on standard error, apart from the command's output.
func printNotice(_ sentence: String) { StandardError.write("countersign: \(sentence)\n") }

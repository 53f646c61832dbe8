import Foundation

/// Prints a sentence for the operator on standard error, apart from the command's output.
func printNotice(_ sentence: String) {
    FileHandle.standardError.write(Data("countersign: \(sentence)\n".utf8))
}

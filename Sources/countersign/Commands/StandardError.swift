import Foundation

/// A sentence for the operator beside what a command prints.
func tell(_ sentence: String) {
    FileHandle.standardError.write(Data("countersign: \(sentence)\n".utf8))
}

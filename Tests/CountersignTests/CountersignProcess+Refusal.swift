import ArgumentParser

@testable import countersign

extension CountersignProcess {
    /// How the program ends on a command line that it refuses before it runs anything: its exit code and what it says.
    /// Read in this process; nil when it would run.
    static func refusal(of arguments: [String]) -> (code: Int32, message: String)? {
        do {
            _ = try Countersign.command(in: arguments)
            return nil
        } catch {
            let ending = CommandEnding(of: error, words: arguments)
            return (ending.code, ending.message)
        }
    }
}

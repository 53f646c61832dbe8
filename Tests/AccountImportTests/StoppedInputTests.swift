import Accounts
import Foundation
import Testing

@testable import AccountImport

/// Sources in a pipe that waits for more when the run is stopped.
@Suite(.timeLimit(.minutes(5))) struct StoppedInputTests {
    /// The ids of the rows of a pipe that stays open, and whether the stop was the end of them.
    private static func read(_ text: String, _ format: SourceFormat) async throws -> (ids: [String], isStopped: Bool) {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        // It is asked when nothing comes any more.
        let input = try FileInput("/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)") { true }
        var ids: [String] = []
        do {
            var source = try format.source(input)
            while let row = try await source.next() { ids.append(row.summary) }
        } catch is InputStopped {
            try pipe.fileHandleForWriting.close()
            return (ids, true)
        }
        return (ids, false)
    }

    @Test(arguments: SourceFormat.allCases)
    func `when a run is stopped the rows that came whole are read, and the one that is half there is none`(
        _ format: SourceFormat
    ) async throws {
        for length in [0, 1, format.length / 2, format.length - 3] {
            let read = try await Self.read(format.text(partOfThird: length), format)
            #expect(read.ids == ["u1", "u2"], "\(length)")
            #expect(read.isStopped, "\(length)")
        }
    }

    @Test(arguments: SourceFormat.allCases)
    func `a source of which nothing has come ends by the stop`(_ format: SourceFormat) async throws {
        let read = try await Self.read("", format)
        #expect(read.ids.isEmpty && read.isStopped)
    }
}

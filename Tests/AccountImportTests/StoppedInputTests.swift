import Accounts
import Foundation
import Testing

@testable import AccountImport

/// Sources in a pipe that waits for more when the run is stopped.
@Suite(.timeLimit(.minutes(5))) struct StoppedInputTests {
    enum Format: String, CaseIterable, Sendable {
        case ndjson, firebase, firebaseCSV, cognito, keycloak

        /// What is before the first row.
        private var head: String {
            switch self {
            case .ndjson, .firebaseCSV: ""
            case .firebase: #"{"users":["#
            case .cognito: #"{"Users":["#
            case .keycloak: #"{"realm":"shop","users":["#
            }
        }

        private func row(_ id: String) -> String {
            switch self {
            case .ndjson: #"{"externalId":"\#(id)","email":"\#(id)@example.com"}"# + "\n"
            case .firebase: #"{"localId":"\#(id)","email":"\#(id)@example.com"},"# + "\n"
            case .firebaseCSV: SourceTests.record([0: id, 1: "\(id)@example.com"]) + "\n"
            case .cognito: #"{"Username":"x","Attributes":[{"Name":"sub","Value":"\#(id)"}]},"# + "\n"
            case .keycloak: #"{"id":"\#(id)","email":"\#(id)@example.com"},"# + "\n"
            }
        }

        /// Two rows and a part of the third.
        func text(partOfThird length: Int) -> String {
            [head, row("u1"), row("u2"), String(row("u3").prefix(length))].joined()
        }

        var length: Int { row("u3").count }

        func source(_ input: any ByteInput) throws -> any ImportSource {
            switch self {
            case .ndjson: NeutralSource(input, aliases: [:])
            case .firebase, .firebaseCSV: try FirebaseSource(input)
            case .cognito: CognitoSource(input, aliases: [:])
            case .keycloak: KeycloakSource(input, aliases: [:])
            }
        }
    }

    /// The ids of the rows of a pipe that stays open, and whether the stop was the end of them.
    private static func read(_ text: String, _ format: Format) async throws -> (ids: [String], isStopped: Bool) {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        // It is asked when nothing comes any more.
        let input = try FileInput("/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)") { true }
        var ids: [String] = []
        do {
            var source = try format.source(input)
            while let row = try await source.next() {
                if case .person(let row) = row { ids.append(row.externalID) } else { ids.append("no person") }
            }
        } catch is InputStopped {
            try pipe.fileHandleForWriting.close()
            return (ids, true)
        }
        return (ids, false)
    }

    @Test(arguments: Format.allCases)
    func `when a run is stopped the rows that came whole are read, and the one that is half there is none`(
        _ format: Format
    ) async throws {
        for length in [0, 1, format.length / 2, format.length - 3] {
            let read = try await Self.read(format.text(partOfThird: length), format)
            #expect(read.ids == ["u1", "u2"], "\(length)")
            #expect(read.isStopped, "\(length)")
        }
    }

    @Test(arguments: Format.allCases)
    func `a source of which nothing has come ends by the stop`(_ format: Format) async throws {
        let read = try await Self.read("", format)
        #expect(read.ids.isEmpty && read.isStopped)
    }
}

import Foundation
import TestSupport
import Testing

@testable import AccountImport

/// How the file of a source begins.
@Suite struct FileInputTests {
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private static func withFile(_ bytes: [UInt8], _ body: (FileInput) async throws -> Void) async throws {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let file = directory.url.appending(path: "export")
        try Data(bytes).write(to: file)
        try await body(try FileInput(file.path) { false })
    }

    /// Three rows; the third is whole where its end is written.
    private static func text(_ format: SourceFormat) -> String {
        let text = format.text(partOfThird: format.length)
        return switch format {
        case .neutral, .firebaseCSV, .auth0: text
        case .firebase, .cognito, .keycloak: text.trimmingCharacters(in: CharacterSet(charactersIn: ",\n")) + "]}"
        }
    }

    @Test(arguments: SourceFormat.allCases)
    func `a byte order mark before a source is no part of it`(_ format: SourceFormat) async throws {
        let text = Array(Self.text(format).utf8)
        for bytes in [text, Self.mark + text] {
            try await Self.withFile(bytes) { input in
                let rows = try await format.source(input).rows()
                #expect(rows.map(\.summary) == ["u1", "u2", "u3"])
            }
        }
    }

    @Test func `a mark that comes in pieces is left out, and less than one is what it is`() async throws {
        let pipe = Pipe()
        let input = try FileInput("/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)") { false }
        async let read = FinishedProcess.onThread {
            var all: [UInt8] = []
            while let more = try? input.read() { all += more }
            return all
        }
        for byte in Self.mark + Array("{}".utf8) { try pipe.fileHandleForWriting.write(contentsOf: [byte]) }
        try pipe.fileHandleForWriting.close()
        let whole = await read
        #expect(whole == Array("{}".utf8))

        for bytes in [[], Self.mark, [0xEF, 0xBB], [0x31]] as [[UInt8]] {
            try await Self.withFile(bytes) { input in
                var found: [UInt8] = []
                while let more = try input.read() { found += more }
                #expect(found == (bytes == Self.mark ? [] : bytes))
            }
        }
    }

    @Test func `a file that gzip has packed is named as one`() async throws {
        // Of a neutral row.
        let packed: [UInt8] = [
            0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xAB, 0x56, 0x4A, 0xAD, 0x28, 0x49, 0x2D, 0xCA,
            0x4B, 0xCC, 0xF1, 0x4C, 0x51, 0xB2, 0x52, 0x2A, 0x35, 0x54, 0xAA, 0xE5, 0x02, 0x00, 0x82, 0xC9, 0x2F, 0xEB,
            0x14, 0x00, 0x00, 0x00,
        ]
        try await Self.withFile(packed) { input in
            let fault = #expect(throws: SourceFault.self) { _ = try input.read() }
            #expect(fault?.sentence.contains("is packed by gzip") == true)
        }
    }

    @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian])
    func `a file of UTF-16 is named as one`(_ encoding: String.Encoding) async throws {
        let text = try #require("\u{FEFF}{\"externalId\":\"u1\"}\r\n".data(using: encoding))
        try await Self.withFile(Array(text)) { input in
            let fault = #expect(throws: SourceFault.self) { _ = try input.read() }
            #expect(fault?.sentence.contains("is UTF-16") == true)
        }
    }
}

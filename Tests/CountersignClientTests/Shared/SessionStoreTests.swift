import Foundation
import Testing

@testable import CountersignClient

@Suite struct SessionStoreTests {
    /// A folder that ends with the test.
    final class Folder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)")

        deinit { try? FileManager.default.removeItem(at: url) }

        func mode(_ path: String = "") throws -> Int {
            let attributes = try FileManager.default.attributesOfItem(atPath: url.appendingPathComponent(path).path)
            return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
        }
    }

    private static let key = Data((0..<32).map { UInt8($0) })

    @Test func `a store in memory keeps, replaces and removes`() throws {
        let store = InMemorySessionStore()
        #expect(store.load() == nil)
        store.save(Data("one".utf8))
        store.save(Data("two".utf8))
        #expect(store.load() == Data("two".utf8))
        store.remove()
        store.remove()
        #expect(store.load() == nil)
        #expect(InMemorySessionStore(Data("three".utf8)).load() == Data("three".utf8))
    }

    @Test func `a file is made with its folders, for its owner alone`() throws {
        let folder = Folder()
        let store = try FileSessionStore(file: folder.url.appendingPathComponent("a/b/session"))
        #expect(try store.load() == nil)
        try store.remove()
        #expect(!FileManager.default.fileExists(atPath: folder.url.path))
        try store.save(Data("one".utf8))
        #expect(try store.load() == Data("one".utf8))
        #expect(try folder.mode() == 0o700 && folder.mode("a") == 0o700 && folder.mode("a/b") == 0o700)
        #expect(try folder.mode("a/b/session") == 0o600)
        try store.remove()
        try store.remove()
        #expect(try store.load() == nil)
    }

    @Test func `a new document takes the place of the old one in one step`() throws {
        let folder = Folder()
        let file = folder.url.appendingPathComponent("session")
        let store = try FileSessionStore(file: file)
        try store.save(Data(repeating: 1, count: 100_000))
        // A reader that opened the old document goes on reading it: it was not written over.
        let reader = try FileHandle(forReadingFrom: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        // Also where the old one is not to be trusted.
        #expect(throws: SessionError.self) { try store.load() }
        try store.save(Data("two".utf8))
        #expect(try reader.readToEnd() == Data(repeating: 1, count: 100_000))
        #expect(try store.load() == Data("two".utf8))
        #expect(try folder.mode("session") == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["session"])
    }

    @Test func `a save that fails leaves the old document and nothing else`() throws {
        let folder = Folder()
        let file = folder.url.appendingPathComponent("session")
        try FileManager.default.createDirectory(at: file.appendingPathComponent("x"), withIntermediateDirectories: true)
        // A folder stands where the file should be.
        let store = try FileSessionStore(file: file)
        #expect(throws: SessionError.self) { try store.save(Data("one".utf8)) }
        #expect(throws: SessionError.self) { try store.load() }
        #expect(throws: SessionError.self) { try store.remove() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["session"])
        // A file stands where a folder should be: there is nothing to load.
        let plain = folder.url.appendingPathComponent("plain")
        try Data().write(to: plain)
        let below = try FileSessionStore(file: plain.appendingPathComponent("session"))
        #expect(try below.load() == nil)
        #expect(throws: SessionError.self) { try below.save(Data("one".utf8)) }
    }

    /// What a store loads when its file is as `put` makes it.
    ///
    /// - Parameter put: with the path of the file; false when it could not.
    private static func load(_ put: (String) -> Bool) throws -> Data? {
        let folder = Folder()
        let file = folder.url.appendingPathComponent("session")
        let store = try FileSessionStore(file: file)
        try store.save(Data("one".utf8))
        try #require(put(file.path))
        return try store.load()
    }

    @Test(arguments: [0o604, 0o640, 0o602, 0o620, 0o610, 0o644, 0o777])
    func `a file that others than its owner may use is refused`(mode: Int) throws {
        #expect(throws: SessionError.storage("others than its owner may use the session file")) {
            try Self.load { chmod($0, mode_t(mode)) == 0 }
        }
    }

    @Test(arguments: [0o600, 0o400, 0o700]) func `a file that is its owner's alone is read`(mode: Int) throws {
        let document = try Self.load { chmod($0, mode_t(mode)) == 0 }
        #expect(document == Data("one".utf8))
    }

    @Test func `a link in the place of the file is refused, wherever it leads`() throws {
        #expect(throws: SessionError.storage("the session file is a link")) {
            try Self.load { rename($0, $0 + ".other") == 0 && symlink($0 + ".other", $0) == 0 }
        }
    }

    @Test func `a FIFO in the place of the file is refused, and not waited for`() throws {
        #expect(throws: SessionError.storage("the session file is no file")) {
            try Self.load { unlink($0) == 0 && mkfifo($0, 0o600) == 0 }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives a file away"))
    func `somebody else's file is refused`() throws {
        #expect(throws: SessionError.storage("the session file is somebody else's")) {
            try Self.load { chown($0, 65_534, 65_534) == 0 }
        }
    }

    @Test func `any number of tasks may save and load at a time`() async throws {
        let folder = Folder()
        let store = try FileSessionStore(file: folder.url.appendingPathComponent("session"))
        try store.save(Data(repeating: 0, count: 10_000))
        try await withThrowingTaskGroup(of: Data?.self) { group in
            for byte in 1...20 as ClosedRange<UInt8> {
                group.addTask {
                    try store.save(Data(repeating: byte, count: 10_000))
                    return try store.load()
                }
            }
            for try await document in group { #expect(document?.count == 10_000 && Set(document ?? Data()).count == 1) }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["session"])
    }

    @Test func `a sealed file shows nothing, and opens with its key and purpose alone`() throws {
        let folder = Folder()
        let file = folder.url.appendingPathComponent("session")
        let secret = Data("refresh-token-refresh-token".utf8)
        let store = try FileSessionStore(file: file, key: Self.key)
        #expect(try store.load() == nil)
        try store.save(secret)
        #expect(try store.load() == secret)
        #expect(try FileSessionStore(file: file, key: Self.key, purpose: "session").load() == secret)
        let sealed = try Data(contentsOf: file)
        #expect(sealed.count == 12 + secret.count + 16)
        #expect(sealed.range(of: Data("refresh".utf8)) == nil)
        for other in [
            try FileSessionStore(file: file, key: Self.key, purpose: "other"),
            try FileSessionStore(file: file, key: Data(Self.key.reversed())),
        ] { #expect(throws: SessionError.self) { try other.load() } }
        try FileSessionStore(file: file).save(secret)
        #expect(throws: SessionError.self) { try store.load() }
        #expect(try Data(contentsOf: file) == secret)
    }

    @Test func `a key of another length and a URL of no file are refused`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("session")
        for count in [0, 16, 31, 33] {
            #expect(throws: SessionError.self) { try FileSessionStore(file: file, key: Data(count: count)) }
        }
        for text in ["https://app.example/session", "file:///", "file:///folder/"] {
            let url = try #require(URL(string: text))
            #expect(throws: SessionError.self, "\(text)") { try FileSessionStore(file: url) }
        }
    }

    @Test func `documents say their version, and members that are new are ignored`() throws {
        let document = try Fixture.stored(Fixture.document())
        #expect(document.session?.refreshToken == Fixture.refresh(1))
        let written = try StoredForm.write(document)
        #expect(JSONValue.object(in: written)?["v"]?.integer == 1)
        #expect(try Fixture.stored(written) == document)
        #expect(try Fixture.stored(nil).isEmpty)
    }

    @Test(arguments: [
        "", "null", "[]", "{}", "garbage", #"{"v":"1"}"#, #"{"v":2}"#, #"{"v":1.5}"#, #"{"v":1,"session":{}}"#,
        #"{"v":1,"session":7}"#,
    ]) func `what is no document of version 1 can't be read`(_ text: String) {
        #expect(throws: SessionError.self) { try Fixture.stored(Data(text.utf8)) }
    }
}

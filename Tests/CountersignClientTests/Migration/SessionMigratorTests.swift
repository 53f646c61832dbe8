import Foundation
import Testing

@testable import CountersignClient

struct SessionMigratorTests {
    private let archive: FaultyStore
    private let text: FaultyStore
    private let destination = FaultyStore()

    init() throws {
        archive = FaultyStore(try LegacyFixture.archive("session"))
        text = FaultyStore(Data(LegacyFixture.text.utf8))
    }

    private var sources: [any LegacySource] {
        [GTMAppAuthSource(store: archive), GTMOAuth2Source.google(store: text, clientID: "old", clientSecret: "s")]
    }

    private func migrate(to destination: (any SessionStore)? = nil) throws -> MigrationReport {
        try SessionMigrator(sources: sources, destination: destination ?? self.destination).migrate()
    }

    @Test func `the first source that has a session is taken over, and all are emptied`() throws {
        let expected = try LegacySession(gtmAppAuthArchive: try #require(archive.content)).stored
        #expect(try migrate() == .migrated(from: "GTMAppAuth"))
        #expect(try OAuthFixture.stored(destination) == expected)
        #expect(archive.content == nil && text.content == nil)
    }

    @Test func `an absent source leaves the turn to the next`() throws {
        archive.put(nil)
        #expect(try migrate() == .migrated(from: "GTMOAuth2"))
        let stored = try #require(try OAuthFixture.stored(destination))
        #expect(stored.clientID == "old" && stored.clientSecret == "s")
        #expect(stored.tokens.refreshToken == "1//rt_made_up")
        #expect(text.content == nil)
    }

    @Test func `nothing to take over is reported`() throws {
        archive.put(nil)
        text.put(nil)
        #expect(try migrate() == .nothingFound)
        #expect(destination.content == nil)
        #expect(try SessionMigrator(sources: [], destination: destination).migrate() == .nothingFound)
    }

    @Test func `a second run does nothing`() throws {
        _ = try migrate()
        let content = destination.content
        #expect(try migrate() == .alreadyDone)
        #expect(destination.content == content)
        #expect(destination.saves.count == 1)
    }

    @Test func `a run after an interrupted one removes what was left`() throws {
        let newer = try OAuthFixture.document(OAuthFixture.tokens(9))
        destination.put(newer)
        #expect(try migrate() == .alreadyDone)
        #expect(archive.content == nil && text.content == nil)
        #expect(destination.content == newer)
    }

    @Test func `a deletion that fails is left to the next run`() throws {
        archive.fail([.remove])
        #expect(try migrate() == .migrated(from: "GTMAppAuth"))
        #expect(archive.content != nil && text.content == nil)
        #expect(try migrate() == .alreadyDone)
        #expect(archive.content != nil)
        archive.fail([])
        #expect(try migrate() == .alreadyDone)
        #expect(archive.content == nil)
    }

    @Test func `a save that fails deletes nothing`() throws {
        destination.fail([.save])
        #expect(throws: SessionError.storage("the store failed: Fault")) { try migrate() }
        #expect(archive.content != nil && text.content != nil)
        destination.fail([])
        #expect(try migrate() == .migrated(from: "GTMAppAuth"))
    }

    @Test func `a destination that can't be read is left as it is`() throws {
        for content in [Data("garbage".utf8), Data(#"{"v":2}"#.utf8)] {
            destination.put(content)
            #expect { try migrate() } throws: { LegacyFixture.isStorage($0) }
            #expect(destination.content == content)
            #expect(archive.content != nil && text.content != nil)
        }
        destination.fail([.load])
        #expect(throws: SessionError.storage("the store failed: Fault")) { try migrate() }
    }

    /// Takes what it is given, and has something else.
    private final class ForgetfulStore: SessionStore {
        private let content: Locked<Data?> = Locked(nil)
        private let change: @Sendable (Data) throws -> Data?

        init(_ change: @escaping @Sendable (Data) throws -> Data?) { self.change = change }

        func load() -> Data? { content.withLock { $0 } }
        func save(_ data: Data) throws {
            let changed = try change(data)
            content.withLock { $0 = changed }
        }
        func remove() { content.withLock { $0 = nil } }
    }

    @Test func `what reads differently than it was saved deletes nothing`() throws {
        let other = try OAuthFixture.document(OAuthFixture.tokens(9))
        let changes: [@Sendable (Data) -> Data?] = [{ _ in nil }, { $0.dropLast() }, { _ in other }]
        for change in changes {
            let destination = ForgetfulStore(change)
            #expect(throws: SessionError.storage("what was saved reads differently")) { try migrate(to: destination) }
            // Not what the next run would take for a finished one.
            #expect(destination.load() == nil)
            #expect(archive.content != nil && text.content != nil)
        }
    }

    @Test func `a source that can't be read stops the run and stays`() throws {
        archive.put(Data("garbage".utf8))
        #expect { try migrate() } throws: { LegacyFixture.isStorage($0) }
        archive.fail([.load])
        #expect(throws: SessionError.storage("the store failed: Fault")) { try migrate() }
        #expect(destination.content == nil && text.content != nil)
        #expect(archive.content == Data("garbage".utf8))
    }

    @Test func `a session that was taken over is refreshed with its old client`() async throws {
        archive.put(nil)
        let server = try ScriptedServer { _ in .json(200, OAuthFixture.grant(2)) }
        _ = try migrate()
        let session = try #require(try server.restored(destination))
        #expect(session.clientID == "old")
        let request = try await session.authorize(OAuthFixture.api)
        #expect(OAuthFixture.bearer(request) == "Bearer \(Fixture.access(2))")
        let sent = try #require(server.requests.first)
        #expect(sent["authorization"] == ["Basic \(Data("old:s".utf8).base64EncodedString())"])
        #expect(
            String(decoding: sent.body, as: UTF8.self)
                == "grant_type=refresh_token&refresh_token=1%2F%2Frt_made_up")
    }

    @Test func `a session that was taken over fresh is used as it is`() async throws {
        let server = try ScriptedServer { _ in .drop }
        _ = try migrate()
        let clock = TestClock()
        clock.advance(-3600)
        let session = try #require(try server.restored(destination, clock: clock))
        let request = try await session.authorize(OAuthFixture.api)
        #expect(OAuthFixture.bearer(request) == "Bearer ya29.made-up-access")
        #expect(server.requests.isEmpty)
    }
}

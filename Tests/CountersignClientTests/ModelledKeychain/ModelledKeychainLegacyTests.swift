import Foundation
import Testing

@testable import CountersignClient

/// What older libraries have left in a keychain, as a model of one has it.
@Suite struct ModelledKeychainLegacyTests {
    private let keychain = ModelledKeychain()
    private let persistence =
        "refresh_token=1%2F%2Frt&scope=profile%20email&serviceProvider=Google&email=ana%40example.net&isVerified=1"

    private func item(_ name: String, _ location: GenericPassword.Location) -> GenericPassword {
        GenericPassword(keychain: keychain, itemName: name, account: "OAuth", location: location)
    }

    @Test(arguments: [GenericPassword.Location.dataProtection(accessGroup: nil), .fileBased])
    func `a session of GTMOAuth2 is read from a keychain and removed from it`(
        _ location: GenericPassword.Location
    ) throws {
        let item = item("old", location)
        try item.save(Data(persistence.utf8))
        let source = GTMOAuth2Source.google(store: item, clientID: "old.apps.googleusercontent.com")
        let session = try #require(try source.load())
        #expect(session.tokens.refreshToken == "1//rt")
        #expect(session.tokens.userEmail == "ana@example.net")
        #expect(session.clientID == "old.apps.googleusercontent.com")
        #expect(try item.load() == Data(persistence.utf8))
        try source.remove()
        #expect(keychain.count == 0)
    }

    @Test func `a session is written to a keychain in the format of GTMOAuth2 and read again`() throws {
        let item = item("old", .dataProtection(accessGroup: nil))
        try item.save(Data(persistence.utf8))
        let source = GTMOAuth2Source.google(store: item, clientID: "old")
        let text = try #require(try source.load()).gtmOAuth2Persistence()
        try item.save(Data(text.utf8))
        let again = try #require(try source.load())
        #expect(again.tokens.refreshToken == "1//rt")
        #expect(again.tokens.scope == "profile email")
        #expect(again.gtmOAuth2Persistence() == text)
    }

    @Test func `a missing item is no session for any source`() throws {
        let item = item("old", .fileBased)
        #expect(try GTMOAuth2Source.google(store: item, clientID: "old").load() == nil)
        #expect(try GTMAppAuthSource(store: item).load() == nil)
    }

    @Test func `a session migrates from the file-based keychain to the other, and the old item goes last`() throws {
        let old = item("old", .fileBased)
        let new = item("new", .dataProtection(accessGroup: nil))
        try old.save(Data(persistence.utf8))
        let migrator = SessionMigrator(sources: [GTMOAuth2Source.google(store: old, clientID: "old")], destination: new)
        #expect(try migrator.migrate() == .migrated(from: "GTMOAuth2"))
        #expect(keychain.calls.last == .delete)
        #expect(try old.load() == nil)
        #expect(try OAuthSession(restoringFrom: new) != nil)
        #expect(try migrator.migrate() == .alreadyDone)
    }

    @Test func `a keychain that refuses the new item leaves the old one`() throws {
        let old = item("old", .fileBased)
        let new = item("new", .dataProtection(accessGroup: "OTHERTEAM1.com.example.other"))
        try old.save(Data(persistence.utf8))
        let migrator = SessionMigrator(sources: [GTMOAuth2Source.google(store: old, clientID: "old")], destination: new)
        #expect(throws: SessionError.self) { try migrator.migrate() }
        #expect(try old.load() == Data(persistence.utf8))
    }
}

import Foundation
import Testing

@testable import CountersignClient

/// What the store asks of a keychain, and what it makes of the answers; Apple's keychains are not asked.
@Suite struct ModelledKeychainStoreTests {
    private let keychain = ModelledKeychain()
    private let session = Data("session".utf8)

    private func item(
        _ name: String = "session", account: String = "OAuth",
        _ location: GenericPassword.Location = .dataProtection(accessGroup: nil)
    ) -> GenericPassword { GenericPassword(keychain: keychain, itemName: name, account: account, location: location) }

    private static let locations: [GenericPassword.Location] = [
        .dataProtection(accessGroup: nil), .dataProtection(accessGroup: ModelledKeychain.sharedGroup), .fileBased,
    ]

    @Test(arguments: locations) func `what was saved is loaded, and gone once removed`(
        _ location: GenericPassword.Location
    ) throws {
        let item = item("session", location)
        #expect(try item.load() == nil)
        try item.save(session)
        #expect(try item.load() == session)
        try item.save(Data("another".utf8))
        #expect(try item.load() == Data("another".utf8))
        #expect(keychain.count == 1)
        try item.remove()
        #expect(try item.load() == nil)
        #expect(keychain.count == 0)
    }

    @Test func `an item is a generic password of the account OAuth whose service is its name`() throws {
        try item("org.example.auth").save(session)
        for query in keychain.queries {
            #expect(query[.itemClass] == .genericPassword)
            #expect(query[.account] == .text("OAuth"))
            #expect(query[.service] == .text("org.example.auth"))
        }
        #expect(keychain.calls == [.update, .add])
    }

    @Test(arguments: locations) func `each call names the keychain and the access group that were asked for`(
        _ location: GenericPassword.Location
    ) throws {
        let item = item("session", location)
        try item.save(session)
        try item.save(session)
        _ = try item.load()
        try item.remove()
        #expect(keychain.calls == [.update, .add, .update, .read, .delete])
        for query in keychain.queries {
            switch location {
            case .dataProtection(let group):
                #expect(query[.usesDataProtectionKeychain] == .flag(true))
                #expect(query[.accessGroup] == group.map { .text($0) })
            case .fileBased:
                #expect(query[.usesDataProtectionKeychain] == .flag(false))
                #expect(query[.accessGroup] == nil)
            }
        }
    }

    @Test func `items of another name, account or access group are others`() throws {
        try item("one").save(session)
        #expect(try item("two").load() == nil)
        #expect(try item("one", account: "GooglePlus").load() == nil)
        #expect(try item("one", .dataProtection(accessGroup: ModelledKeychain.sharedGroup)).load() == nil)
        #expect(try item("one", .fileBased).load() == nil)
        try item("two").save(Data("two".utf8))
        try item("one").remove()
        #expect(try item("two").load() == Data("two".utf8))
    }

    @Test func `an item without a group goes to the app's own, one with a group to that`() throws {
        try item("own").save(session)
        #expect(keychain.groups == [ModelledKeychain.ownGroup])
        try item("own").remove()
        try item("shared", .dataProtection(accessGroup: ModelledKeychain.sharedGroup)).save(session)
        #expect(keychain.groups == [ModelledKeychain.sharedGroup])
    }

    @Test func `a session is readable after the first unlock, on this device only`() throws {
        try item().save(session)
        #expect(keychain.accessibilities == [.afterFirstUnlockThisDeviceOnly])
        try item().save(Data("another".utf8))
        #expect(keychain.accessibilities == [.afterFirstUnlockThisDeviceOnly])
    }

    @Test func `the file-based keychain is given no accessibility, which it does not know`() throws {
        try item("session", .fileBased).save(session)
        try item("session", .fileBased).save(session)
        #expect(keychain.accessibilities == [nil])
    }

    @Test func `a session that is there is changed in place and never deleted first`() throws {
        try item().save(session)
        try item().save(Data("another".utf8))
        #expect(keychain.calls == [.update, .add, .update])
    }

    @Test func `what an extension adds between the two calls of a save is replaced`() throws {
        let item = item()
        keychain.beforeNextAdd { keychain in
            let other = GenericPassword(
                keychain: keychain, itemName: "session", account: "OAuth", location: .dataProtection(accessGroup: nil))
            #expect(throws: Never.self) { try other.save(Data("of the extension".utf8)) }
        }
        try item.save(session)
        #expect(try item.load() == session)
        #expect(keychain.count == 1)
    }

    @Test func `saving nothing removes the item`() throws {
        try item().save(session)
        try item().save(Data())
        #expect(keychain.count == 0)
    }

    @Test func `an empty name is refused by every operation, before the keychain is asked`() {
        let item = item("")
        #expect(throws: SessionError.storage("noService")) { try item.load() }
        #expect(throws: SessionError.storage("noService")) { try item.save(session) }
        #expect(throws: SessionError.storage("noService")) { try item.save(Data()) }
        #expect(throws: SessionError.storage("noService")) { try item.remove() }
        #expect(keychain.calls.isEmpty)
    }

    @Test func `removing what is not there does nothing`() throws {
        try item().remove()
        #expect(keychain.calls == [.delete])
    }

    @Test(arguments: zip(ModelledKeychain.Call.allCases, ["read", "write", "write", "delete"]))
    func `a keychain that fails is a storage error with its status, and the item stays`(
        _ call: ModelledKeychain.Call, _ act: String
    ) throws {
        let item = item()
        if call != .add { try item.save(session) }
        keychain.fail(call, with: KeychainStatus(rawValue: -25291))
        #expect(throws: SessionError.storage("keychain \(act): -25291")) {
            switch call {
            case .read: _ = try item.load()
            case .update, .add: try item.save(Data("another".utf8))
            case .delete: try item.remove()
            }
        }
        keychain.fail(call, with: nil)
        #expect(try item.load() == (call == .add ? nil : session))
    }

    @Test func `a device that was not unlocked since its start and a missing entitlement are explained`() throws {
        keychain.fail(.read, with: .interactionNotAllowed)
        let locked = "keychain read: -25308, the device has not been unlocked since it started"
        #expect(throws: SessionError.storage(locked)) { try item().load() }
        let foreign = item("session", .dataProtection(accessGroup: "OTHERTEAM1.com.example.other"))
        let refused = "keychain write: -34018, the app lacks an entitlement for this keychain or access group"
        #expect(throws: SessionError.storage(refused)) { try foreign.save(session) }
    }

    @Test func `an item that holds no data is not an empty session`() throws {
        try item().save(session)
        keychain.emptyItems()
        #expect(throws: SessionError.storage("unexpectedPasswordData")) { try item().load() }
    }

    @Test func `the client reports what the keychain has said`() async throws {
        keychain.fail(.read, with: .interactionNotAllowed)
        let url = try #require(URL(string: "https://auth.example.com"))
        let client = SignInClient(baseURL: url, store: item())
        let locked = "keychain read: -25308, the device has not been unlocked since it started"
        await #expect(throws: SessionError.storage(locked)) { try await client.account() }
    }
}

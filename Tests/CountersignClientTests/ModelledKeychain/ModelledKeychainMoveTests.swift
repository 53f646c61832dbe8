import Foundation
import Testing

@testable import CountersignClient

/// The way from macOS's file-based keychain to the data-protection keychain, as a model has the two.
@Suite struct ModelledKeychainMoveTests {
    private let keychain = ModelledKeychain()
    private let session = Data("session".utf8)
    private let old: GenericPassword
    private let new: GenericPassword

    init() {
        old = GenericPassword(keychain: keychain, itemName: "session", account: "OAuth", location: .fileBased)
        new = GenericPassword(
            keychain: keychain, itemName: "session", account: "OAuth", location: .dataProtection(accessGroup: nil))
    }

    @Test func `a session moves once`() throws {
        try old.save(session)
        #expect(try new.load() == nil)
        #expect(try new.move(from: old))
        #expect(try new.load() == session)
        #expect(try old.load() == nil)
        #expect(try !new.move(from: old))
        #expect(try new.load() == session)
    }

    @Test func `it is deleted only after it was saved and read back`() throws {
        try old.save(session)
        let before = keychain.calls.count
        _ = try new.move(from: old)
        #expect(keychain.calls.dropFirst(before) == [.read, .read, .update, .add, .read, .delete])
    }

    @Test func `without anything to move nothing is written or deleted`() throws {
        #expect(try !new.move(from: old))
        #expect(keychain.calls == [.read])
    }

    @Test func `a session that is there already is newer and stays`() throws {
        try old.save(session)
        try new.save(Data("newer".utf8))
        #expect(try !new.move(from: old))
        #expect(try new.load() == Data("newer".utf8))
        #expect(try old.load() == nil)
    }

    @Test func `a keychain that keeps something else loses nothing`() throws {
        try old.save(session)
        keychain.damage { Data($0.dropLast()) }
        #expect(throws: SessionError.storage("keychain move: what was saved reads differently")) {
            try new.move(from: old)
        }
        #expect(try old.load() == session)
    }

    @Test(arguments: [ModelledKeychain.Call.read, .add]) func `a keychain that fails loses nothing`(
        _ call: ModelledKeychain.Call
    ) throws {
        try old.save(session)
        keychain.fail(call, with: .interactionNotAllowed)
        #expect(throws: SessionError.self) { try new.move(from: old) }
        keychain.fail(call, with: nil)
        #expect(try old.load() == session)
        #expect(try new.move(from: old))
        #expect(try new.load() == session)
    }

    @Test func `a deletion that fails is repeated by the next move`() throws {
        try old.save(session)
        keychain.fail(.delete, with: .interactionNotAllowed)
        #expect(try new.move(from: old))
        #expect(try old.load() == session)
        keychain.fail(.delete, with: nil)
        #expect(try !new.move(from: old))
        #expect(try old.load() == nil)
        #expect(try new.load() == session)
    }

    @Test func `an item is never moved onto itself`() throws {
        try new.save(session)
        #expect(try !new.move(from: new))
        #expect(try new.load() == session)
    }
}

import Accounts
import JOSE
import JSON
import KeyRing
import OpenSSL
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The lifecycle of a key that signs access tokens.
@Suite(.fixture(SignInFixture.self)) struct SigningKeyTests {
    var fixture: SignInFixture { .current }

    private static let start = Timestamp(seconds: SignInFixture.start)
    /// A ring whose line the processes lack.
    private static let otherRing = Result { try SignInFixture.makeKeyRing(id: "k2", octet: 8) }
    /// One that opens what the processes seal, and writes under a line that they lack.
    private static let aheadRing = Result { try SignInFixture.makeKeyRing(lines: [("k2", 8), ("k1", 7)]) }

    @Test func `a key is published before it signs, and deleted when its last token has expired`() async throws {
        let old = try fixture.publishedKeyIDs()
        let next = try await fixture.rotate()
        #expect(next.signsFrom == Self.start.advanced(bySeconds: 900))
        try await fixture.accessTokens.rereadKeys()
        #expect(try fixture.publishedKeyIDs() == [next.keyID] + old)

        fixture.clock.advance(by: 899)
        let session = try await fixture.newSession()
        #expect(try fixture.keyID(session) == old[0])
        #expect(fixture.accessTokens.signingKeyAge(at: fixture.clock.now()) == 899)
        fixture.clock.advance(by: 1)
        #expect(fixture.accessTokens.signingKeyAge(at: fixture.clock.now()) == 0)
        let later = try await fixture.newSession(of: "second")
        #expect(try fixture.keyID(later) == next.keyID)
        #expect(try await fixture.opened(session).id == session.id)

        // The last token of the old key expires 900 s after the new key has begun to sign.
        fixture.clock.advance(by: 900 + StoredSigningKey.margin - 1)
        #expect(try await fixture.storage.signingKeys.deleteExpired(by: .at(fixture.clock.now())) == 0)
        fixture.clock.advance(by: 1)
        #expect(try await fixture.storage.signingKeys.deleteExpired(by: .at(fixture.clock.now())) == 1)
        try await fixture.accessTokens.rereadKeys()
        #expect(try fixture.publishedKeyIDs() == [next.keyID])
    }

    @Test func `a key is kept for as long as the tokens of any process live`() async throws {
        let longLived = try await AccessTokens(
            configuration: .init(issuer: "i", audience: "a", lifetime: 86_400), store: fixture.storage.signingKeys,
            keyRing: fixture.keyRing, clock: fixture.clock, logger: .silent)
        _ = try await fixture.rotate()
        // A process that learns of the key later notes its lifetime for that one too.
        try await fixture.accessTokens.rereadKeys()
        try await longLived.rereadKeys()
        let keys = try await fixture.storage.signingKeys.keys()
        #expect(keys.map(\.tokenLifetime) == [86_400, 86_400])
        #expect(keys.last?.keptUntil == Self.start.advanced(bySeconds: 900 + 86_400 + StoredSigningKey.margin))
        #expect(keys.first?.keptUntil == nil)
    }

    @Test func `of ten rotations at once one makes a key, and none is made while it waits`() async throws {
        let made = try await concurrently(0..<10) { _ in try await fixture.signingKeys.rotate().isRotated }
        #expect(made.filter(\.self).count == 1)
        fixture.clock.advance(by: 899)
        #expect(try await fixture.signingKeys.rotate().isUnderWay)
        fixture.clock.advance(by: 1)
        #expect(try await fixture.signingKeys.rotate().isRotated)
        #expect(
            try await fixture.count(
                "audit_events WHERE concat_ws(' ', type, actor, reason) = 'signing_key_rotated operator scheduled'")
                == 2)
    }

    @Test func `a key that is younger than asked for stays`() async throws {
        fixture.clock.advance(by: 29)
        #expect(try await fixture.signingKeys.rotate(minimumAge: 30).isRecent)
        fixture.clock.advance(by: 1)
        #expect(try await fixture.signingKeys.rotate(minimumAge: 30).isRotated)
    }

    @Test func `a leaked key is good for nothing as soon as the processes have looked`() async throws {
        _ = try await fixture.rotate()
        let session = try await fixture.newSession()
        let new = try await fixture.signingKeys.replaceLeaked()
        try await fixture.accessTokens.rereadKeys()
        #expect(try fixture.publishedKeyIDs() == [new.keyID])
        try await expectFailure("invalidSession") { try await fixture.opened(session) }
        let second = try await fixture.newSession(of: "second")
        #expect(try fixture.keyID(second) == new.keyID)
        #expect(try await fixture.count("audit_events WHERE reason = 'leaked'") == 1)
    }

    @Test func `a key that can't be opened harms no other one, is logged once, and no old one signs in its place`()
        async throws
    {
        let log = RecordingLog()
        let process = try await fixture.tokens(log: log)
        let issued = try await fixture.newSession()
        let session = try await fixture.opened(issued)
        let published = process.publishedKeys
        let strange = try await fixture.rotate(by: Self.aheadRing.get())
        for _ in 0..<3 { try await process.rereadKeys() }
        #expect(process.publishedKeys == published)
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.contains("kid=\(strange.keyID) reason=The key ring lacks") == true, "\(log.lines)")
        fixture.clock.advance(by: SigningKeys.lead - 1)
        let last = try process.token(for: session, at: fixture.clock.now())

        // It should sign now: the key that it replaces signs no new session, and its tokens are still good.
        fixture.clock.advance(by: 1)
        try await fixture.accessTokens.rereadKeys()
        try await expectFailure("signingUnavailable") { try await fixture.newSession(of: "second") }
        #expect(try await fixture.service.sessions.session(of: Array(last.utf8), by: fixture.call).id == issued.id)
        await #expect(throws: SealError.self) { try await fixture.tokens() }
    }

    @Test func `a ring that doesn't open the key that signs makes no key`() async throws {
        let before = try await fixture.storage.signingKeys.keys()
        for (ring, word) in [
            (try Self.otherRing.get(), "lacks a key"),
            (try SignInFixture.makeKeyRing(id: "k1", octet: 9), "another key of that id"),
        ] {
            guard case .unreadable(let key, let fault) = try await fixture.signingKeys(of: ring).rotate() else {
                Issue.record("a key was made")
                return
            }
            #expect([key] == before)
            #expect(fault.description.contains(word), "\(fault)")
            #expect(try await fixture.storage.signingKeys.keys() == before)
        }
        #expect(try await fixture.count("audit_events WHERE type = 'signing_key_rotated'") == 0)
    }

    @Test func `a next key that the ring doesn't open is replaced, and no token is lost`() async throws {
        let issued = try await fixture.newSession()
        let bad = try await fixture.rotate(by: Self.aheadRing.get())
        fixture.clock.advance(by: 600)
        // However young the present key is: it was to be followed already.
        guard
            case .replaced(let good, let unreadable, .keyMissing) = try await fixture.signingKeys.rotate(
                minimumAge: 86_400)
        else {
            Issue.record("no key was replaced")
            return
        }
        #expect(unreadable.keyID == bad.keyID)
        let keys = try await fixture.storage.signingKeys.keys()
        #expect(keys.first?.keyID == good.keyID)
        #expect(keys.count == 2)
        #expect(try await fixture.signingKeys.rotate().isUnderWay)
        #expect(try await fixture.opened(issued).id == issued.id)

        fixture.clock.advance(by: SigningKeys.lead)
        try await fixture.accessTokens.rereadKeys()
        let later = try await fixture.newSession(of: "second")
        #expect(try fixture.keyID(later) == good.keyID)
    }

    @Test func `a leaked key is dropped by a process that can't open the new one`() async throws {
        let issued = try await fixture.newSession()
        let session = try await fixture.opened(issued)
        let ring = try Self.otherRing.get()
        _ = try await fixture.signingKeys(of: ring).replaceLeaked()
        let other = try await fixture.tokens(keyRing: ring)
        let foreign = try other.token(for: session, at: fixture.clock.now())
        try await expectFailure("invalidSession") {
            try await fixture.service.sessions.session(of: Array(foreign.utf8), by: fixture.call)
        }
        #expect(try fixture.publishedKeyIDs() == [])
        try await expectFailure("invalidSession") { try await fixture.opened(issued) }
        try await expectFailure("signingUnavailable") { try await fixture.newSession(of: "second") }
    }

    @Test func `there are sixteen keys at most, and with them a process starts`() async throws {
        for _ in 1..<SigningKeyStore.maximumKeys {
            fixture.clock.advance(by: 1)
            #expect(try await fixture.signingKeys.rotate(lead: 0).isRotated)
        }
        fixture.clock.advance(by: 1)
        guard case .tooMany(let until) = try await fixture.signingKeys.rotate(lead: 0) else {
            Issue.record("a key was made")
            return
        }
        let soonest = try await fixture.storage.signingKeys.keys().compactMap(\.keptUntil).min()
        #expect(until == soonest)
        #expect(until != nil)
        try await fixture.accessTokens.rereadKeys()
        #expect(try fixture.publishedKeyIDs().count == SigningKeyStore.maximumKeys)
        _ = try await fixture.newSession()
        // A leaked key is replaced however many there are.
        let new = try await fixture.signingKeys.replaceLeaked()
        #expect(try await fixture.storage.signingKeys.keys().map(\.keyID) == [new.keyID])
    }

    /// Four hours in which a key is changed every half hour or so: two processes that look for keys now and then and whose
    /// clocks differ, five verifiers that fetch the key set of either one when what they have is 300 s old, and never
    /// for a key that they don't know.
    @Test(arguments: [(SigningKeys.lead, true), (0, false)])
    func `verifiers that keep the key set for as long as they may know every key`(
        lead: Int64, isEnough: Bool
    ) async throws {
        struct Verifier {
            var keys: KeySet
            var fetchedAt: Int64
        }
        var random = SplitMix64(seed: 11)
        let clocks = [ManualClock(at: SignInFixture.start), ManualClock(at: SignInFixture.start + 120)]
        var processes: [AccessTokens] = []
        for clock in clocks { processes.append(try await fixture.tokens(clock: clock)) }
        let first = try KeySet(parsing: processes[0].publishedKeys)
        var verifiers = Array(repeating: Verifier(keys: first, fetchedAt: 0), count: 5)
        let session = try await fixture.opened(try await fixture.newSession())
        var tokens: [(token: UnverifiedToken, expiresAt: Int64)] = []
        var unknown = 0
        var rotations = 0
        for second in stride(from: Int64(15), through: 4 * 3_600, by: 15) {
            for clock in clocks { clock.advance(by: 15) }
            fixture.clock.advance(by: 15)
            if Int.random(in: 0..<120, using: &random) == 0,
                case .rotated = try await fixture.signingKeys.rotate(lead: lead)
            {
                rotations += 1
            }
            _ = try await fixture.storage.signingKeys.deleteExpired(by: .at(clocks[1].now()))
            for (process, clock) in zip(processes, clocks) {
                try await process.rereadKeys()
                let token = try process.token(for: session, at: clock.now())
                tokens.append((try UnverifiedToken(Array(token.utf8), allowedTypes: ["at+jwt"]), second + 900))
            }
            tokens.removeAll { $0.expiresAt <= second }
            for index in verifiers.indices {
                if second - verifiers[index].fetchedAt > 300 - Int64.random(in: 0..<60, using: &random) {
                    let process = processes[Int.random(in: 0...1, using: &random)]
                    verifiers[index] = Verifier(keys: try KeySet(parsing: process.publishedKeys), fetchedAt: second)
                }
                // The newest, and any other one that has not expired.
                for token in [tokens[tokens.count - 1], tokens[Int.random(in: tokens.indices, using: &random)]]
                where (try? token.token.verified(by: verifiers[index].keys)) == nil { unknown += 1 }
            }
        }
        #expect(rotations > 3)
        #expect((unknown == 0) == isEnough, "\(unknown) tokens were not verified")
    }
}

extension SignInFixture {
    fileprivate var signingKeys: SigningKeys { signingKeys(of: keyRing) }

    fileprivate func signingKeys(of keyRing: KeyRing) -> SigningKeys {
        SigningKeys(store: storage.signingKeys, keyRing: keyRing, clock: clock)
    }

    fileprivate func rotate(by keyRing: KeyRing? = nil) async throws -> StoredSigningKey {
        let rotation = try await signingKeys(of: keyRing ?? self.keyRing).rotate()
        guard case .rotated(let key) = rotation else { throw Unexpected.succeeded }
        return key
    }

    fileprivate func newSession(of subject: String = "kim") async throws -> IssuedSession {
        try await create(try await ticket(.google, try google(subject))).session
    }

    fileprivate func keyID(_ session: IssuedSession) throws -> String {
        let token = try UnverifiedToken(session.bearer, allowedTypes: ["at+jwt"])
        return String(decoding: token.keyID, as: UTF8.self)
    }

    fileprivate func publishedKeyIDs() throws -> [String] {
        let document = try JSONValue(parsing: accessTokens.publishedKeys)
        return (document["keys"]?.elements ?? []).compactMap { $0["kid"]?.string }
    }
}

extension SigningKeyStore.Rotation {
    fileprivate var isRotated: Bool { if case .rotated = self { true } else { false } }
    fileprivate var isUnderWay: Bool { if case .underWay = self { true } else { false } }
    fileprivate var isRecent: Bool { if case .recent = self { true } else { false } }
}

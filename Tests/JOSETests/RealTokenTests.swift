import JOSE
import JSON
import OpenSSL
import TestSupport
import Testing

/// Tokens and keys made by Apple and Google, checked at the time when they were new.
@Suite struct RealTokenTests {
    private static func rules(for real: Vectors.RealToken) -> ClaimRules {
        ClaimRules(issuers: [real.issuer], audiences: [real.audience])
    }

    private static func verified(_ real: Vectors.RealToken) throws -> VerifiedToken {
        try UnverifiedToken([UInt8](real.token.utf8)).verified(by: real.keySet)
    }

    @Test(arguments: try Vectors.realIDTokens)
    func `a real identity token is accepted in its time`(real: Vectors.RealToken) throws {
        let unverified = try UnverifiedToken([UInt8](real.token.utf8))
        #expect(unverified.algorithm == .rs256)
        #expect(unverified.keyID == [UInt8](real.keyID.utf8))
        let token = try unverified.verified(by: real.keySet)
        let checked = try Self.rules(for: real).check(token, at: real.issuedAt)
        #expect(checked.issuer == real.issuer)
        #expect(checked.audience == real.audience)
        #expect(checked.subject == real.claims.sub)
        #expect(checked.issuedAt == real.issuedAt)
        #expect(checked.expiresAt == real.expiresAt)
        #expect(token.claims["email"]?.string == real.claims.email)
    }

    @Test func `certificates by key id, the older form of Google's keys, are no key set`() throws {
        let document = try Vectors.keySet(named: "google_auth_java_legacy_federated_keys.json")
        #expect(throws: KeySetError.notAKeySet) { try KeySet(parsing: document) }
    }

    @Test(arguments: try Vectors.realIDTokens)
    func `a real identity token is refused outside its time`(real: Vectors.RealToken) throws {
        let token = try Self.verified(real)
        let judged = { (time: Int64) in rejection(of: token, under: Self.rules(for: real), at: time) }
        #expect(judged(real.issuedAt - 60) == nil)
        #expect(judged(real.issuedAt - 61) == .notYetValid)
        #expect(judged(real.expiresAt + 59) == nil)
        #expect(judged(real.expiresAt + 60) == .expired)
        #expect(judged(1_767_225_600) == .expired)
    }

    @Test(arguments: try Vectors.realIDTokens)
    func `a real identity token is refused by another app and under another issuer`(real: Vectors.RealToken) throws {
        let token = try Self.verified(real)
        var rules = Self.rules(for: real)
        for audience in ["com.example.app", real.audience + "x", String(real.audience.dropLast()), ""] {
            rules.audiences = [audience]
            #expect(rejection(of: token, under: rules, at: real.issuedAt) == .audienceRejected)
        }
        rules = Self.rules(for: real)
        rules.issuers = ["https://account.apple.com", real.issuer + "/"]
        #expect(rejection(of: token, under: rules, at: real.issuedAt) == .issuerRejected)
    }

    @Test(arguments: try Vectors.realIDTokens)
    func `a real identity token is refused once a single character is another`(real: Vectors.RealToken) throws {
        let keys = try real.keySet
        let token = [UInt8](real.token.utf8)
        for index in token.indices where token[index] != UInt8(ascii: ".") {
            var tampered = token
            tampered[index] = token[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(rejection(of: tampered, by: keys) != nil)
        }
    }

    @Test(arguments: try Vectors.realIDTokens)
    func `a real identity token is refused under the keys of another provider or another year`(
        real: Vectors.RealToken
    ) throws {
        for provider in Vectors.Provider.allCases {
            for dated in try Vectors.keySetHistory(provider) {
                #expect(rejection(of: real.token, by: try KeySet(parsing: dated.document)) == .keyUnknown)
            }
        }
    }

    @Test(arguments: try Vectors.realIDTokens)
    func `a real identity token is no event`(real: Vectors.RealToken) throws {
        let rules = ClaimRules.securityEvent(issuers: [real.issuer], audiences: [real.audience])
        #expect(rejection(of: try Self.verified(real), under: rules, at: real.issuedAt) == .claimMissing)
    }

    @Test(arguments: try Vectors.realAppleNotifications)
    func `a real notification is accepted as event and refused as identity token`(real: Vectors.RealToken) throws {
        let token = try Self.verified(real)
        #expect(rejection(of: token, under: Self.rules(for: real), at: real.issuedAt) == .eventToken)
        #expect(rejection(of: token, under: Self.rules(for: real), at: 1_767_225_600) == .eventToken)
        let rules = ClaimRules.securityEvent(issuers: [real.issuer], audiences: [real.audience])
        let checked = try rules.check(token, at: 1_767_225_600)
        #expect(checked.tokenID == real.claims.jti)
        let events = try #require(token.claims["events"]?.stringBytes)
        #expect(try JSONValue(parsing: events)["type"]?.string == "email-disabled")
    }

    @Test(arguments: [(Vectors.Provider.apple, 6), (.google, 37)])
    func `every key of the published history is usable`(provider: Vectors.Provider, count: Int) throws {
        let history = try Vectors.keySetHistory(provider)
        #expect(history.count == count)
        for dated in history {
            let entries = try #require(try JSONValue(parsing: dated.document)["keys"]?.elements)
            let set = try KeySet(parsing: dated.document)
            #expect(set.rejected == [], "\(dated.name)")
            #expect(set.keyIDs == entries.compactMap { $0["kid"]?.string }, "\(dated.name)")
            for id in set.keyIDs {
                let key = try #require(set.key(id: [UInt8](id.utf8)))
                #expect(key.algorithm == .rs256)
                #expect(key.signatureLength == 256)
            }
        }
    }

    @Test(arguments: Vectors.Provider.allCases)
    func `the order of a key set means nothing`(provider: Vectors.Provider) throws {
        for dated in try Vectors.keySetHistory(provider) {
            let entries = try #require(try JSONValue(parsing: dated.document)["keys"]?.elements)
            let reversed = JSONWriter.object { writer in
                writer.array("keys") { writer in
                    for entry in entries.reversed() { writer.value(entry) }
                }
            }
            let (forward, backward) = (try KeySet(parsing: dated.document), try KeySet(parsing: reversed))
            #expect(backward.keyIDs == forward.keyIDs.reversed())
            for id in forward.keyIDs {
                let bytes = [UInt8](id.utf8)
                #expect(try forward.key(id: bytes)?.der == backward.key(id: bytes)?.der)
            }
        }
    }
}

import Accounts
import Curl
import Foundation
import JOSE
import OpenSSL
import Providers
import TestSupport
import Testing

/// The rotations of 2024 as the providers published them, with keys of our own under their key ids, so that tokens can
/// be signed by each.
@Suite(.timeLimit(.minutes(5))) struct KeySetRotationTests {
    private struct Published: Decodable {
        struct Key: Decodable { let kid: String }
        let keys: [Key]
    }

    @Test(arguments: [(Vectors.Provider.google, 37), (.apple, 6)])
    func `through every rotation exactly the published keys are believed`(
        publisher: Vectors.Provider, count: Int
    ) async throws {
        let history = try Vectors.keySetHistory(publisher).map { set in
            try JSONDecoder().decode(Published.self, from: Data(set.document)).keys.map(\.kid)
        }
        try #require(history.count == count)
        var keys: [String: RSAPrivateKey] = [:]
        for keyID in Set(history.joined()) { keys[keyID] = try RSAPrivateKey(bits: 2_048) }
        let claims = publisher == .google ? GoogleFixture.claims : AppleFixture.claims.with("nonce", nil)
        var tokens: [String: [UInt8]] = [:]
        for (keyID, key) in keys {
            tokens[keyID] = Array(try TokenSigner(key: key, keyID: keyID).sign(claims.bytes).utf8)
        }

        try await withFetcher { fetcher in
            let server = try KeyServer(publisher == .google ? .google : .apple, fetcher: fetcher, answering: .close)
            let provider: any IdentityProvider =
                publisher == .google
                ? GoogleProvider(configuration: .init(clientIDs: [GoogleFixture.clientID]), keys: .cache(server.cache))
                : AppleProvider(
                    configuration: .init(teams: [.init(clientIDs: [AppleFixture.clientID])]),
                    keys: .cache(server.cache))
            var known: Set<String> = []
            for published in history {
                let document = PublicJWK.document(try published.map { PublicJWK(try #require(keys[$0]), keyID: $0) })
                server.script.set(.respond(body: document))
                server.clock.advance(by: 7_200)
                // A token of the new key may cause the fetch; after a withdrawal it is the due time.
                let newest = published.filter { !known.contains($0) }
                if newest.isEmpty { await server.cache.refresh() }
                for keyID in newest + tokens.keys {
                    let token = try #require(tokens[keyID])
                    let isAccepted = await accepts(token, provider)
                    #expect(isAccepted == published.contains(keyID), "\(keyID)")
                }
                known = Set(published)
            }
            #expect(server.cache.status.failures == 0)
        }
    }

    private func accepts(_ token: [UInt8], _ provider: any IdentityProvider) async -> Bool {
        do throws(CredentialRefusal) {
            _ = try await provider.credential(
                token, postedNonce: nil, expectedClientID: nil, at: Timestamp(seconds: referenceTime))
            return true
        } catch {
            #expect(error.reason == .keyUnknown)
            return false
        }
    }
}

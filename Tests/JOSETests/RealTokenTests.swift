import JOSE
import JSON
import OpenSSL
import TestSupport
import Testing

/// Tokens and keys made by Apple and Google, checked at the time when they were new.
@Suite struct RealTokenTests {
    @Test func `certificates by key id, the older form of Google's keys, are no key set`() throws {
        let document = try Vectors.keySet(named: "google_auth_java_legacy_federated_keys.json")
        #expect(throws: KeySetError.notAKeySet) { try KeySet(parsing: document) }
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

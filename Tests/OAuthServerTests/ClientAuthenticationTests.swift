import Foundation
import Testing

@testable import OAuthServer

/// How a client proves itself: by one way, exactly.
@Suite struct ClientAuthenticationTests {
    private static func basic(_ pair: String) -> String { "Basic " + Data(pair.utf8).base64EncodedString() }

    @Test(arguments: [
        ("csc_a:cs_b", "csc_a", "cs_b"), ("a%3Ab:c%25d", "a:b", "c%d"), ("a+b:c%2Bd", "a b", "c+d"),
        ("a:b:c", "a", "b:c"),
        (":", "", ""),
    ])
    func `each half of the header field is form-decoded after base64`(pair: String, id: String, secret: String) throws {
        let read = try ClientAuthentication(authorizations: [Self.basic(pair)], clientID: nil, clientSecret: nil)
        #expect(read.clientID == id)
        #expect(read.secret == secret)
    }

    @Test func `the form does as well`() throws {
        let read = try ClientAuthentication(authorizations: [], clientID: "a", clientSecret: "b")
        #expect((read.clientID, read.secret) == ("a", "b"))
    }

    @Test func `the client may name itself in the form besides, but as the same one`() throws {
        let field = Self.basic("a:b")
        #expect(try ClientAuthentication(authorizations: [field], clientID: "a", clientSecret: nil).clientID == "a")
        for (id, secret) in [("other", nil), (nil, "b"), ("a", "b")] as [(String?, String?)] {
            let failure = #expect(throws: OAuthFailure.self) {
                try ClientAuthentication(authorizations: [field], clientID: id, clientSecret: secret)
            }
            guard case .invalidRequest = failure else {
                Issue.record("\(String(describing: failure))")
                continue
            }
        }
    }

    @Test func `two fields are two ways`() {
        for fields in [["a:b", "a:b"], ["a:b", "a:c"], ["a:c", "a:b"]] {
            let failure = #expect(throws: OAuthFailure.self) {
                try ClientAuthentication(authorizations: fields.map(Self.basic), clientID: nil, clientSecret: nil)
            }
            guard case .invalidRequest = failure else {
                Issue.record("\(String(describing: failure))")
                continue
            }
        }
    }

    @Test(arguments: [
        "Bearer YTpi", "Basic", "Basic ", "Basic ***", "Basic YQ==", "Basic YTpi YTpi", "Basic YSVaWjpi", "Basic /zph",
    ])
    func `a field that says nothing is a failed authentication`(field: String) {
        #expect(throws: OAuthFailure.invalidClient) {
            try ClientAuthentication(authorizations: [field], clientID: nil, clientSecret: nil)
        }
    }

    @Test func `no way at all is a failed authentication`() {
        for (id, secret) in [(nil, nil), ("a", nil), (nil, "b")] as [(String?, String?)] {
            #expect(throws: OAuthFailure.invalidClient) {
                try ClientAuthentication(authorizations: [], clientID: id, clientSecret: secret)
            }
        }
    }
}

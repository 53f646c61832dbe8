import Accounts
import Testing

/// The rules of an app's request: to whom a fault of it is answered, and what of it is kept.
@Suite struct AppAuthorizationTests {
    private static let uri = "https://lamp.example.com/cb"
    private static let state = "0123456789abcdef"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    private static func decide(
        uris: [String] = [uri], offered: [Provider] = [.apple], _ change: (inout AuthorizeQuery) -> Void
    ) -> AuthorizeDecision {
        var query = AuthorizeQuery(
            app: ["lamp"], redirectURI: [uri], codeChallenge: [challenge], codeChallengeMethod: ["S256"],
            state: [state])
        change(&query)
        let app = WebApp(id: "lamp", name: "Lamp", redirectURIs: uris.compactMap(AppRedirectURI.init(registering:)))
        return AppAuthorization.decide(query, apps: [app], offered: offered, issuer: "https://auth.example.com")
    }

    private static func opened(_ change: (inout AuthorizeQuery) -> Void) throws -> AppAuthorization {
        guard case .open(let request) = decide(change) else { throw Unexpected() }
        return request
    }

    private struct Unexpected: Error {}

    @Test func `a whole request opens a flow`() throws {
        let request = try Self.opened {
            $0.provider = ["apple"]
            $0.uiLocales = ["de-CH fr x_y \(String(repeating: "a", count: 36)) EN"]
            $0.loginHint = ["kim@example.com"]
        }
        #expect(request.app.id == "lamp" && request.redirectURI == Self.uri && request.state == Self.state)
        #expect(request.challenge == Self.challenge && request.provider == .apple)
        #expect(request.languages == ["de-ch", "fr", "en"] && request.loginHint == "kim@example.com")
    }

    @Test func `a hint that no form can use is passed over`() throws {
        for hint in ["", "kim\r\n", String(repeating: "k", count: 321)] {
            #expect(try Self.opened { $0.loginHint = [hint] }.loginHint == nil)
        }
    }

    /// A change of the request.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let apply: @Sendable (inout AuthorizeQuery) -> Void

        init(_ description: String, _ apply: @escaping @Sendable (inout AuthorizeQuery) -> Void) {
            testDescription = description
            self.apply = apply
        }
    }

    @Test(arguments: [
        Change("no app") { $0.app = [] }, Change("unknown app") { $0.app = ["lamp2"] },
        Change("capital app") { $0.app = ["Lamp"] }, Change("empty app") { $0.app = [""] },
        Change("repeated app") { $0.app = ["lamp", "lamp"] }, Change("no URI") { $0.redirectURI = [] },
        Change("unknown URI") { $0.redirectURI = ["https://evil.example/cb"] },
        Change("repeated URI") { $0.redirectURI = [Self.uri, Self.uri] },
    ]) func `nothing is sent to a target that is not registered`(change: Change) {
        guard case .refuseUnknownApp = Self.decide(change.apply) else { return #expect(Bool(false)) }
    }

    @Test(arguments: [
        Change("no challenge") { $0.codeChallenge = [] }, Change("empty challenge") { $0.codeChallenge = [""] },
        Change("42 characters") { $0.codeChallenge = [String(Self.challenge.dropLast())] },
        Change("44 characters") { $0.codeChallenge = [Self.challenge + "A"] },
        Change("padded") { $0.codeChallenge = [String(Self.challenge.dropLast()) + "="] },
        Change("no base64url") { $0.codeChallenge = [String(Self.challenge.dropLast()) + "+"] },
        Change("repeated challenge") { $0.codeChallenge = [Self.challenge, Self.challenge] },
        Change("no method") { $0.codeChallengeMethod = [] }, Change("plain") { $0.codeChallengeMethod = ["plain"] },
        Change("empty method") { $0.codeChallengeMethod = [""] },
        Change("other case") { $0.codeChallengeMethod = ["s256"] },
        Change("repeated method") { $0.codeChallengeMethod = ["S256", "S256"] },
        Change("unknown provider") { $0.provider = ["facebook"] },
        Change("provider that is not offered") { $0.provider = ["google"] },
        Change("empty provider") { $0.provider = [""] }, Change("capital provider") { $0.provider = ["Apple"] },
        Change("repeated provider") { $0.provider = ["apple", "apple"] },
        Change("repeated locales") { $0.uiLocales = ["de", "fr"] },
        Change("repeated hint") { $0.loginHint = ["a@b.example", "a@b.example"] },
        Change("repeated unknown parameter") { $0.isMalformed = true },
    ]) func `any other fault is the app's to hear`(change: Change) {
        guard case .refuse(let answer) = Self.decide(change.apply) else { return #expect(Bool(false)) }
        #expect(answer.isError && answer.kind == .https && answer.appName == "Lamp")
        #expect(
            answer.uri
                == "\(Self.uri)?error=invalid_request&state=\(Self.state)&iss=https%3A%2F%2Fauth.example.com")
    }

    @Test(arguments: [
        [], [""], ["0123456789abcde"], [String(repeating: "s", count: 513)], ["0123456789 abcdef"],
        ["0123456789abcdef\u{7F}"], ["0123456789abcdé0"], [state, state],
    ]) func `a state that can't be returned isn't`(state: [String]) {
        guard case .refuse(let answer) = Self.decide({ $0.state = state }) else { return #expect(Bool(false)) }
        #expect(answer.uri == "\(Self.uri)?error=invalid_request&iss=https%3A%2F%2Fauth.example.com")
        #expect(answer.refusedParameter == "state")
    }

    @Test func `a state is returned unchanged, without a plus`() throws {
        let all = String(decoding: (UInt8(0x21)...0x7E), as: UTF8.self)
        let request = try Self.opened { $0.state = [all] }
        let answer = AppReturn(
            .code("c"), to: "\(Self.uri)?from=web", registered: request.registered, of: request.app, state: all,
            issuer: "https://auth.example.com", languages: [])
        let returned = try #require(answer.uri.firstMatch(of: /&state=([^&]*)&iss=/)).1
        #expect(answer.uri.hasPrefix("\(Self.uri)?from=web&code=c&state=") && !answer.isError)
        #expect(!returned.contains("+"))
        #expect(Self.decoded(returned) == Array(all.utf8))
    }

    /// The bytes of a percent-encoded text.
    private static func decoded(_ text: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}

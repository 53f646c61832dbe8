import Foundation

@testable import CountersignClient

/// Answers of the server, and clients of a scripted one.
enum Fixture {
    static let accountID = "01a1fc41-9b43-7f32-8e73-0b16f91ee2fd"
    static let anotherAccountID = "01a1fc41-9b43-7b06-9d2e-5a3c0e8f7714"
    static let sessionID = "01a1fc41-9b43-7a01-afff-a0f49219c796"
    static let subject = "002339.e31ec7ab53f584e332a472879c93b4fe.0602"
    static let ticket = "79ufB6ZFgI34wPt4FHlSaehaPumDTXqDoj6RTmSPD1M"

    static func access(_ number: Int) -> String { "access-\(number)-abcdefghijklmnopqrstuvwxyz" }
    static func refresh(_ number: Int) -> String { "refresh-\(number)-abcdefghijklmnopqrstuvwxyz" }

    static func session(_ number: Int, expiresIn: String = "900") -> String {
        """
        {"sessionId":"\(sessionID)","accessToken":"\(access(number))","tokenType":"Bearer","expiresIn":\(expiresIn),
         "refreshToken":"\(refresh(number))","refreshExpiresAt":"2027-01-20T03:58:40Z","later":{"member":1}}
        """
    }

    static let identity = """
        {"identityId":"01a1fc41-9b43-7cef-ac4a-1bb95032c35a","provider":"apple","subject":"\(subject)",
         "email":"kim@example.com","emailVerified":true,"isPrivateEmail":false,"emailDeliverable":true,
         "linkedAt":"2026-11-21T03:58:40Z","lastSignInAt":"2026-11-21T03:00:00Z","authorization":"active"}
        """

    static let account = """
        {"accountId":"\(accountID)","email":"kim@example.com","emailVerified":true,"emailProof":"stated",
         "displayName":"Kim Example","status":"active","createdAt":"2026-11-21T03:58:40Z","hasPassword":false,
         "identities":[\(identity)],"later":[1]}
        """

    static func signedIn(_ number: Int = 1, session: String? = nil, identity: String? = Fixture.identity) -> String {
        """
        {"status":"signedIn","session":\(session ?? Fixture.session(number)),"account":\(account)
         \(identity.map { #","identity":\#($0)"# } ?? "")}
        """
    }

    static func linkRequired(choices: String = #"["create","bind"]"#, holder: String? = nil) -> String {
        """
        {"status":"linkRequired","linkTicket":"\(ticket)","expiresAt":"2026-11-21T04:08:40Z",
         "identity":{"provider":"apple","email":"kim@example.com","emailVerified":true,"isPrivateEmail":false},
         "choices":\(choices)\(holder.map { #","holder":\#($0)"# } ?? "")}
        """
    }

    /// A JWT of nobody's, for who reads it without verifying.
    static func token(_ subject: String = subject) -> String {
        let claims = Base64URL.encode(Data(#"{"iss":"https://appleid.apple.com","sub":"\#(subject)"}"#.utf8))
        return "eyJhbGciOiJSUzI1NiJ9.\(claims).c2lnbmF0dXJl"
    }

    static func name(_ given: String?, _ family: String?) -> PersonNameComponents {
        var name = PersonNameComponents()
        name.givenName = given
        name.familyName = family
        return name
    }

    /// A stored session whose access token lives until `expiresIn` after the clock's start.
    static func document(
        _ number: Int = 1, expiresIn: Int = 900, session id: String = sessionID, openedBy: String? = nil
    ) -> Data {
        Data(
            """
            {"v":1,"later":true,"session":{"sessionID":"\(id)","accountID":"\(accountID)",
            \(openedBy.map { #""openedBy":"\#($0)","# } ?? "")
            "accessToken":"\(access(number))","accessExpiresAt":\(Timestamp.seconds(TestClock.start) + expiresIn),
            "refreshToken":"\(refresh(number))","refreshExpiresAt":1800417520}}
            """.utf8)
    }

    /// An answer or a document as another account's.
    static func ofAnother(_ text: String) -> String { text.replacingOccurrences(of: accountID, with: anotherAccountID) }

    static func ofAnother(_ document: Data) -> Data { Data(ofAnother(String(decoding: document, as: UTF8.self)).utf8) }

    static func stored(_ data: Data?) throws -> SessionDocument { try SessionDocument(data) }
}

extension SignInOutcome {
    var account: ClientAccount? { if case .signedIn(let account) = self { account } else { nil } }
    var ticket: LinkTicket? { if case .linkRequired(let ticket) = self { ticket } else { nil } }
}

extension BindOutcome {
    var account: ClientAccount? { if case .signedIn(let account) = self { account } else { nil } }
    var holder: LinkTicket? { if case .holder(let ticket) = self { ticket } else { nil } }
}

extension ScriptedServer {
    /// Its answers wait at the gate.
    convenience init(behind gate: Gate, _ script: @escaping @Sendable (Request) -> Reply) throws {
        try self.init { request in
            gate.wait()
            return script(request)
        }
    }

    /// A server, a store with this document, and a client of both.
    static func serving(
        _ document: Data? = nil, failing faults: Set<FaultyStore.Call> = [],
        _ script: @escaping @Sendable (Request) -> Reply
    ) throws -> (server: ScriptedServer, store: FaultyStore, client: SignInClient) {
        let (server, store) = (try ScriptedServer(script), FaultyStore(document, failing: faults))
        return (server, store, server.client(store))
    }

    func client(
        _ store: any SessionStore = InMemorySessionStore(), base: String = "", clock: TestClock = TestClock(),
        resourceHosts: Set<String> = [], device: DeviceDescription = DeviceDescription(name: nil, platform: nil)
    ) -> SignInClient {
        SignInClient(
            baseURL: url(base), store: store, transport: URLSessionTransport(), resourceHosts: resourceHosts,
            allowsLoopbackHTTP: true,
            device: device, now: { clock.now })
    }
}

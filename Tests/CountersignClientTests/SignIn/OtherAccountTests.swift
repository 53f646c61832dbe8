import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A call is for the account that is signed in as it begins, also when another one has signed in before it is sent, or sent
/// once more.
@Suite struct OtherAccountTests {
    private typealias Act = @Sendable (SignInClient) async throws -> Void

    private static let acts: [(path: String, Act)] = [
        ("/v1/account", { try await $0.deleteAccount() }),
        ("/v1/account/identities/id-1", { try await $0.unlink(identity: "id-1") }),
        ("/v1/account/password", { try await $0.setPassword("new") }),
        ("/v1/sessions/revoke", { try await $0.signOutEverywhere() }),
        (
            "/v1/things",
            { _ = try await $0.data(for: URLRequest(url: $0.server.baseURL.appendingPathComponent("v1/things"))) }
        ),
        ("/v1/account/identities/google", { _ = try await $0.link(google: GoogleCredential(idToken: "t")) }),
    ]

    /// - Parameter other: who signs in by password.
    private func server(
        holding path: String, at gate: Gate, other: String, _ reply: ScriptedServer.Reply
    ) throws -> ScriptedServer {
        try ScriptedServer { request in
            if request.path == path, request.bearer != Fixture.access(2) {
                gate.wait()
                return reply
            }
            return switch request.path {
            case "/v1/sign-in/password": .json(200, other)
            case "/v1/account/identities/google": .json(201, Fixture.identity)
            default: .json(request.method == "DELETE" ? 202 : 200, Fixture.account)
            }
        }
    }

    @Test(arguments: acts.indices, [true, false])
    func `a call that was begun for one account is not carried out on another`(
        _ index: Int, _ isRefused: Bool
    ) async throws {
        let (path, act) = Self.acts[index]
        let gate = Gate()
        let server = try server(
            holding: isRefused ? path : "/v1/sessions/refresh", at: gate, other: Fixture.ofAnother(Fixture.signedIn(2)),
            isRefused ? .problem(401, "invalid_session") : .json(200, Fixture.session(3)))
        let store = FaultyStore(Fixture.document(expiresIn: isRefused ? 900 : 0))
        let client = server.client(store)
        let call = Task { try await act(client) }
        await gate.reached()
        _ = try await client.signIn(email: "b@x.example", password: "p")
        gate.open()
        await #expect(throws: SessionError.cancelled) { try await call.value }
        #expect(server.requests.filter { $0.bearer == Fixture.access(2) }.isEmpty)
        #expect(try Fixture.stored(store.content).session?.accountID == Fixture.anotherAccountID)
    }

    @Test func `the same person's newer session carries the call on`() async throws {
        let gate = Gate()
        let server = try server(
            holding: "/v1/account/identities/id-1", at: gate, other: Fixture.signedIn(2),
            .problem(401, "invalid_session"))
        let client = server.client(FaultyStore(Fixture.document()))
        let call = Task { try await client.unlink(identity: "id-1") }
        await gate.reached()
        _ = try await client.signIn(email: "a@x.example", password: "p")
        gate.open()
        try await call.value
        #expect(
            server.requests(to: "/v1/account/identities/id-1").map(\.bearer) == [Fixture.access(1), Fixture.access(2)])
    }

    @Test(arguments: acts.indices)
    func `nor when it was another process that signed in`(_ index: Int) async throws {
        let clock = TestClock()
        let server = try ScriptedServer { _ in .drop }
        let store = FaultyStore(Fixture.document())
        let client = server.client(store, clock: clock)
        #expect(await client.canAuthorize)
        let others = Fixture.ofAnother(Fixture.document(2, expiresIn: 9000, session: "another"))
        store.put(others)
        clock.advance(880)
        await #expect(throws: SessionError.cancelled) { try await Self.acts[index].1(client) }
        #expect(server.requests.isEmpty && store.content == others)
    }

    @Test(arguments: [true, false])
    func `what another process has signed in is not forgotten with the account`(_ isDeletion: Bool) async throws {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in isDeletion ? .json(202, "{}") : .noContent }
        let store = FaultyStore(Fixture.document())
        let client = server.client(store)
        let call = Task {
            if isDeletion { try await client.deleteAccount() } else { try await client.signOutEverywhere() }
        }
        await gate.reached()
        store.put(Fixture.ofAnother(Fixture.document(2, session: "another")))
        gate.open()
        try await call.value
        #expect(try Fixture.stored(store.content).session?.accountID == Fixture.anotherAccountID)
    }

    @Test func `a link that was made is not shown as another person's account`() async throws {
        let gate = Gate()
        let server = try ScriptedServer { request in
            switch request.path {
            case "/v1/sign-in/password": return .json(200, Fixture.ofAnother(Fixture.signedIn(2)))
            case "/v1/account": return .json(200, Fixture.ofAnother(Fixture.account))
            default:
                gate.wait()
                return .json(201, Fixture.identity)
            }
        }
        let client = server.client(FaultyStore(Fixture.document()))
        let call = Task { try await client.link(google: GoogleCredential(idToken: "t")) }
        await gate.reached()
        _ = try await client.signIn(email: "b@x.example", password: "p")
        gate.open()
        await #expect(throws: SessionError.cancelled) { try await call.value }
    }
}

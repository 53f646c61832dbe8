import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct OAuthConcurrencyTests {
    private let gate = Gate()

    /// Grants tokens 2, 3, … when the gate is open.
    private func server() throws -> ScriptedServer {
        let count = Locked(1)
        return try ScriptedServer { [gate] _ in
            gate.wait()
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .json(200, OAuthFixture.grant(number))
        }
    }

    private static func call(_ session: OAuthSession) -> Task<Result<String?, any Error>, Never> {
        Task {
            do { return .success(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api))) } catch {
                return .failure(error)
            }
        }
    }

    @Test func `calls at once share one refresh`() async throws {
        let server = try server()
        let session = server.oauthSession()
        let calls = (0..<20).map { _ in Self.call(session) }
        await gate.reached()
        gate.open()
        for call in calls { #expect(try await call.value.get() == "Bearer \(Fixture.access(2))") }
        #expect(server.requests.count == 1)
    }

    @Test func `calls at once share one failure`() async throws {
        let server = try ScriptedServer(behind: gate) { _ in .json(400, #"{"error":"invalid_grant"}"#) }
        let session = server.oauthSession()
        let first = Self.call(session)
        await gate.reached()
        let second = Task { try await session.authorize(OAuthFixture.api) }
        gate.open()
        await #expect(throws: SessionError.reauthenticate(code: "invalid_grant")) { try await first.value.get() }
        await #expect(throws: SessionError.self) { try await second.value }
        #expect(server.requests.count == 1)
    }

    @Test func `a cancelled call ends at once, the refresh goes on and is kept`() async throws {
        let server = try server()
        let store = InMemorySessionStore()
        let session = server.oauthSession(store: store)
        let cancelled = Self.call(session)
        await gate.reached()
        let waiting = Self.call(session)
        cancelled.cancel()
        await #expect(throws: SessionError.cancelled) { try await cancelled.value.get() }
        gate.open()
        #expect(try await waiting.value.get() == "Bearer \(Fixture.access(2))")
        #expect(server.requests.count == 1)
        #expect(try OAuthFixture.stored(store)?.tokens.refreshToken == Fixture.refresh(2))
    }

    @Test func `stop ends the calls that wait, and later ones work`() async throws {
        let server = try server()
        let store = InMemorySessionStore()
        let session = server.oauthSession(store: store)
        let stopped = Self.call(session)
        await gate.reached()
        await session.stop()
        await #expect(throws: SessionError.cancelled) { try await stopped.value.get() }
        gate.open()
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(2))")
        #expect(server.requests.count == 1)
        #expect(try OAuthFixture.stored(store)?.tokens.refreshToken == Fixture.refresh(2))
    }

    @Test func `stop without a call changes nothing`() async throws {
        let session = try server().oauthSession(OAuthFixture.tokens())
        await session.stop()
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(1))")
    }

    @Test func `a sign-out in another process wins over a refresh under way`() async throws {
        let server = try server()
        let store = InMemorySessionStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: -1)))
        let session = try #require(try server.restored(store))
        let call = Self.call(session)
        await gate.reached()
        store.remove()
        gate.open()
        await #expect(throws: SessionError.noSession) { try await call.value.get() }
        #expect(store.load() == nil)
    }

    @Test func `a sign-in in another process wins over a refresh under way`() async throws {
        let server = try server()
        let store = InMemorySessionStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: -1)))
        let session = try #require(try server.restored(store))
        let call = Self.call(session)
        await gate.reached()
        let newer = try OAuthFixture.document(OAuthFixture.tokens(7, refresh: Fixture.refresh(7)))
        store.save(newer)
        gate.open()
        #expect(try await call.value.get() == "Bearer \(Fixture.access(7))")
        #expect(store.load() == newer)
    }

    @Test func `a sign-in in another process wins over a forced refresh that the store did not take`() async throws {
        let server = try server()
        let store = FaultyStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: -1)))
        let session = try #require(try server.restored(store))
        let call = Self.call(session)
        await gate.reached()
        store.fail([.save])
        await #expect(throws: SessionError.self) { try await session.setNeedsRefresh() }
        store.fail([])
        let newer = try OAuthFixture.document(OAuthFixture.tokens(7, refresh: Fixture.refresh(7)))
        store.put(newer)
        gate.open()
        #expect(try await call.value.get() == "Bearer \(Fixture.access(7))")
        #expect(store.content == newer)
    }
}

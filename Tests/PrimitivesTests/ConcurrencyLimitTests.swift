import Primitives
import Testing

@Suite struct ConcurrencyLimitTests {
    private struct Broken: Error, Equatable {}

    @Test func `what is more than the limit is not run`() async {
        let limit = ConcurrencyLimit(2)
        let outcome = await limit.admit {
            await limit.admit { await limit.admit { "run" } ?? "turned away" }
        }
        #expect(outcome == .some(.some("turned away")))
    }

    @Test func `an end makes room, and so does a failure`() async throws {
        let limit = ConcurrencyLimit(1)
        for _ in 0..<3 {
            await #expect(throws: Broken()) { try await limit.admit { throw Broken() } }
            #expect(await limit.admit { true } == true)
        }
    }

    @Test func `a place is taken until it is freed`() {
        let limit = ConcurrencyLimit(1)
        var place = limit.acquire()
        #expect(place != nil)
        #expect(limit.acquire() == nil)
        place = nil
        #expect(limit.acquire() != nil)
    }
}

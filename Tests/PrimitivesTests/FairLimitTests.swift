import Primitives
import Synchronization
import Testing

/// Places at something scarce: how many a party has, who waits, and in which order they are served.
@Suite(.timeLimit(.minutes(5))) struct FairLimitTests {
    private struct Broken: Error, Equatable {}

    /// Work that runs until it is let go, by the name of who asked for it.
    private final class Place: Sendable {
        private let state = Mutex<(order: [String], gates: [String: CheckedContinuation<Void, Never>])>(([], [:]))

        func hold(_ name: String) async {
            await withCheckedContinuation { gate in
                state.withLock { state in
                    state.order.append(name)
                    state.gates[name] = gate
                }
            }
        }

        /// Lets the work end once it runs.
        func leave(_ name: String) async {
            var gate: CheckedContinuation<Void, Never>?
            while gate == nil {
                gate = state.withLock { $0.gates.removeValue(forKey: name) }
                await Task.yield()
            }
            gate?.resume()
        }

        /// Returns once the work runs.
        func awaitStart(of name: String) async { while !order.contains(name) { await Task.yield() } }

        var order: [String] { state.withLock(\.order) }
    }

    /// - Parameter parties: the widest first, each with room for ten.
    private static func shares(_ parties: String..., limit: Int = 10) -> [Share<String>] {
        parties.map { Share(of: $0, limit) }
    }

    /// Asks for a place by the name of the narrowest party, and returns when the caller has one, or waits.
    ///
    /// - Returns: whether there was a place, once it has been left.
    private static func ask(
        _ limit: FairLimit<String>, _ name: String, _ shares: [Share<String>], in place: Place
    ) async -> Task<Bool, Never> {
        let before = limit.occupancy
        let task = Task { await limit.admit(shares) { await place.hold(name) } != nil }
        while limit.occupancy == before { await Task.yield() }
        return task
    }

    @Test func `what is more than the limit is not run`() async {
        let limit = FairLimit<String>(running: 2)
        let outcome = await limit.admit {
            await limit.admit { await limit.admit { "run" } ?? "turned away" }
        }
        #expect(outcome == .some(.some("turned away")))
    }

    @Test func `a place that is held counts until it is given up`() async {
        let limit = FairLimit<String>(running: 2)
        var held = [limit.acquire(Self.shares("a", limit: 1))]
        #expect(held[0] != nil)
        #expect(limit.acquire(Self.shares("a", limit: 1)) == nil, "it has its share")
        held.append(limit.acquire(Self.shares("b")))
        #expect(limit.acquire(Self.shares("c")) == nil, "there are no more")
        #expect(limit.occupancy.running == 2)
        held = []
        #expect(await limit.admit(Self.shares("a", limit: 1)) { "run" } == "run")
        #expect(limit.occupancy.running == 0)
    }

    @Test func `an end makes room, and so does a failure`() async throws {
        let limit = FairLimit<String>(running: 1)
        for _ in 0..<3 {
            await #expect(throws: Broken()) { try await limit.admit(Self.shares("a", limit: 1)) { throw Broken() } }
            #expect(await limit.admit(Self.shares("a", limit: 1)) { true } == true)
        }
        #expect(limit.occupancy == (0, 0))
    }

    @Test func `a party has its share and no more, by whichever of its names`() async {
        let limit = FairLimit<String>(running: 10)
        let place = Place()
        let first = await Self.ask(limit, "1", [Share(of: "wide", 2), Share(of: "a", 1)], in: place)
        #expect(await limit.admit([Share(of: "wide", 2), Share(of: "a", 1)]) { true } == nil)
        let second = await Self.ask(limit, "2", [Share(of: "wide", 2), Share(of: "b", 1)], in: place)
        #expect(await limit.admit([Share(of: "wide", 2), Share(of: "c", 1)]) { true } == nil)
        #expect(await limit.admit([Share(of: "other", 2), Share(of: "c", 1)]) { true } == true)
        await place.leave("1")
        #expect(await first.value)
        #expect(await limit.admit([Share(of: "wide", 2), Share(of: "a", 1)]) { true } == true)
        await place.leave("2")
        #expect(await second.value)
    }

    @Test func `a place goes to the party that was served longest ago, and within it to who came first`() async {
        let limit = FairLimit<String>(running: 1, waiting: 10)
        let place = Place()
        var tasks: [Task<Bool, Never>] = []
        for name in ["a1", "a2", "a3", "b1", "b2", "c1"] {
            tasks.append(await Self.ask(limit, name, Self.shares(String(name.first ?? "?")), in: place))
        }
        for name in ["a1", "b1", "c1", "a2", "b2", "a3"] { await place.leave(name) }
        #expect(place.order == ["a1", "b1", "c1", "a2", "b2", "a3"])
        for task in tasks { #expect(await task.value) }
    }

    @Test func `many networks of a wide one are served as one party, and in turn among themselves`() async {
        let limit = FairLimit<String>(running: 1, waiting: 10)
        let place = Place()
        var tasks: [Task<Bool, Never>] = []
        for (name, parties) in [
            ("w1", ["wide", "1"]), ("w1again", ["wide", "1"]), ("w2", ["wide", "2"]), ("w3", ["wide", "3"]),
            ("home", ["other", "9"]),
        ] { tasks.append(await Self.ask(limit, name, parties.map { Share(of: $0, 10) }, in: place)) }
        for name in ["w1", "home", "w2", "w3", "w1again"] { await place.leave(name) }
        #expect(place.order == ["w1", "home", "w2", "w3", "w1again"])
        for task in tasks { #expect(await task.value) }
    }

    /// Of one network, in the session of an account or without one.
    private static func caller(in account: String? = nil) -> [Share<String>] {
        (["wide", "network"] + (account.map { [$0] } ?? [])).map { Share(of: $0, 10) }
    }

    @Test func `a caller with an account and those of its network without one are served in turn`() async {
        let limit = FairLimit<String>(running: 1, waiting: 10)
        let place = Place()
        var tasks = [await Self.ask(limit, "1", Self.caller(), in: place)]
        for name in ["kim1", "kim2"] { tasks.append(await Self.ask(limit, name, Self.caller(in: "kim"), in: place)) }
        // Those without one keep coming.
        for (name, left, next) in [("2", "1", "kim1"), ("3", "kim1", "2"), ("4", "2", "3")] {
            tasks.append(await Self.ask(limit, name, Self.caller(), in: place))
            await place.leave(left)
            await place.awaitStart(of: next)
        }
        for name in ["3", "kim2", "4"] { await place.leave(name) }
        #expect(place.order == ["1", "kim1", "2", "3", "kim2", "4"])
        for task in tasks { #expect(await task.value) }
    }

    @Test func `a caller without an account is not passed by accounts of its network that come and go`() async {
        let limit = FairLimit<String>(running: 1, waiting: 10)
        let place = Place()
        var tasks = [await Self.ask(limit, "kim1", Self.caller(in: "kim"), in: place)]
        tasks.append(await Self.ask(limit, "ada1", Self.caller(in: "ada"), in: place))
        tasks.append(await Self.ask(limit, "1", Self.caller(), in: place))
        await place.leave("kim1")
        await place.awaitStart(of: "ada1")
        tasks.append(await Self.ask(limit, "kim2", Self.caller(in: "kim"), in: place))
        for name in ["ada1", "1", "kim2"] { await place.leave(name) }
        #expect(place.order == ["kim1", "ada1", "1", "kim2"])
        for task in tasks { #expect(await task.value) }
    }

    @Test func `a party that waits for a second place is not passed by others that come and go`() async {
        let limit = FairLimit<String>(running: 1, waiting: 10)
        let place = Place()
        var tasks: [Task<Bool, Never>] = []
        for name in ["a1", "a2", "b1"] {
            tasks.append(await Self.ask(limit, name, Self.shares(String(name.first ?? "?")), in: place))
        }
        await place.leave("a1")
        await place.awaitStart(of: "b1")
        tasks.append(await Self.ask(limit, "c1", Self.shares("c"), in: place))
        for name in ["b1", "a2", "c1"] { await place.leave(name) }
        #expect(place.order == ["a1", "b1", "a2", "c1"])
        for task in tasks { #expect(await task.value) }
    }

    @Test func `of a full queue the party with most places gives way to one with fewer, by its newest`() async {
        let limit = FairLimit<String>(running: 1, waiting: 3)
        let place = Place()
        var tasks: [Task<Bool, Never>] = []
        for name in ["a1", "a2", "a3", "a4"] { tasks.append(await Self.ask(limit, name, Self.shares("a"), in: place)) }
        // Its own gain nothing.
        #expect(await limit.admit(Self.shares("a")) { true } == nil)
        let other = Task { await limit.admit(Self.shares("b")) { await place.hold("b1") } != nil }
        #expect(await tasks[3].value == false)
        // One place would only change hands: a has two of the three.
        #expect(await limit.admit(Self.shares("b")) { true } == nil)
        for name in ["a1", "b1", "a2", "a3"] { await place.leave(name) }
        #expect(place.order == ["a1", "b1", "a2", "a3"])
        #expect(await other.value)
        for task in tasks.prefix(3) { #expect(await task.value) }
        #expect(limit.occupancy == (0, 0))
    }

    @Test func `within a wide network the network with most places gives way to one with fewer`() async {
        let limit = FairLimit<String>(running: 1, waiting: 3)
        let place = Place()
        var tasks: [Task<Bool, Never>] = []
        for name in ["a1", "a2", "a3", "a4"] {
            tasks.append(await Self.ask(limit, name, Self.shares("wide", "a"), in: place))
        }
        let neighbour = Task { await limit.admit(Self.shares("wide", "b")) { await place.hold("b1") } != nil }
        #expect(await tasks[3].value == false)
        for name in ["a1", "b1", "a2", "a3"] { await place.leave(name) }
        #expect(place.order == ["a1", "b1", "a2", "a3"])
        #expect(await neighbour.value)
        for task in tasks.prefix(3) { #expect(await task.value) }
    }
}

import Accounts
import SignIn
import TestSupport

/// A walker, which chooses an operation, performs it, and notes the outcome.
struct RandomWalker: Sendable {
    let world: WalkWorld
    let number: Int
    let operations: [WalkOperation]
    /// Whether each step's outcome is kept, in their order.
    let keepsTrace: Bool
    var random: SplitMix64
    private(set) var steps = 0
    private var operation = WalkOperation.passTime
    private(set) var trace: [String] = []

    init(
        _ world: WalkWorld, number: Int = 0, seed: UInt64, operations: [WalkOperation] = WalkOperation.allCases,
        keepsTrace: Bool = false
    ) {
        self.world = world
        self.number = number
        self.operations = operations
        self.keepsTrace = keepsTrace
        // Far apart, so that the walkers of neighbouring seeds have nothing in common.
        random = SplitMix64(seed: seed &* 1_000 &+ UInt64(number))
    }

    /// The operation lacks what it needs, such as a ticket or a session.
    struct Idle: Error {}

    /// The client of the current step, whose request id no other step has in the audit trail.
    var call: Call { world.service.calls.begin(by: client) }

    var client: Caller {
        Caller(
            requestID: "walk-\(number)-\(steps) \(operation.rawValue)", address: "192.0.2.1", network: "192.0.2.0/24",
            device: Device(name: "Walker \(number)", platform: nil))
    }

    mutating func step() async throws {
        steps += 1
        operation = nextOperation()
        var outcome = "\(operation.rawValue) "
        do {
            try await perform(operation)
            outcome += "done"
        } catch is Idle {
            outcome += "idle"
        } catch {
            let name = RandomWalker.name(of: error)
            let isAllowed = try operation.allows(name)
            outcome += isAllowed ? name : "fault"
            if !isAllowed { world.memory.note(fault: "\(operation.rawValue) failed: \(String(reflecting: error))") }
        }
        world.memory.note(outcome: outcome)
        if keepsTrace { trace.append(outcome) }
    }

    /// The case of a failure, whichever use case it is of.
    private static func name(of failure: any Error) -> String {
        String(describing: failure).split(separator: "(").first.map(String.init) ?? ""
    }

    private mutating func nextOperation() -> WalkOperation {
        var remaining = Int.random(in: 0..<operations.reduce(0) { $0 + $1.weight }, using: &random)
        for operation in operations {
            remaining -= operation.weight
            if remaining < 0 { return operation }
        }
        return operations[0]
    }

    // MARK: Choices

    mutating func chance(_ part: Int, of whole: Int) -> Bool { Int.random(in: 0..<whole, using: &random) < part }

    mutating func one<Element>(of elements: [Element]) throws -> Element {
        guard let element = elements.randomElement(using: &random) else { throw Idle() }
        return element
    }

    mutating func anyPerson() throws -> WalkPerson { try one(of: world.people) }

    mutating func anyAddress() throws -> String { try one(of: try anyPerson().addresses) }

    mutating func anyTicket() throws -> String { try one(of: world.memory.read(\.tickets)) }

    mutating func anySession() throws -> WalkSession { try one(of: world.memory.read(\.sessions)) }

    /// One of the identities. They are sorted first: their order is random among those linked at the same time.
    mutating func anyIdentity(of identities: [Identity]) throws -> Identity {
        try one(of: identities.sorted { $0.key.subject.text < $1.key.subject.text })
    }

    /// A live one of the sessions that phones know; now and then the failure of one that has ended.
    mutating func liveSession() async throws -> Session {
        let known = try anySession()
        do {
            return try await world.service.sessions.session(of: known.bearer, by: call)
        } catch SignInFailure.invalidSession where chance(3, of: 4) {
            world.memory.forget(session: known.id)
            return try await liveSession()
        }
    }

    /// Spends a ticket. Most that are used up are forgotten; the others are tried again.
    ///
    /// - Parameter use: returns whether the ticket was spent.
    mutating func spend(_ ticket: String, _ use: (inout RandomWalker) async throws -> Bool) async throws {
        let isForgotten = chance(3, of: 4)
        do {
            guard try await use(&self) else { return }
        } catch SignInFailure.linkTicketExpired {
            if isForgotten { world.memory.change { $0.tickets.removeAll { $0 == ticket } } }
            throw SignInFailure.linkTicketExpired
        }
        world.memory.spent(ticket: ticket)
        if isForgotten { world.memory.change { $0.tickets.removeAll { $0 == ticket } } }
    }
}

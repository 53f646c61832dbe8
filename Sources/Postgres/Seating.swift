/// Which connection works for whom: the pool's state, without its lock, threads and clock.
///
/// Every method says in `Effects` what is to be done once the lock is free.
struct Seating {
    struct Seat {
        enum Condition {
            /// Not connected; nobody asked yet, or nobody asks any more.
            case dormant
            case connecting
            case ready
            case closed
        }

        var condition = Condition.dormant
        /// Assigned and not yet taken by the connection's thread.
        var inbox: [Statement] = []
        /// Assigned and not yet answered.
        var load = 0
        var tenant: Lease?
        /// Gets the connection once its load is 0; until then the connection takes nothing new.
        var promise: LeaseRequest?
        /// A cancel request is under way and would hit whatever is sent.
        var isCancelling = false
        /// To be closed as soon as it is idle.
        var isRetiring = false

        var isOpen: Bool {
            condition == .ready && tenant == nil && promise == nil && !isCancelling && !isRetiring
        }

        var isQuiet: Bool { load == 0 && tenant == nil && promise == nil }
    }

    struct Effects {
        var wakes: [Int] = []
        var answers: [Request] = []
    }

    enum Turn {
        case proceed
        /// The connection has done its duty; another one may take its place.
        case reconnect
        case close
    }

    var seats: [Seat]
    var line = WaitingLine()
    var isClosing = false
    /// Why the last attempt to connect failed; nil once one succeeded.
    var outage: PostgresError?
    /// How many statements a connection has on their way.
    let depth: Int
    let maximumWaiting: Int
    /// How long a request waits.
    let patience: Duration

    init(_ configuration: Database.Configuration) {
        seats = Array(repeating: Seat(), count: max(1, configuration.poolSize))
        depth = max(1, configuration.pipelineDepth)
        maximumWaiting = max(1, configuration.maximumWaiting)
        patience = configuration.acquireTimeout
    }

    var hasWaiting: Bool { line.count > 0 || seats.contains { $0.promise != nil } }

    var isQuiet: Bool { line.count == 0 && seats.allSatisfy(\.isQuiet) }

    // MARK: - Requests

    mutating func submit(_ request: Request) -> Effects {
        var effects = Effects()
        if request.isCancelled {
            refuse(request, request.error(.cancelled), &effects)
        } else if isClosing {
            refuse(request, request.error(.closed), &effects)
        } else if line.count == 0, let statement = request as? Statement, let seat = leastLoaded() {
            assign(statement, to: seat, &effects)
            if seats[seat].load > 1, !seats.contains(where: { $0.condition == .connecting }) { wakeDormant(&effects) }
        } else if line.count >= maximumWaiting {
            refuse(request, request.error(.queueFull), &effects)
        } else {
            line.append(request)
            dispatch(&effects)
        }
        return effects
    }

    mutating func submit(_ statement: Statement, on lease: Lease, endsLease: Bool) -> Effects {
        var effects = Effects()
        if statement.isCancelled {
            refuse(statement, statement.error(.cancelled), &effects)
        } else if lease.isOver {
            refuse(statement, statement.error(.closed), &effects)
        } else if seats[lease.seat].tenant !== lease {
            refuse(statement, statement.error(.connectionLost), &effects)
        } else {
            lease.isOver = endsLease
            statement.lease = lease
            assign(statement, to: lease.seat, &effects)
        }
        return effects
    }

    /// Gives a connection back; `isSpent` closes it because its session is not as new.
    mutating func release(_ lease: Lease, isSpent: Bool) -> Effects {
        var effects = Effects()
        lease.isOver = true
        guard seats[lease.seat].tenant === lease else { return effects }
        seats[lease.seat].tenant = nil
        if isSpent {
            seats[lease.seat].isRetiring = true
            effects.wakes.append(lease.seat)
        }
        settle(lease.seat, &effects)
        return effects
    }

    /// The task of a request was cancelled.
    mutating func cancel(_ request: Request) -> Effects {
        var effects = Effects()
        request.markCancelled()
        switch request.phase {
        case .new, .answered: break
        case .waiting:
            line.leave(request)
            refuse(request, request.error(.cancelled), &effects)
        case .promised(let seat):
            seats[seat].promise = nil
            refuse(request, request.error(.cancelled), &effects)
            settle(seat, &effects)
        case .assigned(let seat):
            seats[seat].inbox.removeAll { $0 === request }
            seats[seat].load -= 1
            refuse(request, request.error(.cancelled), &effects)
            settle(seat, &effects)
        case .taken(let seat): effects.wakes.append(seat)
        }
        return effects
    }

    /// Answers whoever waited long enough. Returns when to look again, nil when nobody waits.
    mutating func expire(_ now: ContinuousClock.Instant, _ effects: inout Effects) -> ContinuousClock.Instant? {
        var (expired, oldest) = line.removeAll(waitingSince: now - patience)
        for index in seats.indices {
            guard let request = seats[index].promise else { continue }
            if request.since <= now - patience {
                seats[index].promise = nil
                expired.append(request)
            } else {
                oldest = min(oldest ?? request.since, request.since)
            }
        }
        for request in expired { refuse(request, expiry(of: request), &effects) }
        dispatch(&effects)
        closeIfQuiet(&effects)
        return oldest.map { $0 + patience }
    }

    private func expiry(of request: Request) -> PostgresError {
        guard let outage, !seats.contains(where: { $0.condition == .ready }) else {
            return request.error(.acquireTimedOut)
        }
        return request.error(.connectFailed, sqlState: outage.sqlState, message: outage.message)
    }

    // MARK: - Assignment

    func refuse(_ request: Request, _ error: PostgresError, _ effects: inout Effects) {
        request.phase = .answered
        request.fail(error)
        effects.answers.append(request)
    }

    private mutating func assign(_ statement: Statement, to seat: Int, _ effects: inout Effects) {
        statement.phase = .assigned(seat: seat)
        seats[seat].inbox.append(statement)
        seats[seat].load += 1
        effects.wakes.append(seat)
    }

    func leastLoaded() -> Int? {
        var best: Int?
        var least = depth
        for index in seats.indices where seats[index].load < least && seats[index].isOpen {
            (best, least) = (index, seats[index].load)
            if least == 0 { break }
        }
        return best
    }

    /// First come, first served. A lease takes an idle connection, or is promised the one that will be idle first: else
    /// statements would keep all of them busy for ever.
    mutating func dispatch(_ effects: inout Effects) {
        while let request = line.first(), let seat = leastLoaded() ?? promisable(for: request) {
            line.removeFirst()
            switch request {
            case let statement as Statement: assign(statement, to: seat, &effects)
            case let lease as LeaseRequest where seats[seat].load == 0: grant(lease, seat, &effects)
            case let lease as LeaseRequest:
                lease.phase = .promised(seat: seat)
                seats[seat].promise = lease
            default: break
            }
        }
        let connecting = seats.count { $0.condition == .connecting }
        if line.count > connecting { wakeDormant(&effects) }
    }

    /// A connection at full depth takes no statement, but can be promised.
    private func promisable(for request: Request) -> Int? {
        guard request is LeaseRequest else { return nil }
        return seats.indices.filter { seats[$0].isOpen }.min { seats[$0].load < seats[$1].load }
    }

    private mutating func grant(_ request: LeaseRequest, _ seat: Int, _ effects: inout Effects) {
        let lease = Lease(seat: seat, isolation: request.isolation)
        seats[seat].tenant = lease
        request.phase = .answered
        request.outcome = .success(lease)
        effects.answers.append(request)
    }

    /// After a load or a tenant went: keeps a promise, gives out what waits, ends what is to end.
    mutating func settle(_ seat: Int, _ effects: inout Effects) {
        if seats[seat].load == 0, seats[seat].tenant == nil, !seats[seat].isRetiring, !seats[seat].isCancelling,
            let promise = seats[seat].promise
        {
            seats[seat].promise = nil
            grant(promise, seat, &effects)
        }
        if line.count > 0 { dispatch(&effects) }
        closeIfQuiet(&effects)
    }

    // MARK: - Waking

    private mutating func wakeDormant(_ effects: inout Effects) {
        guard let seat = seats.firstIndex(where: { $0.condition == .dormant }) else { return }
        seats[seat].condition = .connecting
        effects.wakes.append(seat)
    }

    mutating func closeIfQuiet(_ effects: inout Effects) {
        guard isClosing, isQuiet else { return }
        effects.wakes += seats.indices
    }
}

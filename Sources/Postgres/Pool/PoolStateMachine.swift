/// The state of the pool, without its lock, threads and timer: which connection serves which requests.
///
/// Every method returns or adds to the `Effects` that are to be carried out once the lock is released.
struct PoolStateMachine {
    /// A slot of the pool for one connection, connected or not.
    struct ConnectionSlot {
        enum Condition {
            /// Not connected: no request has needed it yet, or none waits any more.
            case dormant
            case connecting
            case ready
            case closed
        }

        var condition = Condition.dormant
        /// The statements assigned and not yet taken by the connection's thread.
        var pending: [Statement] = []
        /// The number of statements assigned and not yet answered.
        var load = 0
        var lease: Lease?
        /// The request that gets the connection once its load is 0; until then the connection takes nothing new.
        var reservation: LeaseRequest?
        /// Whether nothing may be sent: a cancel request is under way, which would hit it, or a statement in flight was
        /// given up by its task, and may keep whatever is behind it waiting.
        var isHeldBack = false
        /// Whether the connection is to be closed as soon as it is idle.
        var isRetiring = false
        /// Whether the server has answered a statement on the connection.
        var hasServed = false

        var isOpen: Bool { condition == .ready && lease == nil && reservation == nil && !isHeldBack && !isRetiring }

        var isIdle: Bool { load == 0 && lease == nil && reservation == nil }
    }

    struct Effects {
        /// The slots whose threads are to be woken.
        var wakes: [Int] = []
        /// The requests whose tasks are to be resumed.
        var answers: [PoolRequest] = []
        /// The requests that wait now and have a deadline of their own, at which `expire` is to be called for each.
        var deadlines: [PoolRequest] = []
    }

    enum ThreadCommand {
        case proceed
        /// The connection is to be closed, and replaced when requests need one.
        case reconnect
        case close
    }

    var slots: [ConnectionSlot]
    var queue = WaitQueue()
    var isClosing = false
    private(set) var holdsWrites = false
    /// The error of the last attempt to connect, or of a connection that was lost instead of its first answer; nil once a
    /// new connection has served.
    var outage: PostgresError?
    /// The number of statements that may be in flight on one connection.
    let pipelineDepth: Int
    let maximumWaiting: Int
    /// How long a request may wait for a connection.
    let acquireTimeout: Duration

    init(_ configuration: Database.Configuration) {
        slots = Array(repeating: ConnectionSlot(), count: max(1, configuration.poolSize))
        pipelineDepth = max(1, configuration.pipelineDepth)
        maximumWaiting = max(1, configuration.maximumWaiting)
        acquireTimeout = configuration.acquireTimeout
    }

    /// Whether no connection has served, and the last attempt at one has failed.
    var isDown: Bool { outage != nil && !slots.contains { $0.condition == .ready && $0.hasServed } }

    var hasWaiting: Bool { queue.count > 0 || slots.contains { $0.reservation != nil } }

    var isIdle: Bool { queue.count == 0 && slots.allSatisfy(\.isIdle) }

    // MARK: - Requests

    mutating func submit(_ request: PoolRequest) -> Effects {
        var effects = Effects()
        if request.isCancelled {
            refuse(request, request.error(.cancelled), &effects)
        } else if isClosing {
            refuse(request, request.error(.closed), &effects)
        } else if isHeld(request) {
            refuse(request, request.error(.writesHeld), &effects)
        } else if queue.count == 0, let statement = request as? Statement, let slot = leastLoaded() {
            assign(statement, to: slot, &effects)
            if slots[slot].load > 1, !slots.contains(where: { $0.condition == .connecting }) { wakeDormant(&effects) }
        } else if queue.count >= maximumWaiting {
            refuse(request, request.error(.queueFull), &effects)
        } else {
            queue.append(request)
            dispatch(&effects)
            if request.isWaiting && request.context.acquireDeadline != nil { effects.deadlines.append(request) }
        }
        return effects
    }

    mutating func submit(_ statement: Statement, on lease: Lease, endsLease: Bool) -> Effects {
        var effects = Effects()
        if statement.isCancelled {
            refuse(statement, statement.error(.cancelled), &effects)
        } else if lease.isOver {
            refuse(statement, statement.error(.closed), &effects)
        } else if slots[lease.slot].lease !== lease {
            refuse(statement, statement.error(.connectionLost), &effects)
        } else if isHeld(statement) {
            refuse(statement, statement.error(.writesHeld), &effects)
        } else {
            lease.isOver = endsLease
            statement.lease = lease
            assign(statement, to: lease.slot, &effects)
        }
        return effects
    }

    /// Ends a lease. `isSpent` closes the connection, because its session state is no longer that of a new one.
    mutating func release(_ lease: Lease, isSpent: Bool) -> Effects {
        var effects = Effects()
        lease.isOver = true
        guard slots[lease.slot].lease === lease else { return effects }
        slots[lease.slot].lease = nil
        if isSpent { slots[lease.slot].isRetiring = true }
        // Its thread may have seen the last answer while the lease was there, and sleeps.
        if slots[lease.slot].isRetiring { effects.wakes.append(lease.slot) }
        settle(lease.slot, &effects)
        return effects
    }

    /// Handles the cancellation of a request's task.
    mutating func cancel(_ request: PoolRequest) -> Effects {
        var effects = Effects()
        request.markCancelled()
        switch request.phase {
        case .new, .answered: break
        case .waiting:
            queue.markAnswered(request)
            refuse(request, request.error(.cancelled), &effects)
        case .reserved(let slot):
            slots[slot].reservation = nil
            refuse(request, request.error(.cancelled), &effects)
            settle(slot, &effects)
        case .assigned(let slot):
            slots[slot].pending.removeAll { $0 === request }
            slots[slot].load -= 1
            refuse(request, request.error(.cancelled), &effects)
            settle(slot, &effects)
        case .taken(let slot): effects.wakes.append(slot)
        }
        return effects
    }

    /// Fails the requests that waited longer than the acquire timeout. Returns the next deadline, nil when none waits.
    mutating func expire(_ now: ContinuousClock.Instant, _ effects: inout Effects) -> ContinuousClock.Instant? {
        var (expired, oldest) = queue.removeAll(waitingSince: now - acquireTimeout)
        for index in slots.indices {
            guard let request = slots[index].reservation else { continue }
            if request.since <= now - acquireTimeout {
                slots[index].reservation = nil
                expired.append(request)
            } else {
                oldest = min(oldest ?? request.since, request.since)
            }
        }
        for request in expired { refuse(request, timeoutError(of: request), &effects) }
        dispatch(&effects)
        closeIfIdle(&effects)
        return oldest.map { $0 + acquireTimeout }
    }

    /// Fails a request whose own deadline has come, if it still waits.
    mutating func expire(_ request: PoolRequest) -> Effects {
        var effects = Effects()
        switch request.phase {
        case .waiting:
            queue.markAnswered(request)
            refuse(request, timeoutError(of: request), &effects)
            closeIfIdle(&effects)
        case .reserved(let slot):
            slots[slot].reservation = nil
            refuse(request, timeoutError(of: request), &effects)
            settle(slot, &effects)
        case .new, .assigned, .taken, .answered: break
        }
        return effects
    }

    private func timeoutError(of request: PoolRequest) -> PostgresError {
        guard let outage, isDown else { return request.error(.acquireTimedOut) }
        return request.error(.connectFailed, sqlState: outage.sqlState, message: outage.message)
    }

    // MARK: - Held writes

    /// Refuses writes from now on, those that wait too, or takes them again. The threads look at what is in flight.
    mutating func hold(_ holds: Bool) -> Effects {
        var effects = Effects()
        holdsWrites = holds
        guard holds else { return effects }
        for request in queue.removeAll(where: Self.isWrite) { refuse(request, request.error(.writesHeld), &effects) }
        for slot in slots.indices where slots[slot].lease == nil {
            let held = slots[slot].pending.filter(Self.isWrite)
            slots[slot].pending.removeAll(where: Self.isWrite)
            slots[slot].load -= held.count
            for statement in held { refuse(statement, statement.error(.writesHeld), &effects) }
            settle(slot, &effects)
        }
        effects.wakes += slots.indices
        return effects
    }

    /// Whether the request is refused now. A lease may only read, and the end of a transaction writes nothing that its
    /// statements have not.
    func isHeld(_ request: PoolRequest) -> Bool { holdsWrites && Self.isWrite(request) }

    private static func isWrite(_ request: PoolRequest) -> Bool { (request as? Statement)?.sql.mayCommit ?? false }

    // MARK: - Assignment

    func refuse(_ request: PoolRequest, _ error: PostgresError, _ effects: inout Effects) {
        request.phase = .answered
        request.fail(error)
        effects.answers.append(request)
    }

    private mutating func assign(_ statement: Statement, to slot: Int, _ effects: inout Effects) {
        statement.phase = .assigned(slot: slot)
        slots[slot].pending.append(statement)
        slots[slot].load += 1
        effects.wakes.append(slot)
    }

    func leastLoaded() -> Int? {
        var best: Int?
        var least = pipelineDepth
        for index in slots.indices where slots[index].load < least && slots[index].isOpen {
            (best, least) = (index, slots[index].load)
            if least == 0 { break }
        }
        return best
    }

    /// Serves the wait queue: first come, first served. A lease takes an idle connection, or reserves the one that will
    /// be idle first: otherwise statements would keep all of them busy for ever. It takes another that is idle before.
    mutating func dispatch(_ effects: inout Effects) {
        while let reserved = slots.firstIndex(where: { $0.reservation != nil }), let free = leastLoaded(),
            slots[free].load == 0, let reservation = slots[reserved].reservation
        {
            slots[reserved].reservation = nil
            grant(reservation, free, &effects)
        }
        while let request = queue.first(), let slot = leastLoaded() ?? reservable(for: request) {
            queue.removeFirst()
            switch request {
            case let statement as Statement: assign(statement, to: slot, &effects)
            case let lease as LeaseRequest where slots[slot].load == 0: grant(lease, slot, &effects)
            case let lease as LeaseRequest:
                lease.phase = .reserved(slot: slot)
                slots[slot].reservation = lease
            default: break
            }
        }
        let connecting = slots.count { $0.condition == .connecting }
        if queue.count + slots.count(where: { $0.reservation != nil }) > connecting { wakeDormant(&effects) }
    }

    /// The connection for a lease to reserve. One at full depth takes no statement, but can be reserved.
    private func reservable(for request: PoolRequest) -> Int? {
        guard request is LeaseRequest else { return nil }
        return slots.indices.filter { slots[$0].isOpen }.min { slots[$0].load < slots[$1].load }
    }

    private mutating func grant(_ request: LeaseRequest, _ slot: Int, _ effects: inout Effects) {
        let lease = Lease(slot: slot, isolation: request.isolation)
        slots[slot].lease = lease
        request.phase = .answered
        request.outcome = .success(lease)
        effects.answers.append(request)
    }

    /// Acts on a smaller load or a released lease: grants the reservation, serves the wait queue, closes after
    /// `isClosing`.
    mutating func settle(_ slot: Int, _ effects: inout Effects) {
        if slots[slot].load == 0, slots[slot].lease == nil, !slots[slot].isRetiring, !slots[slot].isHeldBack,
            let reservation = slots[slot].reservation
        {
            slots[slot].reservation = nil
            grant(reservation, slot, &effects)
        }
        if hasWaiting { dispatch(&effects) }
        closeIfIdle(&effects)
    }

    // MARK: - Waking

    private mutating func wakeDormant(_ effects: inout Effects) {
        guard let slot = slots.firstIndex(where: { $0.condition == .dormant }) else { return }
        slots[slot].condition = .connecting
        effects.wakes.append(slot)
    }

    mutating func closeIfIdle(_ effects: inout Effects) {
        guard isClosing, isIdle else { return }
        effects.wakes += slots.indices
    }
}

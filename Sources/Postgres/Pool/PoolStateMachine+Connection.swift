/// The calls of a connection's thread: what it reports, and the commands that it gets.
extension PoolStateMachine {
    enum ConnectCommand {
        case none
        case connect
        case close
    }

    /// The command for the thread of an unconnected slot.
    mutating func connectCommand(_ slot: Int) -> ConnectCommand {
        if isClosing && isIdle {
            slots[slot].condition = .closed
            return .close
        }
        return slots[slot].condition == .connecting ? .connect : .none
    }

    /// Records a failed attempt. When no request waits any more the slot goes dormant, and the next request connects
    /// again.
    mutating func connectFailed(_ slot: Int, _ error: PostgresError) {
        outage = error
        if !hasWaiting { slots[slot].condition = .dormant }
    }

    mutating func connected(_ slot: Int) -> Effects {
        var effects = Effects()
        slots[slot].condition = .ready
        slots[slot].hasServed = false
        dispatch(&effects)
        return effects
    }

    /// One iteration of a connection's thread: it reports what it did since the last one and takes the statements to
    /// send.
    ///
    /// - Parameters:
    ///   - requeued: Statements to be sent again: the server rolled them back for no fault of theirs.
    ///   - batch: Empty; gets the statements to send.
    mutating func advance(
        _ slot: Int, answered: Int, requeued: [Statement], isHeldBack: Bool, retires: Bool,
        batch: inout [Statement], _ effects: inout Effects
    ) -> ThreadCommand {
        slots[slot].load -= answered + requeued.count
        // Not before: a pooler takes a connection that it has no server for, and closes it at the first statement.
        if answered + requeued.count > 0, !slots[slot].hasServed {
            slots[slot].hasServed = true
            outage = nil
        }
        for statement in requeued { statement.since = .now }
        slots[slot].isHeldBack = isHeldBack
        if retires { slots[slot].isRetiring = true }
        putBack(requeued, &effects)
        if slots[slot].lease == nil && (isHeldBack || slots[slot].isRetiring) {
            returnPending(slot, &effects)
            returnReservation(slot)
        }
        if answered > 0 || !requeued.isEmpty || queue.count > 0 || isClosing || slots[slot].reservation != nil {
            settle(slot, &effects)
        }
        if slots[slot].isIdle || slots[slot].isRetiring && slots[slot].load == 0 && slots[slot].lease == nil {
            if isClosing && isIdle {
                slots[slot].condition = .closed
                return .close
            }
            if slots[slot].isRetiring {
                resetSlot(slot, &effects)
                return .reconnect
            }
        }
        if !isHeldBack {
            swap(&slots[slot].pending, &batch)
            for statement in batch { statement.phase = .taken(slot: slot) }
            if let lease = slots[slot].lease, let first = batch.first {
                first.beginIsolation = lease.pendingBegin
                lease.pendingBegin = nil
            }
        }
        return .proceed
    }

    /// Handles the loss of a connection. Those to be sent again begin to wait. Statements that were never sent go to other
    /// connections, unless they belong to a transaction, which ended with it.
    ///
    /// - Parameter failure: the reason, of a connection that has served nothing, when it was to or was new: it counts as a
    ///   failed attempt.
    mutating func lost(
        _ slot: Int, failure: PostgresError? = nil, requeued: [Statement], unsent: [Statement]
    ) -> Effects {
        var effects = Effects()
        if let failure { outage = failure }
        for statement in requeued { statement.since = .now }
        returnPending(slot, &effects)
        putBack(requeued + unsent, &effects)
        slots[slot].lease = nil
        slots[slot].load = 0
        resetSlot(slot, &effects)
        if hasWaiting { dispatch(&effects) }
        closeIfIdle(&effects)
        return effects
    }

    /// Marks a slot as unconnected. A reservation of it goes back to the wait queue.
    private mutating func resetSlot(_ slot: Int, _ effects: inout Effects) {
        returnReservation(slot)
        slots[slot].isRetiring = false
        slots[slot].isHeldBack = false
        slots[slot].condition = hasWaiting ? .connecting : .dormant
    }

    private mutating func returnReservation(_ slot: Int) {
        guard let reservation = slots[slot].reservation else { return }
        slots[slot].reservation = nil
        queue.putBack(reservation)
    }

    private mutating func returnPending(_ slot: Int, _ effects: inout Effects) {
        let unsent = slots[slot].pending
        slots[slot].pending.removeAll(keepingCapacity: true)
        slots[slot].load -= unsent.count
        putBack(unsent, &effects)
    }

    /// Returns statements to the front of the wait queue in their order, except for those whose task was cancelled or
    /// whose transaction is gone.
    private mutating func putBack(_ statements: [Statement], _ effects: inout Effects) {
        for statement in statements.reversed() {
            if statement.isCancelled {
                refuse(statement, statement.error(.cancelled), &effects)
            } else if statement.lease != nil {
                refuse(statement, statement.error(.connectionLost), &effects)
            } else if isHeld(statement) {
                refuse(statement, statement.error(.writesHeld), &effects)
            } else {
                queue.putBack(statement)
                if statement.context.acquireDeadline != nil { effects.deadlines.append(statement) }
            }
        }
    }

    var statistics: Database.Statistics {
        let connected = slots.count { $0.condition == .ready }
        let idle = slots.count { $0.isOpen && $0.load == 0 }
        let reserved = slots.count { $0.reservation != nil }
        return Database.Statistics(idle: idle, busy: connected - idle, waiting: queue.count + reserved, isDown: isDown)
    }
}

/// What the thread of a connection reports and asks.
extension PoolStateMachine {
    enum ConnectCommand {
        case none
        case connect
        case close
    }

    /// What the thread of an unconnected seat is to do.
    mutating func connectCommand(_ slot: Int) -> ConnectCommand {
        if isClosing && isQuiet {
            slots[slot].condition = .closed
            return .close
        }
        return slots[slot].condition == .connecting ? .connect : .none
    }

    /// Nobody waiting any more is reason to rest: the next request connects anew.
    mutating func connectFailed(_ slot: Int, _ error: PostgresError) {
        outage = error
        if queue.count == 0 { slots[slot].condition = .dormant }
    }

    mutating func connected(_ slot: Int) -> Effects {
        var effects = Effects()
        outage = nil
        slots[slot].condition = .ready
        dispatch(&effects)
        return effects
    }

    /// One turn of a connection's thread: it tells what it did since the last one and takes what is to do.
    ///
    /// - Parameters:
    ///   - again: Statements that the server rolled back for no fault of theirs.
    ///   - outbox: Empty; gets the statements to send.
    mutating func advance(
        _ slot: Int, answered: Int, again: [Statement], isCancelling: Bool, retires: Bool,
        outbox: inout [Statement], _ effects: inout Effects
    ) -> ThreadCommand {
        slots[slot].load -= answered + again.count
        for statement in again { statement.since = .now }
        slots[slot].isCancelling = isCancelling
        if retires { slots[slot].isRetiring = true }
        putBack(again, &effects)
        if slots[slot].lease == nil && (isCancelling || slots[slot].isRetiring) { returnPending(slot, &effects) }
        if answered > 0 || !again.isEmpty || queue.count > 0 || isClosing || slots[slot].reservation != nil {
            settle(slot, &effects)
        }
        if slots[slot].isQuiet || slots[slot].isRetiring && slots[slot].load == 0 && slots[slot].lease == nil {
            if isClosing && isQuiet {
                slots[slot].condition = .closed
                return .close
            }
            if slots[slot].isRetiring {
                resetSlot(slot, &effects)
                return .reconnect
            }
        }
        if !isCancelling {
            swap(&slots[slot].pending, &outbox)
            for statement in outbox { statement.phase = .taken(slot: slot) }
            if let lease = slots[slot].lease, let first = outbox.first {
                first.opening = lease.pendingBegin
                lease.pendingBegin = nil
            }
        }
        return .proceed
    }

    /// The connection is gone. Statements that were never sent go to other connections, unless they belonged to a
    /// transaction, which is gone with it.
    mutating func lost(_ slot: Int, unsent: [Statement]) -> Effects {
        var effects = Effects()
        returnPending(slot, &effects)
        putBack(unsent, &effects)
        slots[slot].lease = nil
        slots[slot].load = 0
        resetSlot(slot, &effects)
        if queue.count > 0 { dispatch(&effects) }
        closeIfQuiet(&effects)
        return effects
    }

    /// No connection is here any more; whoever was promised it waits with the others again.
    private mutating func resetSlot(_ slot: Int, _ effects: inout Effects) {
        if let reservation = slots[slot].reservation {
            slots[slot].reservation = nil
            queue.putBack(reservation)
        }
        slots[slot].isRetiring = false
        slots[slot].isCancelling = false
        slots[slot].condition = queue.count > 0 ? .connecting : .dormant
    }

    private mutating func returnPending(_ slot: Int, _ effects: inout Effects) {
        let unsent = slots[slot].pending
        slots[slot].pending.removeAll(keepingCapacity: true)
        slots[slot].load -= unsent.count
        putBack(unsent, &effects)
    }

    /// In their order to the front of the line, except for those whose task no longer waits or whose transaction is gone.
    private mutating func putBack(_ statements: [Statement], _ effects: inout Effects) {
        for statement in statements.reversed() {
            if statement.isCancelled {
                refuse(statement, statement.error(.cancelled), &effects)
            } else if statement.lease != nil {
                refuse(statement, statement.error(.connectionLost), &effects)
            } else {
                queue.putBack(statement)
            }
        }
    }

    var statistics: Database.Statistics {
        let connected = slots.filter { $0.condition == .ready }
        let idle = connected.count { $0.load == 0 && $0.lease == nil }
        let reserved = slots.count { $0.reservation != nil }
        return Database.Statistics(
            idle: idle, busy: connected.count - idle, waiting: queue.count + reserved, isDown: outage != nil)
    }
}

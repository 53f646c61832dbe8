/// What the thread of a connection reports and asks.
extension Seating {
    enum Demand {
        case none
        case connect
        case close
    }

    /// What the thread of an unconnected seat is to do.
    mutating func demand(_ seat: Int) -> Demand {
        if isClosing && isQuiet {
            seats[seat].condition = .closed
            return .close
        }
        return seats[seat].condition == .connecting ? .connect : .none
    }

    /// Nobody waiting any more is reason to rest: the next request connects anew.
    mutating func connectFailed(_ seat: Int, _ error: PostgresError) {
        outage = error
        if line.count == 0 { seats[seat].condition = .dormant }
    }

    mutating func connected(_ seat: Int) -> Effects {
        var effects = Effects()
        outage = nil
        seats[seat].condition = .ready
        dispatch(&effects)
        return effects
    }

    /// One turn of a connection's thread: it tells what it did since the last one and takes what is to do.
    ///
    /// - Parameters:
    ///   - again: Statements that the server rolled back for no fault of theirs.
    ///   - outbox: Empty; gets the statements to send.
    mutating func exchange(
        _ seat: Int, answered: Int, again: [Statement], isCancelling: Bool, retires: Bool,
        outbox: inout [Statement], _ effects: inout Effects
    ) -> Turn {
        seats[seat].load -= answered + again.count
        for statement in again { statement.since = .now }
        seats[seat].isCancelling = isCancelling
        if retires { seats[seat].isRetiring = true }
        putBack(again, &effects)
        if seats[seat].tenant == nil && (isCancelling || seats[seat].isRetiring) { emptyInbox(seat, &effects) }
        if answered > 0 || !again.isEmpty || line.count > 0 || isClosing || seats[seat].promise != nil {
            settle(seat, &effects)
        }
        if seats[seat].isQuiet || seats[seat].isRetiring && seats[seat].load == 0 && seats[seat].tenant == nil {
            if isClosing && isQuiet {
                seats[seat].condition = .closed
                return .close
            }
            if seats[seat].isRetiring {
                vacate(seat, &effects)
                return .reconnect
            }
        }
        if !isCancelling {
            swap(&seats[seat].inbox, &outbox)
            for statement in outbox { statement.phase = .taken(seat: seat) }
            if let tenant = seats[seat].tenant, let first = outbox.first {
                first.opening = tenant.pendingBegin
                tenant.pendingBegin = nil
            }
        }
        return .proceed
    }

    /// The connection is gone. Statements that were never sent go to other connections, unless they belonged to a
    /// transaction, which is gone with it.
    mutating func lost(_ seat: Int, unsent: [Statement]) -> Effects {
        var effects = Effects()
        emptyInbox(seat, &effects)
        putBack(unsent, &effects)
        seats[seat].tenant = nil
        seats[seat].load = 0
        vacate(seat, &effects)
        if line.count > 0 { dispatch(&effects) }
        closeIfQuiet(&effects)
        return effects
    }

    /// No connection is here any more; whoever was promised it waits with the others again.
    private mutating func vacate(_ seat: Int, _ effects: inout Effects) {
        if let promise = seats[seat].promise {
            seats[seat].promise = nil
            line.putBack(promise)
        }
        seats[seat].isRetiring = false
        seats[seat].isCancelling = false
        seats[seat].condition = line.count > 0 ? .connecting : .dormant
    }

    private mutating func emptyInbox(_ seat: Int, _ effects: inout Effects) {
        let unsent = seats[seat].inbox
        seats[seat].inbox.removeAll(keepingCapacity: true)
        seats[seat].load -= unsent.count
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
                line.putBack(statement)
            }
        }
    }

    var statistics: Database.Statistics {
        let connected = seats.filter { $0.condition == .ready }
        let idle = connected.count { $0.load == 0 && $0.tenant == nil }
        let promised = seats.count { $0.promise != nil }
        return Database.Statistics(
            idle: idle, busy: connected.count - idle, waiting: line.count + promised, isDown: outage != nil)
    }
}

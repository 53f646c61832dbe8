/// The requests that no connection could take yet, first come, first served.
///
/// A request that was answered meanwhile (its task was cancelled) stays in place and is skipped at the head, so that no
/// element has to be moved.
struct WaitQueue {
    /// Requests put back in front of all others, the last one first.
    private var returned: [PoolRequest] = []
    private var arrived: [PoolRequest?] = []
    private var head = 0
    /// The number of requests that still wait.
    private(set) var count = 0

    mutating func append(_ request: PoolRequest) {
        request.phase = .waiting
        arrived.append(request)
        count += 1
    }

    /// Puts a request in front: a statement that was assigned and not sent, or a reservation whose connection was lost.
    mutating func putBack(_ request: PoolRequest) {
        request.phase = .waiting
        returned.append(request)
        count += 1
    }

    /// The first one that still waits.
    mutating func first() -> PoolRequest? {
        while let request = returned.last ?? (head < arrived.count ? arrived[head] : nil) {
            if case .waiting = request.phase { return request }
            drop()
        }
        return nil
    }

    mutating func removeFirst() {
        guard first() != nil else { return }
        drop()
        count -= 1
    }

    /// Ends the wait of a request, which stays where it is.
    mutating func markAnswered(_ request: PoolRequest) {
        request.phase = .answered
        count -= 1
    }

    /// Ends the wait of all requests that began to wait at `limit` or before. Returns them, and when the oldest of the
    /// others began.
    mutating func removeAll(
        waitingSince limit: ContinuousClock.Instant
    ) -> (expired: [PoolRequest], oldest: ContinuousClock.Instant?) {
        var expired: [PoolRequest] = []
        // The ones put back are in no order of time; the others are in the order of their arrival.
        for request in returned where request.since <= limit {
            guard case .waiting = request.phase else { continue }
            markAnswered(request)
            expired.append(request)
        }
        var oldest: ContinuousClock.Instant?
        for request in returned {
            guard case .waiting = request.phase else { continue }
            oldest = min(oldest ?? request.since, request.since)
        }
        while head < arrived.count, let request = arrived[head] {
            if case .waiting = request.phase {
                guard request.since <= limit else {
                    oldest = min(oldest ?? request.since, request.since)
                    break
                }
                markAnswered(request)
                expired.append(request)
            }
            dropArrived()
        }
        return (expired, oldest)
    }

    /// Ends the wait of all requests of which this is true, and returns them.
    mutating func removeAll(where isMeant: (PoolRequest) -> Bool) -> [PoolRequest] {
        let removed = (returned + arrived[head...].compactMap(\.self)).filter { $0.isWaiting && isMeant($0) }
        for request in removed { markAnswered(request) }
        return removed
    }

    private mutating func drop() { if returned.popLast() == nil { dropArrived() } }

    private mutating func dropArrived() {
        arrived[head] = nil
        head += 1
        if head == arrived.count {
            arrived.removeAll(keepingCapacity: arrived.capacity <= 1024)
            head = 0
        } else if head >= 1024 && head * 2 >= arrived.count {
            arrived.removeFirst(head)
            head = 0
        }
    }
}

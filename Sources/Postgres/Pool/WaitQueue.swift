/// Requests that no connection could take yet, first come first served.
///
/// A request that was answered meanwhile (its task was cancelled) stays in place and is skipped when its turn comes, so
/// that leaving costs nothing.
struct WaitQueue {
    /// Returned to the front, last one first.
    private var returned: [PoolRequest] = []
    private var arrived: [PoolRequest?] = []
    private var head = 0
    /// How many of them still wait.
    private(set) var count = 0

    mutating func append(_ request: PoolRequest) {
        request.phase = .waiting
        arrived.append(request)
        count += 1
    }

    /// For statements that were given to a connection and not sent.
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

    /// The request, which stays where it is, waits no more.
    mutating func leave(_ request: PoolRequest) {
        request.phase = .answered
        count -= 1
    }

    /// Takes out whoever has waited since `limit` or longer. Returns them, and since when the oldest other one waits.
    mutating func removeAll(
        waitingSince limit: ContinuousClock.Instant
    ) -> (expired: [PoolRequest], oldest: ContinuousClock.Instant?) {
        var expired: [PoolRequest] = []
        // Those put back stand in no order of time, the others came one after the other.
        for request in returned where request.since <= limit {
            guard case .waiting = request.phase else { continue }
            leave(request)
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
                leave(request)
                expired.append(request)
            }
            dropArrived()
        }
        return (expired, oldest)
    }

    private mutating func drop() {
        if returned.popLast() == nil { dropArrived() }
    }

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

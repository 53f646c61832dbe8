import CPostgres
import Primitives
import Synchronization

/// A request to the server, over a second short connection, to stop what a connection is executing.
///
/// It is sent for leased connections alone: on a shared one it would stop whichever statement, or whichever commit's wait
/// for a standby, the server is at by then.
///
/// `PQcancel` blocks until the server has signalled the backend and has no timeout, so it gets a thread for itself;
/// there is at most one request at a time for a connection. Once it has returned, the signal is with the backend, and a
/// statement sent later cannot be hit: a backend forgets a cancel that finds it reading its next command.
///
/// Sendable because `key` is an immutable copy of what a request needs, made for use from other threads (libpq,
/// "Canceling Queries in Progress"), and `hasReturned` is atomic.
@safe
final class CancelRequest: @unchecked Sendable {
    private let key: OpaquePointer
    private let hasReturned = Atomic(false)

    init(adopting key: OpaquePointer) { unsafe self.key = unsafe key }

    deinit {
        unsafe PQfreeCancel(key)
    }

    var isDelivered: Bool { hasReturned.load(ordering: .acquiring) }

    /// Sends the request on a thread of its own, and raises `signal` when it is done, whether or not it succeeded.
    func send(thenRaise signal: WakeSignal) {
        let isStarted = DedicatedThread.start("postgres-cancel", stackBytes: Pool.threadStackBytes) { [self] in
            var reason = [CChar](repeating: 0, count: 256)
            _ = unsafe PQcancel(key, &reason, 256)
            hasReturned.store(true, ordering: .releasing)
            signal.raise()
        }
        if !isStarted {
            hasReturned.store(true, ordering: .releasing)
            signal.raise()
        }
    }
}

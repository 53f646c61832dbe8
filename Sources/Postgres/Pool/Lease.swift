/// A connection that belongs to one transaction until it is released, or until the connection is lost.
///
/// Sendable because its variables are touched only under the pool's lock.
final class Lease: @unchecked Sendable {
    let slot: Int
    /// The BEGIN that has not been sent; it travels with the first statement and costs no round trip of its own.
    var pendingBegin: IsolationLevel?
    /// Whether COMMIT or ROLLBACK was submitted, or the lease released: a later statement would run outside of the
    /// transaction.
    var isOver = false

    init(slot: Int, isolation: IsolationLevel?) {
        self.slot = slot
        pendingBegin = isolation
    }
}

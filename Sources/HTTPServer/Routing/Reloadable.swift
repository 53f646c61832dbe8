import Synchronization

/// A value that is replaced as a whole while others read it. A reader keeps the value that it has read.
package final class Reloadable<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>

    package init(_ value: Value) { stored = Mutex(value) }

    package var value: Value {
        get { stored.withLock(\.self) }
        set { stored.withLock { $0 = newValue } }
    }
}

extension Reloadable<[Route]> {
    /// The same operations for a listener. Each request is handled, to its end, by the handler that is current when it
    /// comes.
    ///
    /// - Precondition: only handlers and refusals are replaced: later tables have the same operations in the same order.
    package var routes: [Route] {
        value.enumerated().map { index, route in
            let handled = route.handled { [self] request in try await value[index].handler(request) }
            guard let refusal = route.refusal else { return handled }
            return handled.refused { [self] error, problem, request in
                (value[index].refusal ?? refusal)(error, problem, request)
            }
        }
    }
}

import Metrics
import Synchronization

/// The metrics of a listener: responses and their duration by route, requests in flight, open connections, shed
/// requests.
///
/// The series of a route are created by its first request: there are more than a hundred routes, of which a service has a few
/// in use. No client can create others, so their number is bounded by that of the routes. Requests that match no route have
/// `-` for route and method, from the start.
struct RequestMetrics: Sendable {
    fileprivate struct Operation: Hashable {
        var method = "-"
        var route = "-"
    }

    /// The series of one operation, or none yet.
    final class Series: Sendable {
        private let operation: Operation
        private let factory: any MetricsFactory
        private let made = Mutex<Meters?>(nil)

        fileprivate init(_ operation: Operation, _ factory: any MetricsFactory) {
            self.operation = operation
            self.factory = factory
        }

        func record(_ status: Int, after duration: Duration) { meters().record(status, after: duration) }

        @discardableResult
        fileprivate func meters() -> Meters {
            made.withLock { made in
                let meters = made ?? Meters(operation, factory)
                made = meters
                return meters
            }
        }
    }

    fileprivate struct Meters: Sendable {
        private static let classes = 2...5
        private let time: Timer
        /// One for each class of status.
        private let responses: [Counter]

        fileprivate init(_ operation: Operation, _ factory: any MetricsFactory) {
            let dimensions = [("method", operation.method), ("route", operation.route)]
            time = Timer(label: "countersign_http_request_seconds", dimensions: dimensions, factory: factory)
            responses = Self.classes.map {
                Counter(
                    label: "countersign_http_requests_total", dimensions: dimensions + [("status", "\($0)xx")],
                    factory: factory)
            }
        }

        func record(_ status: Int, after duration: Duration) {
            time.record(duration: duration)
            let status = status / 100
            if Self.classes.contains(status) { responses[status - Self.classes.lowerBound].increment() }
        }
    }

    private let operations: [Operation: Series]
    private let unmatched: Series
    private let inFlight: Meter
    private let connections: Meter
    private let shed: [Overload: Counter]
    private let refused: [ConnectionRefusal: Counter]

    init(listener: String, routes: [Route], factory: any MetricsFactory) {
        let dimensions = [("listener", listener)]
        inFlight = Meter(label: "countersign_http_requests_in_flight", dimensions: dimensions, factory: factory)
        connections = Meter(label: "countersign_http_connections", dimensions: dimensions, factory: factory)
        shed = Dictionary(
            uniqueKeysWithValues: Overload.allCases.map {
                let dimensions = dimensions + [("reason", $0.rawValue)]
                return ($0, Counter(label: "countersign_http_shed_total", dimensions: dimensions, factory: factory))
            })
        refused = Dictionary(
            uniqueKeysWithValues: ConnectionRefusal.allCases.map {
                let dimensions = dimensions + [("reason", $0.rawValue)]
                let label = "countersign_http_connections_refused_total"
                return ($0, Counter(label: label, dimensions: dimensions, factory: factory))
            })
        unmatched = Series(Operation(), factory)
        unmatched.meters()
        operations = routes.reduce(into: [:]) { operations, route in
            let operation = Operation(method: route.method.rawValue, route: route.template)
            operations[operation] = Series(operation, factory)
        }
    }

    func connectionOpened() { connections.increment() }
    func connectionClosed() { connections.decrement() }
    func connectionRefused(_ refusal: ConnectionRefusal) { refused[refusal]?.increment() }

    func requestBegan() { inFlight.increment() }
    func requestEnded() { inFlight.decrement() }

    func requestShed(for overload: Overload) { shed[overload]?.increment() }

    func record(_ record: RequestRecord) {
        // HEAD is answered by the route of GET, and counted as GET.
        let method = record.method == "HEAD" ? Route.Method.get.rawValue : record.method
        let series = operations[Operation(method: method, route: record.route)] ?? unmatched
        series.record(record.status, after: record.duration)
    }

    func series(of route: Route) -> Series {
        operations[Operation(method: route.method.rawValue, route: route.template)] ?? unmatched
    }
}

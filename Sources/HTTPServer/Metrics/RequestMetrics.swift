import Metrics

/// The metrics of a listener: responses and their duration by route, requests in flight, open connections, shed
/// requests.
///
/// Every series is created with the routes: no client can create one, a request costs one look-up, and the first
/// rejection is a step from 0 that `rate` can see. Requests that match no route have `-` for route and method.
struct RequestMetrics: Sendable {
    fileprivate struct Operation: Hashable {
        var method = "-"
        var route = "-"
    }

    struct Series: Sendable {
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

import ServiceLifecycle

/// Services that are notified of the shutdown at the same time and end concurrently. A `ServiceGroup` notifies each of
/// its services only after the one behind it has ended.
struct ConcurrentServices: Service, CustomStringConvertible {
    /// Their name in the log.
    let description: String
    let services: [any Service]

    init(_ description: String, _ services: [any Service]) {
        self.description = description
        self.services = services
    }

    /// Runs until the last one has ended. The first failure cancels the others.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for service in services { group.addTask { try await service.run() } }
            // Not `waitForAll()`, which throws a failure only after all have ended.
            for try await _ in group {}
        }
    }
}

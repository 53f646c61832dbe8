import ServiceLifecycle

/// Services that learn of the shutdown at once and end side by side. Of a service group's own, each learns of it when the
/// one after it has ended.
struct ConcurrentServices: Service, CustomStringConvertible {
    /// What the log calls them.
    let description: String
    let services: [any Service]

    init(_ description: String, _ services: [any Service]) {
        self.description = description
        self.services = services
    }

    /// Until the last one has ended. The first that fails ends the others.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for service in services { group.addTask { try await service.run() } }
            // Not `waitForAll()`, which tells of a failure when all have ended.
            for try await _ in group {}
        }
    }
}

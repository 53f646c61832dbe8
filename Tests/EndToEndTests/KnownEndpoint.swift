import TestSupport

/// The endpoint `crm` as an administrator calls it, once the service knows it.
struct KnownEndpoint {
    private let world: World
    let key: String

    static func of(_ world: World, _ scopes: String) async throws -> Self {
        let endpoint = Self(world: world, key: try await world.adminKey(scopes))
        try await eventually("the endpoint is known") { try await endpoint.post("/resume").status == 200 }
        return endpoint
    }

    func post(_ path: String, _ body: String? = nil) async throws -> RawAnswer {
        try await call("POST", "/crm" + path, body)
    }

    /// - Parameter path: below that of all endpoints.
    func call(_ method: String, _ path: String, _ body: String? = nil) async throws -> RawAnswer {
        try await world.service.administer(method, "/admin/v1/webhooks" + path, bearer: key, body: body)
    }
}

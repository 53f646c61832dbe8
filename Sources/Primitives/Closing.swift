/// Runs `body`, then `close`, however the body ended.
package func closing<Value>(_ close: () async -> Void, after body: () async throws -> Value) async throws -> Value {
    do {
        let value = try await body()
        await close()
        return value
    } catch {
        await close()
        throw error
    }
}

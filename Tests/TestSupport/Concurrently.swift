/// What `body` makes of each item, all at once, in the order of the items.
@discardableResult
package func concurrently<Item: Sendable, Value: Sendable>(
    _ items: some Sequence<Item>, _ body: @escaping @Sendable (Item) async throws -> Value
) async throws -> [Value] {
    try await withThrowingTaskGroup(of: (Int, Value).self) { group in
        for (index, item) in items.enumerated() { group.addTask { (index, try await body(item)) } }
        let values = try await group.reduce(into: [(Int, Value)]()) { $0.append($1) }
        return values.sorted { $0.0 < $1.0 }.map { $0.1 }
    }
}

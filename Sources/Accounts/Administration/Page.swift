/// A page of a list, with the cursor of the next one.
package struct Page<Item: Sendable, Cursor: Sendable>: Sendable {
    package let items: [Item]
    /// `nil` at the end.
    package let next: Cursor?

    /// - Parameter items: one more than `limit`, if there are as many.
    package init(_ items: [Item], limit: Int, cursor: (Item) -> Cursor) {
        self.items = Array(items.prefix(limit))
        self.next = items.count > limit ? self.items.last.map(cursor) : nil
    }

    package init(items: [Item], next: Cursor?) {
        self.items = items
        self.next = next
    }
}

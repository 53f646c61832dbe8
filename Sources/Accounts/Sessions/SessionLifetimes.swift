/// How long a session lives, in seconds.
package struct SessionLifetimes: Hashable, Sendable {
    /// Without a refresh.
    package let unused: Int64
    /// From its opening, however often it is refreshed; `nil` for no such end.
    package let absolute: Int64?

    package init(unused: Int64, absolute: Int64? = nil) {
        self.unused = unused
        self.absolute = absolute
    }

    /// The shortest time after which a session may be over.
    package var shortest: Int64 { min(unused, absolute ?? unused) }

    /// When a session ends that is not refreshed after `now`.
    package func end(ofSessionOpenedAt createdAt: Timestamp, refreshedAt now: Timestamp) -> Timestamp {
        let end = now.advanced(bySeconds: unused)
        return absolute.map { min(end, createdAt.advanced(bySeconds: $0)) } ?? end
    }
}

package import Webhooks

extension Administration {
    /// What happened to accounts, in the order of the feed.
    ///
    /// - Parameter isWanted: false when its reader has left.
    package func events(
        _ query: Feed.Query, by administrator: Administrator, while isWanted: @Sendable () async -> Bool
    ) async throws(AdministrationFailure) -> Feed.Answer {
        guard let feed else { throw .notFound }
        do {
            return try await feed.read(query, by: administrator.name, while: isWanted)
        } catch let refusal as Feed.Refusal {
            switch refusal {
            case .unknownStart: throw .unknownCursor
            case .expired: throw .cursorExpired
            case .crowded: throw .overloaded(retryAfter: 5)
            }
        } catch {
            throw AdministrationFailure(stored: error)
        }
    }
}

import Accounts
package import Webhooks

extension Administration {
    /// What happened to accounts, in the order of the feed.
    package func events(_ query: Feed.Query) async throws(AdministrationFailure) -> Feed.Answer {
        guard let feed else { throw .notFound }
        do {
            return try await feed.read(query)
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

import Accounts
import Administration
import HTTPServer
import JSON

extension AdminAPI {
    var identityOperations: [Operation] {
        [
            operation(.get, "/identities/{identityId}", .read) { request, _ in
                let id = try request.parameter("identityId", as: IdentityID.init)
                let (account, identity) = try await administration.identity(id)
                return .json { writer in
                    writer.members(of: identity)
                    writer.member("accountId", "\(account.id)")
                }
            }
        ]
    }

    var revocationOperations: [Operation] {
        [
            operation(.get, "/revocations", .read) { request, _ in
                let (status, range) = try request.query { query in
                    (query.optionalChoice("status", of: OutboxStatus.self), query.range(RevocationID.self))
                }
                return .list(try await administration.revocations(status, before: range.cursor, limit: range.limit))
            },
            operation(.get, "/revocations/{revocationId}", .read) { request, _ in
                let id = try request.parameter("revocationId", as: RevocationID.init)
                return .json(try await administration.revocation(id))
            },
        ]
    }
}

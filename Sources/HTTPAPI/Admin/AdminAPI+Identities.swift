import Accounts
import HTTPServer
import JSON
import SignIn

extension AdminAPI {
    var identityOperations: [Operation] {
        [
            operation(.get, "/identities/{identityId}", .read) { request, _ in
                let (account, identity) = try await administration.identity(try request.identityID)
                return .json { writer in
                    writer.members(of: identity)
                    writer.member("accountId", "\(account.id)")
                }
            },
            operation(.delete, "/identities/{identityId}", .manage) { request, administrator in
                try await administration.detach(
                    try request.identityID, reason: try request.statedReason, by: administrator)
                return .empty()
            },
            operation(.post, "/identities/{identityId}/unblock", .manage) { request, administrator in
                let id = try request.identityID
                let reason = try request.fields { try $0.reason() }
                try await administration.unblock(id, reason: reason, by: administrator)
                return .empty()
            },
            operation(.post, "/identities/{identityId}/revoke", .revoke) { request, administrator in
                let (reason, unlinking) = try request.fields { fields in
                    (try fields.reason(), fields.optionalBool("unlink") ?? true)
                }
                let revocation = try await administration.revoke(
                    try request.identityID, unlinking: unlinking, reason: reason, by: administrator)
                return .json(.accepted) { $0.members(of: revocation) }
            },
        ]
    }

    var revocationOperations: [Operation] {
        [
            operation(.get, "/revocations", .read) { request, _ in
                let (status, range) = try request.query { query in
                    (query.optionalChoice("status", of: Revocation.Status.self), query.range(RevocationID.self))
                }
                return .list(
                    try await administration.revocations(status, before: range.cursor, limit: range.limit)
                ) { $1.members(of: $0) }
            },
            operation(.get, "/revocations/{revocationId}", .read) { request, _ in
                let revocation = try await administration.revocation(try request.revocationID)
                return .json { $0.members(of: revocation) }
            },
            operation(.post, "/revocations/{revocationId}/retry", .revoke) { request, administrator in
                let revocation = try await administration.retry(
                    try request.revocationID, reason: try request.statedReason, by: administrator)
                return .json(.accepted) { $0.members(of: revocation) }
            },
        ]
    }
}

extension Request {
    fileprivate var identityID: IdentityID {
        get throws(Problem) { try parameter("identityId", as: IdentityID.init) }
    }

    fileprivate var revocationID: RevocationID {
        get throws(Problem) { try parameter("revocationId", as: RevocationID.init) }
    }
}

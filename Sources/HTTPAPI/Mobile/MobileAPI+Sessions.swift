import Accounts
import HTTPServer
import JSON
import SignIn

extension MobileAPI {
    var sessionRoutes: [Route] {
        [
            Route(.get, "/v1/sessions", priority: .reading) { request in
                let current = try await session(of: request)
                let items = try await sessions.list(of: current.accountID, askedBy: current.id)
                return .json { writer in
                    writer.name("items")
                    writer.beginArray()
                    for session in items {
                        writer.beginObject()
                        writer.members(of: session, isCurrent: session.id == current.id)
                        writer.endObject()
                    }
                    writer.endArray()
                }
            },
            Route(.delete, "/v1/sessions/{sessionId}", priority: .revoking) { request in
                // Authenticates before it reads the id, so that other callers learn nothing from its checks.
                let session = try await session(of: request)
                let sessionID = try request.parameter("sessionId", as: SessionID.init)
                try await sessions.end(sessionID, of: session.accountID, client: request.caller(device: nil))
                return .empty()
            },
            Route(.post, "/v1/sessions/refresh") { request in
                let token = try request.fields { $0.string("refreshToken") }
                let session = try await sessions.refresh(token, client: request.caller(device: nil))
                return .json { $0.members(of: session) }
            },
            Route(.post, "/v1/sessions/revoke", priority: .revoking) { request in
                let session = try await session(of: request)
                let scope = try request.fields { try $0.choice("scope", of: RevocationScope.self) }
                try await sessions.revoke(scope, of: session, client: request.caller(device: nil))
                return .empty()
            },
        ]
    }
}

import Accounts
import HTTPServer
import JSON
import SignIn

extension MobileAPI {
    var sessionRoutes: [Route] {
        [
            authenticated(.get, "/v1/sessions", priority: .reading) { _, current, call in
                let items = try await service.sessions.list(of: current.accountID, askedBy: current.id, by: call)
                return .json { writer in
                    writer.objects("items", of: items) { $1.members(of: $0, isCurrent: $0.id == current.id) }
                }
            },
            deletion("/v1/sessions/{sessionId}") { request, session, call in
                let sessionID = try request.parameter("sessionId", as: SessionID.init)
                try await service.sessions.end(sessionID, in: session, by: call)
                return .empty()
            },
            Route(.post, "/v1/sessions/refresh") { request in
                let call = call(of: request)
                let token = try request.fields { $0.secret("refreshToken") }
                let session = try await service.sessions.refresh(token, by: call)
                return .json { $0.members(of: session) }
            },
            authenticated(.post, "/v1/sessions/revoke", priority: .revoking) { request, session, call in
                let scope = try request.fields { $0.choice("scope", of: RevocationScope.self) }
                try await service.sessions.revoke(scope, of: session, by: call)
                return .empty()
            },
        ]
    }
}

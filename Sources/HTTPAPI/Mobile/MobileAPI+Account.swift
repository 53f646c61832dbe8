import Accounts
import SignIn

extension MobileAPI {
    var accountRoutes: [Route] {
        [
            Route(.post, "/v1/accounts") { request in
                let (email, password, displayName) = try request.fields { fields in
                    // Longer than any password may be, so that the answer is weak_password.
                    (fields.string("email"), fields.string("password", maximumBytes: 32 * 1024), fields.displayName())
                }
                let signedIn = try await service.register(
                    email: email, password: password, displayName: displayName, client: request.caller(device: nil))
                return .json(.created) { $0.members(of: signedIn) }
            },
            Route(.get, "/v1/account") { request in
                let account = try await service.account(of: try await session(of: request))
                return .json { $0.members(of: account) }
            },
            Route(.post, "/v1/sessions/refresh") { request in
                let token = try request.fields { $0.string("refreshToken") }
                let session = try await service.refresh(token, client: request.caller(device: nil))
                return .json { $0.members(of: session) }
            },
            Route(.post, "/v1/sessions/revoke") { request in
                let session = try await session(of: request)
                let scope = try request.fields { try $0.choice("scope", of: RevocationScope.self) }
                try await service.revoke(scope, of: session)
                return .empty()
            },
        ]
    }
}

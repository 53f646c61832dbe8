import Accounts
import HTTPServer
import JSON
import SignIn

extension MobileAPI {
    var accountRoutes: [Route] {
        [
            Route(.post, "/v1/accounts") { request in
                let call = call(of: request)
                let (email, password, displayName, device) = try request.fields { fields in
                    (
                        fields.string("email"), fields.string("password", maximumBytes: FieldLimit.newPassword),
                        fields.displayName(), fields.device()
                    )
                }
                request.note(email: email)
                let signedIn = try await service.passwords.register(
                    email: email, password: password, displayName: displayName,
                    by: call.with(device))
                return .json(.created) { $0.members(of: signedIn) }
            },
            Route(.get, "/v1/account", priority: .reading) { request in
                let live = try await service.sessions.account(of: accessToken(of: request), by: call(of: request))
                return .json { $0.members(ofOwn: live.account) }
            },
            authenticated(.get, "/v1/account/export", priority: .reading) { request, session, call in
                try session.requireFresh(by: call)
                // An export is recorded and counted, and HEAD must have no effect.
                if request.isHead { return Response(.ok, contentType: "application/json") }
                return .streamed(try await service.accounts.export(of: session, by: call))
            },
            authenticated(.patch, "/v1/account") { request, session, call in
                let account =
                    switch try request.fields({ $0.patch("displayName", as: DisplayName.init) }) {
                    case .keep: try await service.accounts.account(of: session)
                    case .clear: try await service.accounts.rename(accountOf: session, to: nil, by: call)
                    case .set(let name): try await service.accounts.rename(accountOf: session, to: name, by: call)
                    }
                return .json { $0.members(ofOwn: account) }
            },
            authenticated(.put, "/v1/account/password", priority: .revoking) { request, session, call in
                let (current, new) = try request.fields { fields in
                    (
                        fields.optionalString("currentPassword", maximumBytes: FieldLimit.password),
                        fields.string("newPassword", maximumBytes: FieldLimit.newPassword)
                    )
                }
                try await service.accounts.changePassword(of: session, current: current, to: new, by: call)
                return .empty()
            },
            authenticated(.put, "/v1/account/email") { request, session, call in
                let email = try request.fields { $0.string("email") }
                request.note(email: email)
                try await service.accounts.requestEmail(email, of: session, by: call)
                return .json(.accepted) { _ in }
            },
            deletion("/v1/account/email-replacement") { _, session, call in
                try await service.accounts.cancelEmailReplacement(of: session, by: call)
                return .empty()
            },
            deletion("/v1/account") { _, session, call in
                try await service.accounts.delete(accountOf: session, by: call)
                return .json(.accepted) { _ in }
            },
            authenticated(.get, "/v1/account/identities", priority: .reading) { _, session, _ in
                let account = try await service.accounts.account(of: session)
                return .json { $0.objects("items", of: account.identities) { $1.members(of: $0) } }
            },
            authenticated(.post, "/v1/account/identities/{provider}") { request, session, call in
                let provider = try request.parameter("provider", as: Provider.init)
                let (credential, device) = try request.fields { $0.providerCredential(of: provider) }
                let identity = try await service.linking.link(provider, credential, to: session, by: call.with(device))
                return .json(.created) { $0.members(of: identity) }
            },
            deletion("/v1/account/identities/{identityId}") { request, session, call in
                let identityID = try request.parameter("identityId", as: IdentityID.init)
                try await service.accounts.unlink(identityID, of: session, by: call)
                return .json(.accepted) { _ in }
            },
        ]
    }
}

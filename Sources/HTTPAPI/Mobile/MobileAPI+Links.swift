import Accounts
import SignIn

/// What *bind* does about another identity of the provider on the account.
private enum ConflictResolution: String {
    case replace
}

extension MobileAPI {
    var linkRoutes: [Route] {
        [
            Route(.post, "/v1/links/create") { request in
                let (ticket, displayName) = try request.fields { fields in
                    (fields.string("linkTicket"), fields.displayName())
                }
                let signedIn = try await service.create(
                    linkTicket: ticket, displayName: displayName, client: request.caller(device: nil))
                return .json(.created) { $0.members(of: signedIn) }
            },
            Route(.post, "/v1/links/bind") { request in
                let (ticket, credential, resolution) = try request.fields { fields in
                    (
                        fields.string("linkTicket"), try proof(of: request, &fields),
                        fields.optionalChoice("onConflict", of: ConflictResolution.self)
                    )
                }
                guard let credential else { throw Problem(.invalidSession) }
                let signedIn = try await service.bind(
                    linkTicket: ticket, credential: credential, replacing: resolution == .replace,
                    client: request.caller(device: nil))
                return .json { $0.members(of: signedIn) }
            },
            Route(.post, "/v1/links/cancel") { request in
                let ticket = try request.fields { $0.string("linkTicket") }
                try await service.cancel(linkTicket: ticket)
                return .empty()
            },
        ]
    }

    /// The one proof of the account: a session in the header, or an email and a password in the body.
    ///
    /// - Returns: `nil` for a header that holds no token.
    private func proof(of request: Request, _ fields: inout RequestFields) throws -> BindCredential? {
        switch request.bearer {
        case .token(let token): return .session(token)
        case .malformed: return nil
        case .absent:
            return .password(
                email: fields.string("email"), password: fields.string("password", maximumBytes: 4096))
        }
    }
}

import Accounts
import HTTPServer
import SignIn

/// The resolution of a conflict in *bind*: the account has another identity of the provider.
package enum ConflictResolution: String {
    case replace
}

extension MobileAPI {
    var linkRoutes: [Route] {
        [
            Route(.post, "/v1/links/create") { request in
                let call = call(of: request)
                let (ticket, displayName, password) = try request.fields { fields in
                    (
                        fields.secret("linkTicket"), fields.displayName(),
                        fields.optionalString("password", maximumBytes: FieldLimit.newPassword)
                    )
                }
                let signedIn = try await service.tickets.create(
                    linkTicket: ticket, name: NewAccountName(displayName), password: password,
                    by: call)
                return .json(.created) { $0.members(of: signedIn) }
            },
            Route(.post, "/v1/links/bind") { request in
                let call = call(of: request)
                let (ticket, credential, resolution) = try request.fields { fields in
                    (
                        fields.secret("linkTicket"), try proof(of: request, &fields),
                        fields.optionalChoice("onConflict", of: ConflictResolution.self)
                    )
                }
                // Without a proof there is nothing to bind by, whatever the errors say.
                guard let credential else { throw Problem(.invalidSession) }
                do throws(SignInFailure) {
                    let answer = try await service.tickets.bind(
                        linkTicket: ticket, credential: credential, replacing: resolution == .replace,
                        by: call)
                    return response(to: request, answer)
                } catch {
                    throw error.problemOfBind
                }
            },
            Route(.post, "/v1/links/cancel") { request in
                let call = call(of: request)
                let ticket = try request.fields { $0.secret("linkTicket") }
                try await service.tickets.cancel(linkTicket: ticket, by: call)
                return .empty()
            },
        ]
    }

    /// The one proof of the account: a session in the header, or an email with a password or a mailed code in the body;
    /// with none of these the ticket has to be one.
    ///
    /// - Returns: `nil` after an error recorded in `fields`.
    private func proof(of request: Request, _ fields: inout Fields) throws -> BindCredential? {
        switch request.bearer {
        case .token(let token):
            for name in ["email", "emailCode", "password"] where fields.optionalString(name, maximumBytes: 4096) != nil
            {
                fields.reject(name, .notAllowed)
            }
            return .session(token)
        case .malformed: throw Problem(.invalidSession)
        case .absent, .otherScheme:
            let address = fields.optionalString("email")
            let code = fields.optionalString("emailCode", maximumBytes: FieldLimit.emailCode)
            let password = fields.optionalString("password", maximumBytes: FieldLimit.password)
            guard address != nil || code != nil || password != nil else { return .ticket }
            guard let email = address else {
                fields.reject("email", .required)
                return nil
            }
            request.note(email: email)
            switch (password, code) {
            case (let password?, nil): return .password(email: email, password: password)
            case (nil, let code?): return .emailCode(email: email, code: code)
            case (nil, nil): fields.reject("password", .required)
            case (_?, _?): fields.reject("emailCode", .notAllowed)
            }
            return nil
        }
    }
}

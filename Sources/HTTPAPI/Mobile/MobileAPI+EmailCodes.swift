import Accounts
import HTTPServer
import SignIn

extension MobileAPI {
    var emailCodeRoutes: [Route] {
        [
            Route(.post, "/v1/email-codes") { request in
                let call = call(of: request)
                let (email, purpose, linkTicket) = try request.fields { fields in
                    let email = fields.string("email")
                    let purpose = fields.choice("purpose", of: EmailCodePurpose.self)
                    // That one is of our own page.
                    if purpose == .register { fields.reject("purpose", .notAllowed) }
                    // Only `bind` takes a link ticket, and what can't be read may have been meant to be `bind`.
                    let linkTicket: String? =
                        if fields.isRejected("purpose") {
                            fields.optionalString("linkTicket", maximumBytes: .max)
                        } else if purpose == .bind {
                            fields.secret("linkTicket")
                        } else {
                            nil
                        }
                    return (email, purpose, linkTicket)
                }
                request.note(email: email)
                try await service.emailCodes.mailCode(to: email, for: purpose, linkTicket: linkTicket, by: call)
                return .json(.accepted) { _ in }
            },
            authenticated(.post, "/v1/account/verify-email") { request, session, call in
                let code = try request.fields { $0.string("code", maximumBytes: FieldLimit.emailCode) }
                try await service.emailCodes.verifyEmail(code: code, of: session, by: call)
                return .empty()
            },
            Route(.post, "/v1/accounts/password-reset") { request in
                let call = call(of: request)
                let (email, code, password) = try request.fields { fields in
                    (
                        fields.string("email"), fields.string("code", maximumBytes: FieldLimit.emailCode),
                        fields.string("newPassword", maximumBytes: FieldLimit.newPassword)
                    )
                }
                request.note(email: email)
                try await service.emailCodes.resetPassword(email: email, code: code, newPassword: password, by: call)
                return .empty()
            },
        ]
    }
}

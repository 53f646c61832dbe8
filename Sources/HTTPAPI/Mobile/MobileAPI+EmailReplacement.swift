import Accounts
import HTTPServer
import JSON
import SignIn

extension MobileAPI {
    var emailReplacementRoutes: [Route] {
        [
            Route(.delete, "/v1/account/email-replacement", priority: .revoking) { request in
                let call = call(of: request)
                try await service.accounts.cancelEmailReplacement(
                    of: try await session(of: request, by: call), by: call)
                return .empty()
            }
        ]
    }

    /// The account of the session, with the replacement of its address that an administrator has requested, if any. The
    /// requested address is masked: the person who has lost the mailbox recognises it, and an intruder in the account
    /// doesn't learn it.
    func response(_ account: Account, of session: Session) async throws -> Response {
        let replacement = try await service.accounts.emailReplacement(of: session)
        return .json { writer in
            writer.members(of: account)
            guard let replacement else { return }
            writer.object("emailReplacement") { writer in
                writer.member("email", replacement.email.masked)
                writer.member("dueAt", replacement.dueAt.rfc3339)
            }
        }
    }
}

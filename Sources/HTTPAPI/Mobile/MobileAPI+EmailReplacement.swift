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
}

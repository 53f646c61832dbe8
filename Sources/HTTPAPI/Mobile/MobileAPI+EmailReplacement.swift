import Accounts
import HTTPServer
import JSON
import SignIn

extension MobileAPI {
    var emailReplacementRoutes: [Route] {
        [
            deletion("/v1/account/email-replacement") { _, session, call in
                try await service.accounts.cancelEmailReplacement(of: session, by: call)
                return .empty()
            }
        ]
    }
}

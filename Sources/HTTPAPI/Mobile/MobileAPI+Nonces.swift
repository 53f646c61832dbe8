import Accounts
import HTTPServer
import JSON
import SignIn

extension MobileAPI {
    var nonceRoutes: [Route] {
        [
            Route(.post, "/v1/nonces") { request in
                let provider = try request.fields { $0.choice("provider", of: Provider.self) }
                let nonce = try service.nonces.issue(for: provider)
                return .json(.created) { writer in
                    writer.member("nonce", nonce.text)
                    writer.member("expiresAt", nonce.expiresAt.rfc3339)
                }
            }
        ]
    }
}

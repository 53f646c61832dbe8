import Accounts
package import HTTPServer
package import SignIn

/// The API for apps, and the documents for verifiers of our tokens.
package struct MobileAPI: Sendable {
    let service: SignInService
    /// The URL of the public listener, without a final slash.
    let publicURL: String

    package init(service: SignInService, publicURL: String) {
        self.service = service
        self.publicURL = publicURL
    }

    package var routes: [Route] {
        signInRoutes + emailCodeRoutes + nonceRoutes + linkRoutes + accountRoutes + sessionRoutes + discoveryRoutes
    }

    /// The session of the access token that the request bears.
    func session(of request: Request) async throws -> Session {
        guard case .token(let token) = request.bearer else { throw Problem(.invalidSession) }
        return try await service.session(of: token)
    }
}

extension Request {
    func caller(device: Device?) -> Client {
        Client(
            requestID: id, address: client.text, network: client.network, device: device,
            languages: AcceptLanguage.tags(header("Accept-Language")))
    }
}

extension RequestFields {
    /// The object `device`, each member of which may be absent.
    mutating func device() throws -> Device? {
        try optionalObject("device") { device in
            Device(
                name: device.optionalString("name", maximumBytes: 128),
                platform: device.optionalString("platform", maximumBytes: 64))
        }
    }

    /// The `displayName`; one without a visible character counts as absent.
    mutating func displayName() -> DisplayName? {
        optionalString("displayName", maximumBytes: 1024).flatMap(DisplayName.init)
    }
}

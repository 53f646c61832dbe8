package import Accounts
package import HTTPServer
package import OAuthServer
import Primitives
package import SignIn

/// The API for apps, and the documents for verifiers of our tokens.
package struct MobileAPI: Sendable {
    typealias SessionHandler = @Sendable (Request, Session, Call) async throws -> Response

    let service: SignInService
    /// `nil` where neither apps nor clients sign people in by the browser.
    let web: WebSignIn?
    /// `nil` where the OAuth server is off.
    let oauth: OAuthServer?
    /// The URL of the public listener, without a final slash.
    let publicURL: String

    package init(service: SignInService, web: WebSignIn?, oauth: OAuthServer? = nil, publicURL: String) {
        self.service = service
        self.web = web
        self.oauth = oauth
        self.publicURL = publicURL
    }

    package var routes: [Route] {
        signInRoutes + webSignInRoutes + emailCodeRoutes + nonceRoutes + linkRoutes + accountRoutes
            + sessionRoutes + linkedClientRoutes + discoveryRoutes
    }

    func call(of request: Request) -> Call { service.calls.begin(by: request.caller()) }

    /// An operation by the session of the access token that the request bears.
    func authenticated(
        _ method: Route.Method, _ template: String, priority: Route.Priority = .signingIn,
        _ handler: @escaping SessionHandler
    ) -> Route {
        Route(method, template, priority: priority) { request in
            let call = call(of: request)
            // Authenticates before it reads anything of the request, so that other callers learn nothing from its checks.
            let session = try await service.sessions.session(of: accessToken(of: request), by: call)
            let place = try method == .get ? nil : service.accounts.changes.begin(by: session)
            defer { withExtendedLifetime(place) {} }
            return try await handler(request, session, call)
        }
    }

    /// An operation that ends what its path names, by the session of the access token. It takes no body: an address or a
    /// subject in one must not appear to say what ends.
    func deletion(_ template: String, _ handler: @escaping SessionHandler) -> Route {
        authenticated(.delete, template, priority: .revoking) { request, session, call in
            try request.requireNoMembers()
            return try await handler(request, session, call)
        }
    }

    func accessToken(of request: Request) throws -> [UInt8] {
        guard case .token(let token) = request.bearer else { throw Problem(.invalidSession) }
        return token
    }
}

extension Request {
    /// - Parameter device: what the client says of itself beside the members of a body.
    package func caller(device: Device? = nil) -> Caller {
        Caller(
            requestID: id, address: client.text, network: Network(client.network),
            wideNetwork: Network(client.wideNetwork), device: device,
            languages: AcceptLanguage.tags(header("Accept-Language")))
    }
}

/// Length limits of members and of fields of forms, in UTF-8.
package enum FieldLimit {
    /// One to compare.
    package static let password = 4096
    /// One to set: above that of passwords, so that a long one is answered as weak.
    package static let newPassword = 32 * 1024
    package static let emailCode = 64
}

extension Fields {
    /// A secret of ours, which no length makes a fault of the request: one that is too long for it is unknown.
    mutating func secret(_ name: String) -> String { string(name, maximumBytes: .max) }

    /// The object `device`, each member of which may be absent.
    mutating func device() -> Device? {
        optionalObject("device") { device in
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

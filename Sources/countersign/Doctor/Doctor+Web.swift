import Accounts

/// The checks of the web sign-in: what has to be registered at the providers, and what people meet without it.
extension Doctor {
    @Sendable func webSignIn() async -> [Finding] {
        let web = configuration.reloadable.web
        // People sign in here for clients of the OAuth server too, without any app.
        guard web != nil || configuration.reloadable.oauth != nil else {
            return .ok(.webSignIn, "is off: neither web.apps nor oauth.enabled is set")
        }
        let apps = web.map { $0.apps.map(redirectURIs) + relays($0) } ?? []
        return address() + appleButton() + googleButton() + apps
    }

    private var publicAddress: WebAddress? { WebAddress(configuration.server.publicURL, schemes: ["https", "http"]) }

    /// The configuration is refused for other addresses than https: and loopback.
    private func address() -> [Finding] {
        guard publicAddress?.scheme != "https" else { return [] }
        return .warning(
            .webSignIn, "\(configuration.server.publicURL) is for trials: Apple takes no such Return URL",
            advice: "let a proxy end TLS, and set server.publicUrl to its URL")
    }

    private func callback(of provider: Provider) -> String {
        "\(configuration.server.publicURL)/web/callback/\(provider.rawValue)"
    }

    private func appleButton() -> [Finding] {
        guard let team = configuration.reloadable.apple?.webTeam, let servicesID = team.servicesID else {
            return .ok(.webSignIn, "no Apple button: apple.servicesId is not set")
        }
        guard team.signing != nil else {
            return .warning(
                .webSignIn, "the team \(team.name) has a Services ID and no key: Apple's codes can't be exchanged",
                advice: "set the team's teamId, keyId and privateKeyPath, so that authorizations can be revoked")
        }
        return .note(
            .webSignIn, "Apple must have \(callback(of: .apple)) as a Return URL of the Services ID \(servicesID)")
    }

    private func googleButton() -> [Finding] {
        guard let client = configuration.reloadable.google?.webClient else {
            return .ok(.webSignIn, "no Google button: google.serverClientId is not set")
        }
        return .note(
            .webSignIn, "Google must have \(callback(of: .google)) as a redirect URI of the client \(client.id)")
    }

    private func redirectURIs(of app: WebApp) -> Finding {
        let links = app.redirectURIs.count { $0.kind == .https }
        let loopback = app.redirectURIs.count { $0.kind == .loopback }
        let schemes = app.redirectURIs.count - links - loopback
        let detail =
            "the app \(app.id) has \(counted(links, "link")), \(counted(loopback, "loopback address", "es")), "
            + counted(schemes, "private scheme")
        guard schemes > 0 else { return .ok(.webSignIn, detail) }
        return .ok(.webSignIn, detail + ": another app can claim a scheme, and its people are asked for a click")
    }

    private func relays(_ web: WebConfiguration) -> [Finding] {
        web.relayRedirectURIs(publicURL: configuration.server.publicURL).map { uri in
            .note(.webSignIn, "Apple must have \(uri) as a Return URL of the Services ID that the app names")
        }
    }
}

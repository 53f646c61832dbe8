package import Accounts
import JOSE

/// The credential that a provider's SDK gave the app.
package struct ProviderCredential: Sendable {
    package let token: String?
    package let code: String?
    /// The raw nonce.
    package let nonce: String?
    package let clientID: ProviderClientID?
    /// The redirect URI to which Apple sent the code of a web or Android sign-in.
    package let redirectURI: String?
    /// Handed over once, at first consent; unsigned user input.
    package let fullName: DisplayName?

    package init(
        token: String?, code: String?, nonce: String?, clientID: ProviderClientID?, redirectURI: String? = nil,
        fullName: DisplayName?
    ) {
        self.token = token
        self.code = code
        self.nonce = nonce
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.fullName = fullName
    }
}

extension ProviderCredential {
    /// The one of these clients that the posted token states as its audience, unverified.
    func statedClient(of clientIDs: [ProviderClientID]) -> ProviderClientID? {
        guard let token else { return nil }
        let stated = Set(UnverifiedToken.statedAudiences(of: Array(token.utf8)).map { ProviderClientID($0) })
        let ours = clientIDs.filter(stated.contains)
        return ours.count == 1 ? ours[0] : nil
    }

    /// The name of the request's member that holds the provider's token.
    package static func tokenMember(of provider: Provider) -> String {
        switch provider {
        case .apple: "identityToken"
        case .google: "idToken"
        }
    }

    /// The name of the one that holds its code.
    package static func codeMember(of provider: Provider) -> String {
        switch provider {
        case .apple: "authorizationCode"
        case .google: "serverAuthCode"
        }
    }
}

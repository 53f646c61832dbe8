package import Curl
import JSON
import Primitives

/// Google's `risc-configuration` document about the tokens of its events. It is compared with the configuration, to warn
/// an operator, and decides nothing: issuer and key-set URL are configured.
package struct GoogleEventDiscovery: Sendable, Equatable {
    package let issuer: String
    package let keysURL: String

    /// `nil` when there is no such document at this URL.
    package init?(at url: String, fetcher: any Fetcher) async {
        guard let response = try? await fetcher.fetch(FetchRequest(url: url)), response.status == 200,
            let document = try? JSONValue(parsing: response.body), let issuer = document["issuer"]?.string,
            let keysURL = document["jwks_uri"]?.string
        else { return nil }
        self.issuer = issuer
        self.keysURL = keysURL
    }

    /// Whether the issuer is one of these, ignoring one trailing slash, as the check of events does.
    package func names(oneOf issuers: [String]) -> Bool {
        func bare(_ text: String) -> Substring.UTF8View { (text.hasSuffix("/") ? text.dropLast() : text[...]).utf8 }
        return issuers.contains { bare($0).elementsEqual(bare(issuer)) }
    }

    package func names(keysURL: String) -> Bool { self.keysURL.hasSameBytes(as: keysURL) }
}

package import JOSE

/// The rejection of a token on the way to `VerifiedToken`; nil when it verifies.
package func rejection(of token: [UInt8], by keys: KeySet, allowedTypes: [String] = ["JWT"]) -> TokenRejection? {
    do throws(TokenRejection) {
        _ = try UnverifiedToken(token, allowedTypes: allowedTypes).verified(by: keys)
        return nil
    } catch { return error }
}

package func rejection(of token: String, by keys: KeySet) -> TokenRejection? {
    rejection(of: [UInt8](token.utf8), by: keys)
}

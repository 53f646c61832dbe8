import JOSE
import Primitives
import TestSupport
import Testing

/// The rejection of a verified token by the rules; `nil` when they accept it.
func rejection(of token: VerifiedToken, under rules: ClaimRules, at now: Int64) -> TokenRejection? {
    do throws(TokenRejection) {
        _ = try rules.check(token, at: now)
        return nil
    } catch { return error }
}

/// Part of a compact token: 0 the header, 1 the payload, 2 the signature.
func part(_ index: Int, of token: [UInt8]) -> [UInt8] {
    [UInt8](token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)[index])
}

func joined(_ parts: [UInt8]...) -> [UInt8] { [UInt8](parts.joined(separator: [UInt8(ascii: ".")])) }

/// The same token with other octets as signature.
func resigned(_ token: [UInt8], _ signature: [UInt8]) -> [UInt8] {
    joined(part(0, of: token), part(1, of: token), [UInt8](Base64URL.encode(signature).utf8))
}

extension Vectors.RealToken {
    /// The keys that the provider published when the token was new.
    var keySet: KeySet { get throws { try KeySet(parsing: Vectors.keySet(named: #require(keySets.first))) } }
}

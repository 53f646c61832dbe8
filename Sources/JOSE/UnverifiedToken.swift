package import JSON
package import OpenSSL
import Primitives

/// A compact JWS (RFC 7515 §3.1) whose form and header are valid. Nothing in it is trusted yet, and its payload has not
/// been read.
///
/// The steps from bytes to `VerifiedToken`, and the rejection that each of them throws. The first that fails decides.
///
/// | step | `TokenRejection` |
/// |---|---|
/// | the token is at most 16 KiB | `tooLarge` |
/// | exactly two periods | `malformed` |
/// | the header part is at most 2 KiB, the payload part at most 12 KiB | `tooLarge` |
/// | header and signature are not empty, nor the payload unless allowed | `malformed` |
/// | the header is base64url of a JSON object | `malformed` |
/// | `alg` is one of the allowed names | `algorithmRejected` |
/// | no `crit`, `zip`, `enc`, `b64` | `headerRejected` |
/// | `typ` is absent or allowed; `cty` is not `JWT` | `headerRejected` |
/// | `kid` is a string of 1 to 256 bytes without control characters | `headerRejected` |
/// | the signature is base64url | `malformed` |
/// | the key set has a key of that `kid` | `keyUnknown` |
/// | and it is bound to `alg` | `algorithmRejected` |
/// | the signature holds over the bytes that came | `signatureMismatch` |
/// | the payload is base64url of a JSON object | `malformed` |
///
/// `jwk`, `jku`, `x5u`, `x5c` and `x5t` are ignored: a token never brings or names its own key (RFC 8725 §3.10).
package struct UnverifiedToken: Sendable {
    package static let maximumBytes = 16_384
    package static let maximumHeaderBytes = 2_048
    package static let maximumPayloadBytes = 12_288

    private let compact: [UInt8]
    private let header: TokenHeader
    private let signature: [UInt8]
    private let payload: Range<Int>

    package var algorithm: SignatureAlgorithm { header.algorithm }

    /// The bytes of `kid`; empty when there is none.
    package var keyID: [UInt8] { header.keyID }

    /// - Parameters:
    ///   - compact: exactly the token; surrounding whitespace is rejected.
    ///   - allowedTypes: the media types that `typ` may be, without `application/`; nil for any.
    ///   - requiresType: whether `typ` must be present. No provider promises one; our own access tokens have it
    ///     (RFC 9068 §2.1).
    package init(
        _ compact: [UInt8], allowedAlgorithms: [SignatureAlgorithm] = [.rs256, .es256],
        allowedTypes: [String]? = ["JWT"], requiresType: Bool = false, requiresKeyID: Bool = true,
        allowsEmptyPayload: Bool = false
    ) throws(TokenRejection) {
        let bytes = compact.span.bytes
        guard bytes.byteCount <= Self.maximumBytes else { throw .tooLarge }
        guard let headerEnd = bytes.firstPeriod(from: 0), let payloadEnd = bytes.firstPeriod(from: headerEnd + 1),
            bytes.firstPeriod(from: payloadEnd + 1) == nil
        else { throw .malformed }
        payload = headerEnd + 1..<payloadEnd
        guard headerEnd <= Self.maximumHeaderBytes, payload.count <= Self.maximumPayloadBytes else {
            throw .tooLarge
        }
        guard headerEnd > 0, payloadEnd + 1 < bytes.byteCount, !payload.isEmpty || allowsEmptyPayload else {
            throw .malformed
        }
        header = try TokenHeader(
            Self.json(bytes.extracting(0..<headerEnd)),
            HeaderRules(
                allowedAlgorithms: allowedAlgorithms, allowedTypes: allowedTypes, requiresType: requiresType,
                requiresKeyID: requiresKeyID))
        guard let signature = Base64URL.decode(bytes.extracting((payloadEnd + 1)...)) else { throw .malformed }
        self.signature = signature
        self.compact = compact
    }

    /// The token, if one of these keys signed it.
    package func verified(by keys: KeySet) throws(TokenRejection) -> VerifiedToken {
        try verifiedSignature(by: keys)
        return try read()
    }

    /// The token, if this key signed it; `kid` is ignored.
    package func verified(by key: PublicKey) throws(TokenRejection) -> VerifiedToken {
        try verifySignature(by: key)
        return try read()
    }

    /// Checks the signature and never reads the payload, which may be anything.
    package func verifiedSignature(by keys: KeySet) throws(TokenRejection) {
        guard let key = keys.key(id: keyID, for: algorithm) else {
            throw keys.key(id: keyID) == nil ? .keyUnknown : .algorithmRejected
        }
        try verifySignature(by: key)
    }

    private func verifySignature(by key: PublicKey) throws(TokenRejection) {
        guard key.algorithm == algorithm else { throw .algorithmRejected }
        // What was signed is the text as it came, never a re-encoding of what was read from it (RFC 7515 §5.2).
        let signed = compact.span.bytes.extracting(0..<payload.upperBound)
        guard key.verifies(signature.span.bytes, of: signed) else { throw .signatureMismatch }
    }

    private func read() throws(TokenRejection) -> VerifiedToken {
        let claims = try Self.json(compact.span.bytes.extracting(payload))
        guard claims.kind == .object else { throw .malformed }
        return VerifiedToken(header: header.value, claims: claims)
    }

    /// What `aud` says in anything that has the form of a token: its maker wrote that. Good for choosing among
    /// possibilities that are each verified, and for nothing else. Empty where it can't be read.
    package static func statedAudiences(of compact: [UInt8]) -> [String] {
        let bytes = compact.span.bytes
        guard bytes.byteCount <= maximumBytes, let headerEnd = bytes.firstPeriod(from: 0),
            let payloadEnd = bytes.firstPeriod(from: headerEnd + 1), payloadEnd - headerEnd <= maximumPayloadBytes,
            let claims = try? json(bytes.extracting(headerEnd + 1..<payloadEnd)), let audience = claims["aud"]
        else { return [] }
        return (audience.elements ?? [audience]).compactMap(\.string)
    }

    private static func json(_ part: RawSpan) throws(TokenRejection) -> JSONValue {
        guard let bytes = Base64URL.decode(part) else { throw .malformed }
        do throws(JSONError) {
            // How long a text may be is for its claim's rule: an email, however long, refuses no sign-in.
            return try JSONValue(parsing: bytes, limits: JSONLimits(maximumStringBytes: maximumPayloadBytes))
        } catch {
            throw .malformed
        }
    }
}

/// A token that one of an issuer's keys signed. Made only here, so that every value of this type has been verified.
///
/// Its claims are what the issuer states; whether they are meant for us is for `ClaimRules` to check.
package struct VerifiedToken: Sendable {
    package let header: JSONValue
    package let claims: JSONValue

    fileprivate init(header: JSONValue, claims: JSONValue) {
        self.header = header
        self.claims = claims
    }
}

extension RawSpan {
    /// The index of the first period from `start` on. Reads eight bytes at a time and allocates nothing, however many
    /// periods there are.
    fileprivate func firstPeriod(from start: Int) -> Int? {
        var position = start
        while position + 8 <= byteCount {
            let word = unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self).littleEndian
            // A period becomes a zero byte, and a zero byte gets its top bit by a borrow; the lowest such bit is true.
            let zeroed = word ^ 0x2E2E_2E2E_2E2E_2E2E
            let found = (zeroed &- 0x0101_0101_0101_0101) & ~zeroed & 0x8080_8080_8080_8080
            guard found == 0 else { return position + found.trailingZeroBitCount / 8 }
            position += 8
        }
        while position < byteCount {
            if unsafeLoad(fromByteOffset: position, as: UInt8.self) == UInt8(ascii: ".") { return position }
            position += 1
        }
        return nil
    }
}

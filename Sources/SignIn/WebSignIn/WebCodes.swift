import Accounts
import KeyRing
import OpenSSL

/// The codes that apps get for what people post on our own pages.
///
/// One is derived from the form, the browser's cookie and the key ring's `codes` subkey: the same form of the same browser has
/// the same code, though the database has no more of it than the SHA-256.
struct WebCodes: Sendable {
    let keyRing: KeyRing

    /// The code of a form.
    func code(of form: [UInt8], in reference: FlowReference) throws(SignInFailure) -> OpaqueSecret {
        try code(of: form, in: reference, under: keyRing.current(for: .codes).bytes)
    }

    /// The code of a form that has this hash: it was derived under any line of the key ring.
    func code(
        of form: [UInt8], in reference: FlowReference, hashedAs hash: SecretHash
    ) throws(SignInFailure) -> OpaqueSecret? {
        for subkey in keyRing.all(for: .codes) {
            let code = try code(of: form, in: reference, under: subkey.bytes)
            if constantTimeEquals(code.hash.bytes, hash.bytes) { return code }
        }
        return nil
    }

    private func code(
        of form: [UInt8], in reference: FlowReference, under key: [UInt8]
    ) throws(SignInFailure) -> OpaqueSecret {
        // The form is last: before it are an id and a cookie, which have no blank in them.
        let message = Array("countersign web code 1 \(reference.id) \(reference.browser.text) ".utf8) + form
        do {
            return OpaqueSecret(bytes: try HMACSHA256.authenticationCode(for: message, key: key).bytes)
        } catch {
            throw .fault(operation: "derive a code")
        }
    }
}

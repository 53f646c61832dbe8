import OpenSSL
import Primitives

/// The hidden field `csrf` of a form: an HMAC over the flow and the action, under a secret of the browser's cookie. Only
/// a page that we made for this browser has it; another site can neither read nor compute it.
enum FormToken {
    /// - Parameters:
    ///   - secret: the value of the cookie to which the form belongs.
    ///   - flow: the id of the flow; empty where there is none.
    ///   - action: the path to which the form is posted.
    static func text(secret: String, flow: String, action: String) throws(OpenSSLError) -> String {
        Base64URL.encode(
            try HMACSHA256.authenticationCode(for: Array("web|\(flow)|\(action)".utf8), key: Array(secret.utf8)).bytes)
    }

    static func accepts(
        _ presented: String?, secret: String, flow: String, action: String
    ) throws(OpenSSLError) -> Bool {
        guard let presented else { return false }
        return constantTimeEquals(presented, try text(secret: secret, flow: flow, action: action))
    }
}

import Foundation
import JOSE
import JSON
import OpenSSL
import Primitives
import Synchronization
import TestSupport

/// A service whose accounts Google links, right in everything but one fault.
final class LinkedService: Sendable {
    enum Fault: Sendable {
        // Without a person.
        case redirectsUnknownClients
        case redirectsToUnknownURIs
        case losesState
        case repeatsForms
        case framedPage
        case takesAnySecret
        case failsOnUnknownCodes
        case refusesRefreshAsClient
        case noChallenge
        case refusesUnknownTokens
        case flipPageRedirects
        case associationIsText
        case associationHasCookie
        // Tokens.
        case otherTokenType
        case lifetimeIsText
        case answersAreStored
        case accessTokenIsJWT
        case noRefreshToken
        case noEmail
        case sameAccessToken
        case endsEarlierTokens
        case rotates
        case revokesNothing
        case redeemsTwice
        // Assertions.
        case foundIsBoolean
        case noLoginHint
        case createsTwice
        case takesAnyAudience
        case takesAnyIssuer
        case takesExpired
        case takesForged
        case takesUnsigned
        case takesAnyIntent
    }

    static let clientID = "linking-client"
    /// With all that Basic has to encode.
    static let secret = "s3/c+r:e%t"
    static let audience = "linking.apps.googleusercontent.com"

    private let logic: Logic
    private let server: LoopbackServer

    /// - Parameters:
    ///   - redirectURI: the registered one.
    ///   - keys: Google's.
    init(redirectURI: String, keys: KeySet) throws {
        let logic = Logic(redirectURI: redirectURI, keys: keys)
        self.logic = logic
        server = try LoopbackServer { logic.answer($0) }
    }

    var url: String { server.url }

    /// The paths of the requests so far.
    var paths: [String] { server.history.requests.map { "\($0.method) \($0.target.prefix { $0 != "?" })" } }

    /// Forgets all, and has this fault from here on.
    func begin(_ fault: Fault?) { logic.state.withLock { $0 = State(fault: fault) } }

    /// What the person's browser is sent to when the person allows what this URL asks for.
    func allow(_ url: String) -> String {
        let asked = Self.query(of: url)
        let code = logic.state.withLock { state in
            state.code(for: asked["redirect_uri"] ?? "", challenge: asked["code_challenge"])
        }
        return Self.back(asked, "code=\(code)")
    }

    /// And when the person refuses.
    func refuse(_ url: String, with error: String = "access_denied") -> String {
        Self.back(Self.query(of: url), "error=\(error)")
    }

    private static func back(_ asked: [String: String], _ answer: String) -> String {
        "\(asked["redirect_uri"] ?? "")?\(answer)&state=\(AuthorizationRequest.encoded(asked["state"] ?? ""))"
    }

    /// The values by name, of a URL or a form; a plus sign is one.
    fileprivate static func query(of text: String) -> [String: String] {
        let query = text.split(separator: "?", maxSplits: 1).last ?? ""
        var values: [String: String] = [:]
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            values[String(parts[0])] = parts.count > 1 ? String(parts[1]).removingPercentEncoding : ""
        }
        return values
    }
}

extension LinkedService {
    /// What the service knows.
    struct State {
        let fault: Fault?
        private var number = 0
        private var codes: [String: (redirectURI: String, challenge: String?)] = [:]
        private var refreshTokens: Set<String> = []
        /// By access token, the refresh token that it came with.
        private var accessTokens: [String: String] = [:]
        private var accounts: Set<String> = []

        init(fault: Fault?) { self.fault = fault }

        mutating func code(for redirectURI: String, challenge: String?) -> String {
            number += 1
            codes["code-\(number)"] = (redirectURI, challenge)
            return "code-\(number)"
        }

        mutating func redeem(_ form: [String: String]) -> [LoopbackServer.Step] {
            let code = form["code"] ?? ""
            guard let kept = codes[code], kept.redirectURI == form["redirect_uri"],
                kept.challenge == form["code_verifier"].map({ Base64URL.encode(SHA256.hash(Array($0.utf8))) })
            else { return fault == .failsOnUnknownCodes ? .answer(500, "{}") : .refusal(400, "invalid_grant") }
            if fault != .redeemsTwice { codes[code] = nil }
            return tokens()
        }

        mutating func refresh(_ token: String) -> [LoopbackServer.Step] {
            guard refreshTokens.contains(token) else {
                return fault == .refusesRefreshAsClient
                    ? .refusal(401, "invalid_client") : .refusal(400, "invalid_grant")
            }
            if fault == .endsEarlierTokens { accessTokens = accessTokens.filter { $0.value != token } }
            if fault == .sameAccessToken, let same = accessTokens.first(where: { $0.value == token })?.key {
                return .answer(200, #"{"token_type":"Bearer","access_token":"\#(same)","expires_in":3600}"#)
            }
            if fault == .rotates { refreshTokens.remove(token) }
            return tokens(refreshToken: fault == .rotates ? nil : token)
        }

        /// - Parameter refreshToken: the one that the access token belongs to; nil makes a new one.
        private mutating func tokens(refreshToken: String? = nil) -> [LoopbackServer.Step] {
            number += 1
            let access = fault == .accessTokenIsJWT ? "eyJhbGciOiJub25lIn0.e30.\(number)" : "access-\(number)"
            let refresh = refreshToken ?? "refresh-\(number)"
            accessTokens[access] = refresh
            refreshTokens.insert(refresh)
            let type = fault == .otherTokenType ? "mac" : "Bearer"
            let lifetime = fault == .lifetimeIsText ? "\"3600\"" : "3600"
            let shown = fault == .noRefreshToken ? "" : #","refresh_token":"\#(refresh)""#
            let body = #"{"token_type":"\#(type)","access_token":"\#(access)","expires_in":\#(lifetime)\#(shown)}"#
            return .answer(200, body, isStored: fault == .answersAreStored)
        }

        func userInfo(_ bearer: String?) -> [LoopbackServer.Step] {
            let token = bearer.map { String($0.dropFirst("Bearer ".count)) } ?? ""
            guard accessTokens[token] != nil else {
                let challenge = [("WWW-Authenticate", #"Bearer error="invalid_token""#)]
                return [.respond(401, headers: fault == .noChallenge ? [] : challenge)]
            }
            return .answer(200, fault == .noEmail ? #"{"sub":"u-1"}"# : #"{"sub":"u-1","email":"kim@gmail.com"}"#)
        }

        mutating func revoke(_ token: String) -> [LoopbackServer.Step] {
            let refresh = accessTokens[token] ?? token
            guard refreshTokens.contains(refresh) else { return [.respond(fault == .refusesUnknownTokens ? 400 : 200)] }
            if fault != .revokesNothing {
                refreshTokens.remove(refresh)
                accessTokens = accessTokens.filter { $0.value != refresh }
            }
            return [.respond(200)]
        }

        mutating func streamlined(_ intent: String, _ claims: JSONValue) -> [LoopbackServer.Step] {
            let subject = claims["sub"]?.string ?? ""
            let isFound = accounts.contains(subject)
            switch intent {
            case "check":
                let found = fault == .foundIsBoolean ? "\(isFound)" : "\"\(isFound)\""
                return .answer(isFound ? 200 : 404, #"{"account_found":\#(found)}"#)
            case "get" where isFound: return tokens()
            case "create" where !isFound || fault == .createsTwice:
                accounts.insert(subject)
                return tokens()
            case "get", "create":
                let hint = fault == .noLoginHint ? "" : #","login_hint":"\#(claims["email"]?.string ?? "")""#
                return .answer(401, #"{"error":"linking_error"\#(hint)}"#)
            default: return .refusal(fault == .takesAnyIntent ? 401 : 400, "invalid_request")
            }
        }
    }

    /// The endpoints.
    private final class Logic: Sendable {
        let state = Mutex(State(fault: nil))
        private let redirectURI: String
        private let keys: KeySet

        init(redirectURI: String, keys: KeySet) {
            self.redirectURI = redirectURI
            self.keys = keys
        }

        func answer(_ request: LoopbackServer.Request) -> [LoopbackServer.Step] {
            let path = String(request.target.prefix { $0 != "?" })
            let form = LinkedService.query(of: String(decoding: request.body, as: UTF8.self))
            return state.withLock { state in
                switch (request.method, path) {
                case ("GET", "/oauth/authorize"):
                    return authorize(LinkedService.query(of: request.target), state.fault)
                case ("GET", "/sign-in"): return .page(200, isFramed: state.fault == .framedPage)
                case ("GET", "/app-flip"):
                    return state.fault == .flipPageRedirects ? .redirect(303, "/elsewhere") : .page(200)
                case ("GET", "/.well-known/apple-app-site-association"):
                    return .association(
                        #"{"applinks":{"details":[{"components":[{"/":"/app-flip"}]}]}}"#,
                        type: state.fault == .associationIsText ? "text/plain" : "application/json")
                case ("GET", "/.well-known/assetlinks.json"):
                    return .association("[]", hasCookie: state.fault == .associationHasCookie)
                case ("GET", "/oauth/userinfo"): return state.userInfo(request.header("Authorization"))
                case ("POST", _) where !isAuthentic(request, form) && state.fault != .takesAnySecret:
                    return .refusal(401, "invalid_client")
                case ("POST", "/oauth/revoke"): return state.revoke(form["token"] ?? "")
                case ("POST", "/oauth/token"): return token(form, &state)
                default: return [.respond(404)]
                }
            }
        }

        private func authorize(_ asked: [String: String], _ fault: Fault?) -> [LoopbackServer.Step] {
            let uri = asked["redirect_uri"] ?? ""
            guard asked["client_id"] == LinkedService.clientID else {
                return fault == .redirectsUnknownClients ? .redirect(303, uri + "?error=x") : .page(400)
            }
            guard uri == redirectURI else {
                return fault == .redirectsToUnknownURIs ? .redirect(303, uri + "?error=x") : .page(400)
            }
            guard asked["response_type"] == "code" else {
                let state = fault == .losesState ? "" : AuthorizationRequest.encoded(asked["state"] ?? "")
                return .redirect(303, "\(uri)?error=unsupported_response_type&state=\(state)")
            }
            return .redirect(fault == .repeatsForms ? 307 : 303, "/sign-in")
        }

        /// By either method, but not by both.
        private func isAuthentic(_ request: LoopbackServer.Request, _ form: [String: String]) -> Bool {
            guard let basic = request.header("Authorization") else {
                return form["client_id"] == LinkedService.clientID && form["client_secret"] == LinkedService.secret
            }
            let pair = [LinkedService.clientID, LinkedService.secret].map(AuthorizationRequest.encoded)
            return form["client_id"] == nil && form["client_secret"] == nil
                && basic == "Basic " + Data(pair.joined(separator: ":").utf8).base64EncodedString()
        }

        private func token(_ form: [String: String], _ state: inout State) -> [LoopbackServer.Step] {
            switch form["grant_type"] {
            case "authorization_code": return state.redeem(form)
            case "refresh_token": return state.refresh(form["refresh_token"] ?? "")
            case "urn:ietf:params:oauth:grant-type:jwt-bearer":
                guard let claims = claims(form["assertion"] ?? "", state.fault) else {
                    return .refusal(400, "invalid_grant")
                }
                return state.streamlined(form["intent"] ?? "", claims)
            default: return .refusal(400, "unsupported_grant_type")
            }
        }

        private func claims(_ assertion: String, _ fault: Fault?) -> JSONValue? {
            let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
                .map { Base64URL.decode(String($0)) }
            guard parts.count == 3, let header = parts[0].flatMap({ try? JSONValue(parsing: $0) }),
                let claims = parts[1].flatMap({ try? JSONValue(parsing: $0) })
            else { return nil }
            let isVerified = rejection(of: assertion, by: keys) == nil
            let isTaken = header["alg"]?.string == "none" ? fault == .takesUnsigned : fault == .takesForged
            guard isVerified || isTaken,
                claims["aud"]?.string == LinkedService.audience || fault == .takesAnyAudience,
                claims["iss"]?.string == "https://accounts.google.com" || fault == .takesAnyIssuer,
                TimeInterval(claims["exp"]?.integer ?? 0) > Date().timeIntervalSince1970 || fault == .takesExpired
            else { return nil }
            return claims
        }
    }
}

extension [LoopbackServer.Step] {
    fileprivate static func answer(_ status: Int, _ json: String, isStored: Bool = false) -> Self {
        let type = [("Content-Type", "application/json;charset=UTF-8")]
        return [.respond(status, headers: type + (isStored ? [] : [("Cache-Control", "no-store")]), text: json)]
    }

    fileprivate static func refusal(_ status: Int, _ error: String) -> Self {
        answer(status, #"{"error":"\#(error)"}"#)
    }

    fileprivate static func redirect(_ status: Int, _ location: String) -> Self {
        [.respond(status, headers: [("Location", location), ("Set-Cookie", "browser=b; Path=/")])]
    }

    fileprivate static func page(_ status: Int, isFramed: Bool = false) -> Self {
        let protection = [("Content-Security-Policy", "frame-ancestors 'none'"), ("X-Frame-Options", "DENY")]
        let headers = [("Content-Type", "text/html;charset=UTF-8"), ("Cache-Control", "no-store")]
        return [.respond(status, headers: headers + (isFramed ? [] : protection), text: "<!DOCTYPE html>")]
    }

    fileprivate static func association(
        _ json: String, type: String = "application/json", hasCookie: Bool = false
    ) -> Self { [.respond(headers: [("Content-Type", type)] + (hasCookie ? [("Set-Cookie", "a=b")] : []), text: json)] }
}

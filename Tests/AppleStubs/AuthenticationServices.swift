import Foundation
import UIKit

public typealias ASPresentationAnchor = UIWindow

public protocol ASAuthorizationCredential: NSObjectProtocol {}

open class ASAuthorizationAppleIDCredential: NSObject, ASAuthorizationCredential {
    open var identityToken: Data? { fatalError() }
    open var authorizationCode: Data? { fatalError() }
    open var fullName: PersonNameComponents? { fatalError() }
}

open class ASAuthorization: NSObject {
    public struct Scope: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let fullName = Self(rawValue: "")
        public static let email = Self(rawValue: "")
    }

    open var credential: any ASAuthorizationCredential { fatalError() }
}

open class ASAuthorizationAppleIDProvider: NSObject {
    public enum CredentialState: Int, Sendable { case revoked, authorized, notFound, transferred }

    open class var credentialRevokedNotification: Notification.Name { fatalError() }
    open func credentialState(forUserID userID: String) async throws -> CredentialState { fatalError() }
}

open class ASAuthorizationAppleIDRequest: NSObject {
    open var requestedScopes: [ASAuthorization.Scope]?
    open var nonce: String?
}

public struct ASAuthorizationError: Error {
    public enum Code: Int, Sendable { case unknown, canceled }

    public var code: Code { fatalError() }
}

@MainActor
public protocol ASWebAuthenticationPresentationContextProviding: NSObjectProtocol {
    func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor
}

public struct ASWebAuthenticationSessionError: CustomNSError {
    public enum Code: Int, Sendable { case canceledLogin, presentationContextNotProvided, presentationContextInvalid }

    public var code: Code { fatalError() }
    public var errorUserInfo: [String: Any] { fatalError() }
}

open class ASWebAuthenticationSession: NSObject {
    public typealias CompletionHandler = (URL?, (any Error)?) -> Void

    open class Callback: NSObject {
        open class func customScheme(_ customScheme: String) -> Self { fatalError() }
        open class func https(host: String, path: String) -> Self { fatalError() }
    }

    public init(url: URL, callbackURLScheme: String?, completionHandler: @escaping CompletionHandler) { fatalError() }
    public init(url: URL, callback: Callback, completionHandler: @escaping CompletionHandler) { fatalError() }

    open weak var presentationContextProvider: (any ASWebAuthenticationPresentationContextProviding)?
    open var prefersEphemeralWebBrowserSession = false

    @discardableResult
    open func start() -> Bool { fatalError() }
    open func cancel() { fatalError() }
}

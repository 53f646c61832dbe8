import Foundation
import UIKit

/// Google's SDK for iOS, version 9: as much as the documents use.
@MainActor
open class GIDSignIn: NSObject {
    open class var sharedInstance: GIDSignIn { fatalError() }
    open func signIn(
        withPresenting controller: UIViewController, hint: String?, additionalScopes: [String]?, nonce: String?
    ) async throws -> GIDSignInResult { fatalError() }
    open func restorePreviousSignIn() async throws -> GIDGoogleUser { fatalError() }
    open func signOut() {}
}

@MainActor
open class GIDSignInResult: NSObject {
    open var user: GIDGoogleUser { fatalError() }
    open var serverAuthCode: String? { fatalError() }
}

@MainActor
open class GIDGoogleUser: NSObject {
    open var idToken: GIDToken? { fatalError() }
}

@MainActor
open class GIDToken: NSObject {
    open var tokenString: String { fatalError() }
}

// What the article leaves to the app.
import AuthenticationServices
import CountersignClient
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

func given<Value>() -> Value { fatalError() }

let nonce: SignInNonce = given()
let request: URLRequest = given()
@MainActor let credential: ASAuthorizationAppleIDCredential = given()

@MainActor func show(_ account: ClientAccount) {}
@MainActor func ask(_ ticket: LinkTicket) {}

// What the article leaves to the app.
import AuthenticationServices
import CountersignClient
import Foundation
import GoogleSignIn
import SwiftUI
import UIKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

func given<Value>() -> Value { fatalError() }

let client = SignInClient(baseURL: given(), store: InMemorySessionStore())
let ticket: LinkTicket = given()
let nonce: SignInNonce = given()
let attempt: WebSignIn = given()
let attempts = KeychainStore(itemName: "attempt")
let callback: URL = given()
let request: URLRequest = given()
let (email, password, code, token): (String, String, String, String) = given()
@MainActor let controller: UIViewController = given()
@MainActor let window: UIWindow = given()

@MainActor func show(_ account: ClientAccount) {}
@MainActor func show(_ error: SessionError) {}
@MainActor func confirm(_ ticket: LinkTicket) {}
@MainActor func askToReplace(_ maskedEmail: String?) {}
@MainActor func signInAgain(_ done: @escaping @MainActor (ClientAccount) async -> Void) {}

// What the article leaves to the app.
import CountersignClient
import Foundation
import SwiftUI
import UIKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

func given<Value>() -> Value { fatalError() }

let client = SignInClient(baseURL: given(), store: InMemorySessionStore())
let request: AppFlipRequest = given()
let configuration: AppFlipConfiguration = given()

struct RootView: View {
    let client: SignInClient
    var body: some View { Text("") }
}

@MainActor func open(_ url: URL) {}
@MainActor func ask(_ request: AppFlipRequest) {}

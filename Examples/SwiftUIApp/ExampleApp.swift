import CountersignClient
import Foundation
import SwiftUI
import UIKit

@main
struct ExampleApp: App {
    // Replace the three names by yours: the service, the redirect URI of `web.app.NAME`, and Google's App Flip link.
    static let service = URL(string: "https://auth.example.com") ?? URL(fileURLWithPath: "/")
    static let redirectURI = URL(string: "com.example.lamp:/signed-in") ?? URL(fileURLWithPath: "/")
    static let appFlip = AppFlipConfiguration(
        link: URL(string: "https://auth.example.com/app-flip") ?? URL(fileURLWithPath: "/"),
        clientID: "google-link-7f3a")

    private let client = SignInClient(baseURL: service, store: KeychainStore(itemName: "session"))
    @State private var flip: FlipRequest?

    var body: some Scene {
        WindowGroup {
            RootView(client: client)
                // Google's app opens the link of App Flip, which the associated domain (`applinks:`) leads here. SwiftUI
                // has a link from another app here, and one from a scanned code or from Handoff below.
                .onOpenURL { take($0) }
                .onContinueUserActivity(NSUserActivityTypeBrowsingWeb) { activity in
                    if let url = activity.webpageURL { take(url) }
                }
                .sheet(item: $flip) { flip in
                    FlipView(client: client, request: flip.request) { answer in
                        self.flip = nil
                        Task { await open(answer) }
                    }
                }
        }
    }

    private func take(_ url: URL) {
        switch AppFlipLink(url, configuration: Self.appFlip) {
        case .request(let request): flip = FlipRequest(request: request)
        case .reject(let returnTo): Task { await open(returnTo) }
        case .ignore: break
        }
    }

    /// Back to Google's app, and never to a browser, where the code would be in a page's address.
    @MainActor
    private func open(_ url: URL) async {
        _ = await UIApplication.shared.open(url, options: [.universalLinksOnly: true])
    }
}

struct FlipRequest: Identifiable {
    let request: AppFlipRequest
    var id: String { request.state }
}

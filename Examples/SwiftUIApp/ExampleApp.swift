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
    /// The request of the sheet, until the person has decided.
    @State private var unanswered: AppFlipRequest?

    var body: some Scene {
        WindowGroup {
            RootView(client: client)
                // Google's app opens the link of App Flip, which the associated domain (`applinks:`) leads here. SwiftUI
                // hands one from another app to the first, and one from a scanned code or Handoff to the second.
                .onOpenURL { take($0) }
                .onContinueUserActivity(NSUserActivityTypeBrowsingWeb) { activity in
                    if let url = activity.webpageURL { take(url) }
                }
                .sheet(item: $flip) {
                    // Swiped away: that is an answer too. Where another request is shown in its place, this is not it.
                    if flip == nil { Task { await answer(consent: false) } }
                } content: { flip in
                    FlipView(request: flip.request) { consent in Task { await answer(consent: consent) } }
                }
        }
    }

    private func take(_ url: URL) {
        switch AppFlipLink(url, configuration: Self.appFlip) {
        case .request(let request) where request == unanswered: break
        case .request(let request):
            // The first one is refused for good, and nothing is opened, which would lead away from the second.
            if let first = unanswered { Task { _ = await client.answer(first, consent: false) } }
            unanswered = request
            flip = FlipRequest(request: request)
        case .reject(let returnTo): Task { await open(returnTo) }
        case .ignore: break
        }
    }

    /// Answers the request once, by the first click.
    private func answer(consent: Bool) async {
        guard let request = unanswered else { return }
        unanswered = nil
        let url = await client.answer(request, consent: consent)
        if flip?.request == request { flip = nil }
        await open(url)
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

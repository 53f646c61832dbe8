import CountersignClient
import Foundation
import SwiftUI

/// Google asks to be linked. Only this click consents.
struct FlipView: View {
    let client: SignInClient
    let request: AppFlipRequest
    let answer: @MainActor (URL) -> Void

    var body: some View {
        VStack(spacing: 16) {
            Text("Google asks to link your account, for: \(request.scopes.joined(separator: ", "))")
            Button("Link") { Task { answer(await client.answer(request, consent: true)) } }
            Button("Not now") { Task { answer(await client.answer(request, consent: false)) } }
        }
        .padding()
    }
}

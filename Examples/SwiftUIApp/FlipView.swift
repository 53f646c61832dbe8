import CountersignClient
import SwiftUI

/// Google asks to be linked. Only this click consents.
struct FlipView: View {
    let request: AppFlipRequest
    let decide: @MainActor (Bool) -> Void

    var body: some View {
        VStack(spacing: 16) {
            Text("Google asks to link your account, for: \(request.scopes.joined(separator: ", "))")
            Button("Link") { decide(true) }
            Button("Not now") { decide(false) }
        }
        .padding()
    }
}

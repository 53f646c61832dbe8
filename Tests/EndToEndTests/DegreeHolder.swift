import TestSupport
import Testing

/// An account whose address is of one of the three degrees, and a device that is signed in to it.
struct DegreeHolder: Sendable {
    enum Degree: String, CaseIterable, Sendable { case claimed, stated, proven }

    let degree: Degree
    let email: String
    let device: SignedInDevice
    /// How many codes have been mailed to it; other mail comes besides.
    var mailedCodes: Int { degree == .proven ? 1 : 0 }
}

extension World {
    /// - Parameter name: of the person at the providers, whom no other test uses.
    func holder(_ degree: DegreeHolder.Degree, _ name: String, email: String) async throws -> DegreeHolder {
        let device: SignedInDevice
        switch degree {
        case .stated:
            // Apple does not run the mailbox.
            try await openAppleAccount(name, email: email)
            device = try await newAccount(name, with: .apple)
            try await service.setPassword(bearer: device.bearer)
        case .claimed, .proven:
            device = try SignedInDevice(try await register(email), status: 201)
            if degree == .proven { try await verify(email, bearer: device.bearer) }
        }
        #expect(try await account(on: device).emailProof == degree.rawValue)
        return DegreeHolder(degree: degree, email: email, device: device)
    }
}

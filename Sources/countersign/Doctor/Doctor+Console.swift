import Administration

/// The check of the names of the console's staff, with which the service may not start.
extension Doctor {
    @Sendable func consoleStaff() async -> [Finding] {
        guard let staff = configuration.reloadable.console.google?.staff else { return [] }
        return await withSchema(.consoleStaff, "couldn't be compared with the admin keys") { database in
            let taken = try await Administration(database: database, clock: clock).keyNames(among: staff)
            guard !taken.isEmpty else { return .ok(.consoleStaff, "no admin key has a name of console.staff") }
            return .failure(
                .consoleStaff, "console.staff has names that admin keys have: \(taken.joined(separator: ", "))",
                advice: "revoke the keys, or name these people otherwise: in the trail they would be one")
        }
    }
}

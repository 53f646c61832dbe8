import KeyRing
import Storage

/// The check whether the key ring opens what the database holds.
extension Doctor {
    @Sendable func keyRing() async -> [Finding] {
        await withSchema(.keyRing, "couldn't be compared with the database") { database in
            findings(try await DatabaseInspection(database: database).sealed(under: configuration.keyRing))
        }
    }

    private func findings(_ samples: [SealedSample]) -> [Finding] {
        let faults = samples.compactMap(fault)
        guard faults.isEmpty else { return faults }
        let ring = configuration.keyRing
        let current = ring.current(for: .grants).keyID
        let detail = "\(counted(ring.all(for: .grants).count, "key")), \(current) writes"
        let old = samples.filter { $0.keyID != current && $0.kind.canBeResealed }
        guard !old.isEmpty else { return .ok(.keyRing, detail) }
        let kinds = old.map { "\($0.kind.rawValue) under \($0.keyID)" }.joined(separator: ", ")
        return .ok(
            .keyRing, "\(detail); there are still \(kinds), until `countersign keyring rewrap`, which counts them")
    }

    private func fault(of sample: SealedSample) -> Finding? {
        let (id, kind) = (sample.keyID, sample.kind.rawValue)
        // Only commands read the keys of imports.
        func found(_ detail: String, advice: String) -> Finding {
            Finding(
                check: .keyRing, status: sample.kind == .imports ? .warning : .failure, detail: detail, advice: advice)
        }
        switch sample.state {
        case .known:
            return nil
        case .unknown where sample.kind == .auditSeals:
            return .warning(
                .keyRing, "lacks the key \(id), under which there are \(kind)",
                advice: "keep the line in the ring that `audit verify` is given")
        case .unknown:
            return found(
                "lacks the key \(id), under which there are \(kind)",
                advice: "put the line \(id) back, after the first")
        case .foreign:
            return found(
                "the line \(id) is not the one that sealed \(kind), \(sample.row) among them",
                advice: "put the line that did in its place; if others of \(id) open, that row was changed")
        case .malformed:
            return found(
                "\(kind): \(sample.row) is sealed in no form that this version knows",
                advice: "use the release that wrote it, or restore the row")
        }
    }
}

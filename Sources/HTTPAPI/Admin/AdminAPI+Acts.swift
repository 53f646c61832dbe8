import Accounts
import Administration
import HTTPServer
import JSON

/// The operations of the acts.
extension AdminAPI {
    var actOperations: [Operation] {
        Act.all.compactMap { act in
            guard let kind = act.operation, !act.needsOAuthServer || administration.oauth != nil else {
                return nil
            }
            let (method, end): (Route.Method, String) =
                switch kind {
                case .post: (.post, "/" + act.name)
                case .send(let end): (.post, end)
                case .patch: (.patch, "")
                case .delete(let end): (.delete, end)
                }
            let template = "/\(act.subject.rawValue)/{\(act.subject.parameter)}\(end)"
            return operation(method, template, act.scope) { request, administrator in
                let id = try request.parameter(act.subject.parameter) { act.subject.isID($0) ? $0 : nil }
                let input = try request.input(of: act)
                return .result(try await act.perform(administration, id, input, administrator), of: act)
            }
        }
    }
}

extension Request {
    /// What is said to an act: in the body, a reason that it can do without also in the query, a client in the path.
    fileprivate func input(of act: Act) throws -> ActInput {
        var input = ActInput()
        switch (act.operation, act.reason) {
        case (nil, _): break
        case (_, .none): try requireNoMembers()
        case (.patch, _), (_, .required): input = try fields { $0.input(of: act) }
        case (.send, .optional): input = try optionalFields { $0.input(of: act) } ?? ActInput()
        case (.post, .optional):
            input = try optionalFields { $0.input(of: act) } ?? ActInput()
            if let stated = try statedReason {
                guard input.reason == nil else { throw Problem(field: "reason", .notAllowed) }
                input.reason = stated
            }
        case (.delete, .optional):
            try requireNoMembers()
            input.reason = try statedReason
        }
        if act.fields.contains(.client) { input.client = try oauthClientID }
        return input
    }

    /// The parameter `reason`.
    private var statedReason: String? {
        get throws(Problem) { try query { $0.optionalValue("reason", as: ActInput.reason) } }
    }
}

extension Fields {
    fileprivate mutating func input(of act: Act) -> ActInput {
        var input = ActInput()
        for field in act.fields {
            switch field {
            case .address: input.email = value("email", as: EmailAddress.init)
            case .missingAddress: input.email = optionalValue("email", as: EmailAddress.init)
            case .since: input.since = value("since") { Timestamp(rfc3339: $0) }
            case .keep: input.keepsIdentity = !(optionalBool("unlink") ?? true)
            case .name:
                switch patch("displayName", as: DisplayName.init) {
                case .set(let name): input.name = name
                case .clear: break
                case .keep: reject("displayName", .required)
                }
            case .client: break
            }
        }
        input.reason =
            act.reason == .required
            ? value("reason", as: ActInput.reason) : optionalValue("reason", as: ActInput.reason)
        return input
    }
}

extension Response {
    /// What has come of an act.
    fileprivate static func result(_ result: ActResult, of act: Act) -> Response {
        switch result {
        // What is mailed shows in no answer, as where people ask for it themselves.
        case .nothing where act.mail == .code: .json(.accepted) { _ in }
        // A test, the one act that fails elsewhere, has an operation of its own.
        case .done, .nothing, .failed: .empty()
        case .accepted: .json(.accepted) { _ in }
        case .account(let record, _): .json { $0.members(of: record) }
        case .record(let record, _): .json(record, .accepted)
        case .changed(let record, _): .json(record)
        case .document(let export): .streamed(export)
        }
    }
}

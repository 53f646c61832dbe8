import Accounts
import Administration
import HTTPServer
import JSON

/// The operations of the acts.
extension AdminAPI {
    var actOperations: [Operation] {
        Act.all.compactMap { act in
            guard let kind = act.operation, act.subject != .oauthClient || administration.oauth != nil else {
                return nil
            }
            let (method, end): (Route.Method, String) =
                switch kind {
                case .post: (.post, "/" + act.name)
                case .delete(let end): (.delete, end)
                }
            let template = "/\(act.subject.rawValue)/{\(act.subject.parameter)}\(end)"
            return operation(method, template, act.scope) { request, administrator in
                let id = try request.parameter(act.subject.parameter) { act.subject.isID($0) ? $0 : nil }
                let input = try request.input(of: act)
                return .result(try await act.perform(administration, id, input, administrator))
            }
        }
    }
}

extension Request {
    /// What is said to an act: in the body where it requires a reason, else in the query.
    fileprivate func input(of act: Act) throws -> ActInput {
        switch act.reason {
        case .none: ActInput()
        case .optional: ActInput(reason: try statedReason)
        case .required:
            try fields { fields in
                var input = ActInput()
                for field in act.fields {
                    switch field {
                    case .address: input.email = try fields.value("email", as: EmailAddress.init)
                    case .missingAddress: input.email = fields.optionalValue("email", as: EmailAddress.init)
                    case .keep: input.keepsIdentity = !(fields.optionalBool("unlink") ?? true)
                    }
                }
                input.reason = try fields.value("reason") { ActInput.isReason($0) ? $0 : nil }
                return input
            }
        }
    }

    /// The parameter `reason` of a change without a body.
    var statedReason: String? {
        get throws(Problem) { try query { $0.optionalValue("reason") { ActInput.isReason($0) ? $0 : nil } } }
    }
}

extension Response {
    /// What has come of an act.
    fileprivate static func result(_ result: ActResult) -> Response {
        switch result {
        case .done, .nothing: .empty()
        case .accepted: .json(.accepted) { _ in }
        case .record(let record, _): .json(.accepted) { $0.members(of: record) }
        case .document(let export): .streamed(export)
        }
    }
}

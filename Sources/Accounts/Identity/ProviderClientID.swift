/// The id of a client of ours at a provider, as it has it: the audience of the tokens and the owner of the grants that it
/// gives us. Apple's are bundle and Services IDs, Google's end in `.apps.googleusercontent.com`.
package struct ProviderClientID: ExactString, ExpressibleByStringInterpolation {
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.init(text) }
}

/// What a new person has typed on our own page, until they prove the address by the code that was mailed there.
package struct WebRegistration: Sendable {
    package let email: EmailAddress
    /// ``EmailCodePurpose/register``, or ``EmailCodePurpose/signIn`` where an account claims the address.
    package let codePurpose: EmailCodePurpose
    package let passwordHash: String
    package let displayName: DisplayName?

    package init(
        email: EmailAddress, codePurpose: EmailCodePurpose, passwordHash: String, displayName: DisplayName?
    ) {
        self.email = email
        self.codePurpose = codePurpose
        self.passwordHash = passwordHash
        self.displayName = displayName
    }
}

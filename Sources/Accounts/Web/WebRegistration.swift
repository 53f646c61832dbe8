/// What a new person has typed on our own page, until they prove the address by the code that was mailed there.
package struct WebRegistration: Sendable {
    package let email: EmailAddress
    package let passwordHash: PasswordHash
    package let displayName: DisplayName?

    package init(email: EmailAddress, passwordHash: PasswordHash, displayName: DisplayName?) {
        self.email = email
        self.passwordHash = passwordHash
        self.displayName = displayName
    }
}

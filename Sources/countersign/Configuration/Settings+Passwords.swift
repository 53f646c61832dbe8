extension Settings {
    enum Passwords {
        static let memoryLimit = Setting(
            "passwords.memoryLimit", .integer(256...65_536, unit: "MiB"), default: "512",
            "The memory of the password hashes under way together: one of ours takes 128 MiB, an imported one up to 256"
        )
        static let signerKeyPath = Setting(
            "passwords.firebase.signerKeyPath", .secretPath,
            """
            The file with the `base64_signer_key` of a Firebase project, whose passwords are [imported](import.md#firebase); \
            mode 0600. Without it they are left out
            """)
        static let saltSeparator = Setting(
            "passwords.firebase.saltSeparator", .text, default: "Bw==", "The project's `base64_salt_separator`")
        static let rounds = Setting(
            "passwords.firebase.rounds", .integer(1...8), default: "8", "The project's `rounds`")
        static let memoryCost = Setting(
            "passwords.firebase.memoryCost", .integer(1...14), default: "14", "The project's `mem_cost`")

        static let rows: [any SettingRow] = [memoryLimit, signerKeyPath, saltSeparator, rounds, memoryCost]
    }
}

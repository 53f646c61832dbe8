import Testing

/// Keys that OpenSSL itself reads, made with its command line for these tests alone. They protect nothing.
struct RefusedKey: Sendable, CustomTestStringConvertible {
    let name: String
    let pem: [UInt8]
    var testDescription: String { name }

    init(_ name: String, _ pem: String) {
        self.name = name
        self.pem = Array(pem.utf8)
    }

    static let privateKeys = [
        RefusedKey(
            "an encrypted PKCS#8 block",
            """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAh9d0G0iNsZ3gICCAAw
            DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEM5gKkFYzScT6B3IbzNDSLAEgZCh
            jy+XxNgm9EDu8s0NOpRjfFhvHZxc3saqSNJoV5zc0R+jw5AvGs5Ndlfx2Jvh0kmx
            mSYbbEU1C7Jto/PAZGeBRUgphTUEhVjtu8g59yn4Pc3E2xGgmt9aC5ONPLkMrIYC
            iIzanGCGNd0LagwQeb/BW9UaS7g6sLrmA5vRirqBOZgABHgDMs6j2ylLoqUfb0w=
            -----END ENCRYPTED PRIVATE KEY-----
            """),
        RefusedKey(
            "an encrypted SEC 1 block",
            """
            -----BEGIN EC PRIVATE KEY-----
            Proc-Type: 4,ENCRYPTED
            DEK-Info: AES-128-CBC,37AD7252C1039B418759DCA3FF9DE389

            bB65+1//Du9zH570EfkHYgsi9j7FtxgZ0fBuk8EwAttCezr81nUIZg4omCYR9Nl/
            Soq22JFsiHI6L1T9cOxFHDEBbn/jldui4rT73jSEWRmWVedDGPTJfpVJPRWM7R4h
            dPfIyC8BzbdpRum0c7vpZ6odrQWKkyU7QS8FMEb5c+g=
            -----END EC PRIVATE KEY-----
            """),
        RefusedKey(
            "a SEC 1 block",
            """
            -----BEGIN EC PRIVATE KEY-----
            MHcCAQEEIPY5pIWlsctbMhJ5I5StR769RwzsRa8oIkFE1QSy6xLxoAoGCCqGSM49
            AwEHoUQDQgAEJFrQUl32jJPydksOewmORPjHmXAzVE5OAv6lwVhzoiQDKpDe3jkE
            d0g3PI5iVVuxHTabsaXur+GFpSEGNWxKjQ==
            -----END EC PRIVATE KEY-----
            """),
        RefusedKey(
            "a P-384 key",
            """
            -----BEGIN PRIVATE KEY-----
            MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDA+8dz4CI+yCbbT8fjK
            r4VlwbLIKyYEYH8w9k25JRZQryyIuT5xYmDndDe5vsza+pChZANiAARQDP/jdnfr
            O6gbFp1mSDU+WZiErvD7SVHQGPCP3NhScgrSUaQ8eg0/+FbAIQoP2YdMYVBiFlyA
            6VUBQzBh4CSpFLprwUu3oe+CzKLbr1ZkJZ/cUeaiyE1GnTehRoL9kRo=
            -----END PRIVATE KEY-----
            """),
        RefusedKey(
            "a secp256k1 key",
            """
            -----BEGIN PRIVATE KEY-----
            MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQg75CgJrwObTHQ64FwLQPL
            FFnG3L+Spowr3Cajwc+yT6ShRANCAAQd4zatJZkrtYVo1yH9JoU0dOnG+tI6Zb2d
            HPyvbn3eo31YFad5rw4gqaB68REKmi8YTcQinbn5mSa8B7+ltkHX
            -----END PRIVATE KEY-----
            """),
        RefusedKey(
            "an Ed25519 key",
            """
            -----BEGIN PRIVATE KEY-----
            MC4CAQAwBQYDK2VwBCIEIFhlF+tWtHa8rUmMqNCFD6QDV/+KAvx0aYZNQZy8d4/G
            -----END PRIVATE KEY-----
            """),
        RefusedKey(
            "P-256 by explicit parameters",
            """
            -----BEGIN PRIVATE KEY-----
            MIIBeQIBADCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAAB
            AAAAAAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA
            ///////////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMV
            AMSdNgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg
            9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8A
            AAAA//////////+85vqtpxeehPO5ysL8YyVRAgEBBG0wawIBAQQg9jmkhaWxy1sy
            EnkjlK1Hvr1HDOxFrygiQUTVBLLrEvGhRANCAAQkWtBSXfaMk/J2Sw57CY5E+MeZ
            cDNUTk4C/qXBWHOiJAMqkN7eOQR3SDc8jmJVW7EdNpuxpe6v4YWlIQY1bEqN
            -----END PRIVATE KEY-----
            """),
    ]

    static let rsa1024 =
        RefusedKey(
            "a 1024-bit RSA key",
            """
            -----BEGIN PRIVATE KEY-----
            MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAJeBrO8fbE1ubFvb
            TV8IHSgPGyVP2AtHKlz2B6L5zWum5HEz0wVmXEvyWsFNTEypYkcZasGV7OZby98e
            yol5SkCv73ZvmdPIiXtsyR+xeOO3wFztP006IP5vE2jACJ3DMEYd4uy++9RGdilK
            b5y5ORs6ZjQf10TfgRNUfEi3WxvDAgMBAAECgYAPdgxP2sUSodItDZQ3vnw7Ok9q
            31sMy5ZnJjRhTVzJP57Qbpl6U5fXqEPatiizKhX9a3qZhtNGLtf/TQUeQmJxT1Cp
            mXeAmtaIfSMd102xlkAafzjlnicWcsJEooRmzN/GwLlSIg6lCp6BzMrBJBBqLR4E
            yqvn+A8cPNgrEQWuAQJBAMYe9P3KCs3Cf75C3U1ligT7OQbDnl4N1qz2OSvRspHo
            FxtgrtFYA47dhCGb8+TYtxsr1elPHdEUteWsadnBGrsCQQDDxIcuZqwa9qBJo9lD
            yYRrDMRirbfGw/lyxox8mI1wuVii9xvO/PW4r3FIMXEki/ET4/Dds4jlHmusf/NW
            OUaZAkEAgyeRNcUf29DLci+fgxIaCWwp90FewJLWr8+cT1bVqOOFEHmzoSBr0pLw
            WrN8BN42cUVWqcnXSkc0l2PI+v9r6wJAc7yHUtZeX1546rBUbTAA+izFGbWsFXWc
            zs81FSA3VnItRcMjjJ6eQr5uEYkxY7LcJq82oktW3mW6sHPAj7Qy2QJAMOB9iwC/
            qPayLVmZNWxOJTnytIecIBk3rvoB3KvV3PcjNO43n0i4ZCik+TV5JgJ8xK1R+Aq2
            hnLDDqWlTPCWuw==
            -----END PRIVATE KEY-----
            """)

    static let publicKeys = [
        RefusedKey(
            "P-256 by explicit parameters",
            """
            -----BEGIN PUBLIC KEY-----
            MIIBSzCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAA
            AAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA////
            ///////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSd
            NgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5
            RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA
            //////////+85vqtpxeehPO5ysL8YyVRAgEBA0IABCRa0FJd9oyT8nZLDnsJjkT4
            x5lwM1ROTgL+pcFYc6IkAyqQ3t45BHdINzyOYlVbsR02m7Gl7q/hhaUhBjVsSo0=
            -----END PUBLIC KEY-----
            """),
        RefusedKey(
            "an RSA-PSS key",
            """
            -----BEGIN PUBLIC KEY-----
            MIIBIDALBgkqhkiG9w0BAQoDggEPADCCAQoCggEBALYmocBvQqzWpcdiIZt1taO3
            mkEgU4Y7aDwLnyAWqonv6a+jymii4JMJtLp5E7blpYbGq3+HZQ9WAV8RnGKV2pdd
            6kGyrADeu1AkuTvWRwGRPPfLZUUSp9ZADp+mO6ggyc+xPEfNq2Cyg7B7ckPgDsqF
            NflJKrG4aOFVHgUM/dcBFPPbkzL24GA0AxFpQULGwTPSyaWQFRXBPt6s+1mSrvA2
            W3m1oI3ddUrJnN0qweXgwkuDr/Da4b3t0sC28xVQGEmPtka12EDiQJRa83b4ipnK
            CTARpc7rXu4i9z7JWSIjQVZF8yHKGPgjTeczcOiiI+IgQyjzgGwL2TrE+L+FOQsC
            AwEAAQ==
            -----END PUBLIC KEY-----
            """),
        RefusedKey(
            "a PKCS#1 block",
            """
            -----BEGIN RSA PUBLIC KEY-----
            MIIBCgKCAQEAxplDuG3I8v/XP+FMLAwScZz07rE1U0uPI8M/i8sTBQbSC+9kENa3
            QmzBQVyDm87yUd6sTdh4/5XgD3y8p9Td1lWIwYL39zH5HhJCxNZygl44XVeUJEtv
            PNxdN8CuUErEfnVk+dOi7XRYZ8sYQ6YqZ5hnIwTzMTuldlmXCxDVUK+HlaJ18OpK
            GxeiVb615H0ujokU0Kh1ocu/j5T42yVRGzj2reBGLenONhlbbPE8amxOAgqNVc9U
            Dnzj+o6FQHuYAFLHCXbat5xJPcpKTqt/UvJPwDQM7WKtXkC09StdpA6GLPOvv4+O
            h6v04cOC+wBtAxiuOrovtGaXjuSmzCgGtwIDAQAB
            -----END RSA PUBLIC KEY-----
            """),
        RefusedKey(
            "a 1024-bit RSA key",
            """
            -----BEGIN PUBLIC KEY-----
            MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCXgazvH2xNbmxb201fCB0oDxsl
            T9gLRypc9gei+c1rpuRxM9MFZlxL8lrBTUxMqWJHGWrBlezmW8vfHsqJeUpAr+92
            b5nTyIl7bMkfsXjjt8Bc7T9NOiD+bxNowAidwzBGHeLsvvvURnYpSm+cuTkbOmY0
            H9dE34ETVHxIt1sbwwIDAQAB
            -----END PUBLIC KEY-----
            """),
    ]
}

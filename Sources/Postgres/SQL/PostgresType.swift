/// A type of PostgreSQL by its object identifier (`pg_type.dat`), with that of its array.
package struct PostgresType: Sendable, Hashable {
    package let oid: UInt32
    /// 0 where we send no arrays of it.
    package let arrayOID: UInt32

    package init(oid: UInt32, arrayOID: UInt32 = 0) {
        self.oid = oid
        self.arrayOID = arrayOID
    }

    package static let bool = PostgresType(oid: 16, arrayOID: 1000)
    package static let bytea = PostgresType(oid: 17, arrayOID: 1001)
    package static let int8 = PostgresType(oid: 20, arrayOID: 1016)
    package static let int4 = PostgresType(oid: 23, arrayOID: 1007)
    package static let text = PostgresType(oid: 25, arrayOID: 1009)
    package static let float8 = PostgresType(oid: 701, arrayOID: 1022)
    package static let timestamptz = PostgresType(oid: 1184, arrayOID: 1185)
    package static let uuid = PostgresType(oid: 2950, arrayOID: 2951)
}

/// Types that are read but never sent.
enum ResultType {
    static let name: UInt32 = 19
    static let int2: UInt32 = 21
    static let objectID: UInt32 = 26
    static let json: UInt32 = 114
    static let float4: UInt32 = 700
    static let unknown: UInt32 = 705
    static let bpchar: UInt32 = 1042
    static let varchar: UInt32 = 1043
    static let jsonb: UInt32 = 3802
    /// From here on types are made by users (`FirstNormalObjectId`): enums and extension texts such as citext, whose
    /// binary form is their text. Domains never appear in a result, their base type does.
    static let firstUserDefined: UInt32 = 16384
}

// As much of it as the documents use. It works, since Calls.kt runs.
package org.json

import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.int
import kotlinx.serialization.json.jsonPrimitive

class JSONException(message: String?) : Exception(message)

private inline fun <reified Element : JsonElement> JsonElement?.known(name: Any): Element =
    this as? Element ?: throw JSONException("no value of this kind for $name")

class JSONObject private constructor(private val members: MutableMap<String, JsonElement>) {
    constructor() : this(mutableMapOf())
    constructor(json: String) : this(parsed(json))
    internal constructor(members: JsonObject) : this(members.toMutableMap())

    fun put(name: String, value: Any?): JSONObject = apply {
        when (value) {
            null -> members.remove(name)
            is JSONObject -> members[name] = JsonObject(value.members)
            is Boolean -> members[name] = JsonPrimitive(value)
            is Number -> members[name] = JsonPrimitive(value)
            else -> members[name] = JsonPrimitive(value.toString())
        }
    }

    fun putOpt(name: String?, value: Any?): JSONObject = if (name == null || value == null) this else put(name, value)
    fun getString(name: String): String = members[name].known<JsonPrimitive>(name).content
    fun getInt(name: String): Int = members[name].known<JsonPrimitive>(name).int
    fun getJSONObject(name: String): JSONObject = JSONObject(members[name].known<JsonObject>(name))
    fun getJSONArray(name: String): JSONArray = JSONArray(members[name].known<JsonArray>(name))
    fun has(name: String?): Boolean = name in members
    fun optJSONObject(name: String?): JSONObject? = (members[name] as? JsonObject)?.let(::JSONObject)
    fun optJSONArray(name: String?): JSONArray? = (members[name] as? JsonArray)?.let(::JSONArray)
    override fun toString(): String = JsonObject(members).toString()

    private companion object {
        fun parsed(json: String): MutableMap<String, JsonElement> =
            try {
                Json.parseToJsonElement(json).known<JsonObject>("the whole").toMutableMap()
            } catch (failure: IllegalArgumentException) {
                throw JSONException(failure.message)
            }
    }
}

class JSONArray internal constructor(private val elements: JsonArray) {
    fun length(): Int = elements.size
    fun getString(index: Int): String = elements[index].jsonPrimitive.content
    fun getJSONObject(index: Int): JSONObject = JSONObject(elements[index].known<JsonObject>(index))
}

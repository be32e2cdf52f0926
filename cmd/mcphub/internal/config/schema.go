package config

import _ "embed"

// Schema is the JSON Schema of hub.json.
//
//go:embed hub.schema.json
var Schema string
